"""Forward or expand scalar temporaries, so that loops do not carry dependences on them.

In: a Scop whose scalar temporaries are one cell each.  Out: an equal Scop in which uses of a scalar
are replaced by its value, or the scalar is an array with one cell per iteration of the loops around
its live range (scalar expansion: Kuck et al., "Dependence graphs and compiler optimizations",
1981).  `contraction` undoes the expansion when code is generated.
"""

from __future__ import annotations

import itertools

import islpy as isl

from polyopt.dataclass import replace
from polyopt.ir.affine import index_map
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Call,
    Compare,
    Const,
    Expr,
    Iter,
    Load,
    Select,
    add,
    integer,
    rewrite,
    sub,
    substitute,
    walk,
)
from polyopt.ir.isl_ast import bound_expr
from polyopt.ir.linear import normalize
from polyopt.ir.names import iterators
from polyopt.ir.parameters import maps_of
from polyopt.ir.scop import Array, Role, Scop, Statement
from polyopt.schedule.dependences import in_order, last_writers, ordered_pairs
from polyopt.schedule.source import union_function

MAX_COST = 12


def privatize(scop: Scop) -> Scop:
    """Return `scop` with scalar temporaries forwarded or expanded wherever dataflow allows.

    Arrays with several webs are split first (`_split_webs`).
    """
    for array in scop.arrays:
        if array.role is Role.TEMP and array.shape:
            scop = _split_webs(scop, array) or scop
    originals = scop.arrays
    for array in scop.arrays:
        if array.role is Role.TEMP and not array.shape:
            scop = _forward(scop, array) or _expand(scop, array) or scop
    for array in scop.arrays:
        if array.role is Role.TEMP and array.name in (a.name for a in originals if a.shape):
            scop = _expand(scop, array) or scop
    return scop


def with_cells(scop: Scop) -> Scop:
    """Return `scop` with its scalar temporaries expanded wherever dataflow allows."""
    for array in scop.arrays:
        if array.role is Role.TEMP and not array.shape:
            scop = _expand(scop, array) or scop
    return scop


def _touching(scop: Scop, array: str) -> tuple[list[Statement], list[Statement]]:
    writers = [s for s in scop.statements if s.target.array == array]
    readers = [s for s in scop.statements if any(a.array == array for a in s.reads)]
    return writers, readers


def shared_loops(statements: list[Statement]) -> int:
    """Return the number of common outer loops of the statements."""
    count = 0
    longest = min((len(s.order) for s in statements), default=0)
    for position in range(longest):
        entries = [s.order[position] for s in statements]
        constants = {e.value for e in entries if isinstance(e, Const)}
        if len(constants) == 1 and all(isinstance(e, Const) for e in entries):
            continue
        if constants:
            break
        count += 1
    return count


def loop_iterators(statement: Statement, count: int) -> tuple[str, ...]:
    """Return the iterators of the statement's `count` outermost loops."""
    entries = [entry for entry in statement.order if not isinstance(entry, Const)]
    return tuple(
        next(part.name for part in walk(entry) if isinstance(part, Iter))
        for entry in entries[:count]
    )


def _covered(scop: Scop, readers: list[Statement], array: str, flow: isl.UnionMap) -> bool:
    """Tell whether every read of the array has a producer inside the Scop, at valid sizes."""
    produced = flow.range()
    for reader in readers:
        for access in reader.reads:
            if access.array == array:
                inside = access.relation.domain().intersect_params(scop.context)
                wanted = isl.UnionSet.from_set(inside)
                if not wanted.is_subset(produced):
                    return False
    return True


def _same_iteration(flow: isl.UnionMap, statements: list[Statement], count: int) -> bool:
    """Tell whether producer and consumer agree on the `count` outermost loops."""
    if count == 0:
        return True
    function: isl.MultiUnionPwAff | None = None
    for position in range(count):
        names = [Iter(loop_iterators(statement, count)[position]) for statement in statements]
        one = isl.MultiUnionPwAff.from_union_pw_aff(union_function(statements, list[Expr](names)))
        function = one if function is None else function.flat_range_product(one)
    assert function is not None
    return bool(flow.is_subset(flow.eq_at_multi_union_pw_aff(function)))


def _iterator(statement: Statement, name: str) -> isl.Aff:
    space = statement.domain.get_space()
    local = isl.LocalSpace.from_space(space)
    return isl.Aff.var_on_domain(local, isl.dim_type.set, statement.iters.index(name))


def _split_webs(scop: Scop, array: Array) -> Scop | None:
    """Give each web of a temporary an array of its own (Muchnick, "Advanced compiler design and
    implementation", 1997, section 16.3).

    Only webs that live in one iteration of a loop along the array, so that a part of it suffices.
    """
    writers, readers = _touching(scop, array.name)
    statements = list(dict.fromkeys([*writers, *readers]))
    if len(writers) < 2 or not readers or not all(_is_exact(s, array.name) for s in statements):
        return None
    flow = last_writers(scop, array.name)
    webs = _webs(statements, flow)
    if len(webs) < 2 or not _covered(scop, readers, array.name, flow):
        return None
    small = [web for web in webs if _is_smaller(web, flow, array.name)]
    rest = [s for s in statements if not any(s in web for web in small)]
    if not small:
        return None
    taken = {a.name for a in scop.arrays} | set(scop.params)
    renewed: dict[str, Statement] = {}
    arrays: list[Array] = []
    for web in [rest, *small] if rest else small:
        name = next(n for k in itertools.count(1) if (n := f"{array.name}_{k}") not in taken)
        taken.add(name)
        arrays.append(replace(array, name=name))
        renewed |= {statement.name: _renamed(statement, array.name, name) for statement in web}
    others = tuple(a for a in scop.arrays if a is not array)
    found = tuple(renewed.get(s.name, s) for s in scop.statements)
    return Scop(scop.params, scop.context, (*others, *arrays), found)


def _webs(statements: list[Statement], flow: isl.UnionMap) -> list[list[Statement]]:
    """Return the webs: groups of statements without dataflow between them."""
    groups = {statement.name: {statement.name} for statement in statements}
    found = maps_of(flow)
    for pairs in found:
        ends = [pairs.get_tuple_name(kind) for kind in (isl.dim_type.in_, isl.dim_type.out)]
        joint = set().union(*(groups[str(name)] for name in ends))
        for name in joint:
            groups[name] = joint
    distinct = {id(group): group for group in groups.values()}
    return [[s for s in statements if s.name in group] for group in distinct.values()]


def _is_smaller(web: list[Statement], flow: isl.UnionMap, array: str) -> bool:
    """Tell whether a web lives in one iteration of a loop along the array."""
    own = isl.UnionSet.empty(flow.get_space())
    for statement in web:
        own = own.union(isl.UnionSet.from_set(statement.domain))
    pairs = flow.intersect_domain(own)
    depth = shared_loops(web)
    while depth > 0 and not _same_iteration(pairs, web, depth):
        depth -= 1
    if depth == 0 or pairs.is_empty():
        return False
    return all(
        set(loop_iterators(statement, depth)) & iterators(*index)
        for statement in web
        for index in _subscripts(statement, array)
    )


def _is_exact(statement: Statement, array: str) -> bool:
    """Tell whether a statement's subscripts of the array are independent of data."""
    accesses = (statement.write, *statement.reads)
    return all(access.exact for access in accesses if access.array == array)


def _subscripts(statement: Statement, array: str) -> list[tuple[Expr, ...]]:
    """Return the subscripts of a statement's accesses to an array."""
    accesses = (statement.write, *statement.reads)
    return [access.index for access in accesses if access.array == array]


def _renamed(statement: Statement, old: str, new: str) -> Statement:
    """Return a statement that uses array `new` in place of `old`."""

    def rule(part: Expr) -> Expr | None:
        if isinstance(part, Load) and part.array == old:
            return replace(part, array=new, index=tuple(rewrite(i, rule) for i in part.index))
        return None

    return statement.rewritten(rule)


def _forward(scop: Scop, array: Array) -> Scop | None:
    """Replace reads of a scalar by the expression assigned to it, if its value is the same."""
    writers, readers = _touching(scop, array.name)
    if len(writers) != 1 or writers[0] in readers or writers[0].guard is not None:
        return None
    writer = writers[0]
    depth = len(writer.iters)
    if not readers or shared_loops([writer, *readers]) < depth:
        return None
    if any(len(reader.iters) != depth for reader in readers):
        return None
    if cost(writer.value) > MAX_COST or _is_copied(writer.value, readers, array.name):
        return None
    flow = last_writers(scop, array.name)
    if not _covered(scop, readers, array.name, flow):
        return None
    if not _same_iteration(flow, [writer, *readers], depth) or _overwritten(scop, writer, flow):
        return None
    own = loop_iterators(writer, depth)

    def forwarded(statement: Statement) -> Statement:
        if statement not in readers:
            return statement
        names = dict(zip(own, map(Iter, loop_iterators(statement, depth)), strict=True))
        value = substitute(writer.value, dict(names))

        def rule(part: Expr) -> Expr | None:
            return value if isinstance(part, Load) and part.array == array.name else None

        return statement.rewritten(rule)  # subscripts of its target may hold the scalar

    statements = tuple(forwarded(s) for s in scop.statements if s is not writer)
    arrays = tuple(a for a in scop.arrays if a is not array)
    return Scop(scop.params, scop.context, arrays, statements)


def _is_copied(value: Expr, readers: list[Statement], scalar: str) -> bool:
    """Tell whether a choice would be written so often that it cannot be read where it stands."""
    if not any(isinstance(part, Select) for part in walk(value)):
        return False
    copies = sum(load.array == scalar for reader in readers for load in reader.loads)
    return copies * cost(value) > 2 * MAX_COST


def cost(expr: Expr) -> int:
    """Return a rough operation count; divisions and function calls count as ten."""
    total = 0
    for part in walk(expr):
        if isinstance(part, Call):
            total += 10
        elif isinstance(part, Select | Compare):
            total += 1
        elif isinstance(part, Binary):
            total += 10 if part.op in (BinaryOp.DIV, BinaryOp.POW, BinaryOp.MOD) else 1
        elif isinstance(part, Load):
            total += 1
    return total


def _overwritten(scop: Scop, writer: Statement, flow: isl.UnionMap) -> bool:
    """Tell whether an operand of the writer may change before a reader would load it again."""
    for read in writer.reads:
        for other in scop.statements:
            if other.target.array != read.array:
                continue
            touched = isl.UnionMap.from_map(
                read.relation.apply_range(other.write.relation.reverse())
            )
            between = in_order(scop, touched).reverse().apply_range(flow)
            if not in_order(scop, between).is_empty():
                return True
    return False


def _expand(scop: Scop, array: Array) -> Scop | None:
    """Give the temporary a cell per iteration of the loops around its definition and uses.

    An array is expanded over the outermost loop alone, and only if it is all that makes that loop
    sequential: its cells take memory, whereas a scalar's are contracted again.
    """
    writers, readers = _touching(scop, array.name)
    statements = list(dict.fromkeys([*writers, *readers]))
    if not writers or not readers:
        return None
    flow = last_writers(scop, array.name)
    if not _covered(scop, readers, array.name, flow):
        return None
    count = shared_loops(statements)
    while count > 0 and not _same_iteration(flow, statements, count):
        count -= 1
    if array.shape:
        count = min(count, 1)
    ranges = _ranges(statements, count, scop)
    count = len(ranges)
    if count == 0 or (array.shape and not _blocks_parallel_loops(scop, array, statements, count)):
        return None
    shape = tuple(extent for _, extent in ranges)

    def expanded(statement: Statement) -> Statement:
        index = tuple(
            normalize(sub(Iter(name), least))
            for name, (least, _) in zip(loop_iterators(statement, count), ranges, strict=True)
        )

        def rule(part: Expr) -> Expr | None:
            if isinstance(part, Load) and part.array == array.name:
                return replace(part, index=index + tuple(rewrite(i, rule) for i in part.index))
            return None

        return statement.rewritten(rule)

    return Scop(
        scop.params,
        scop.context,
        tuple(replace(a, shape=shape + a.shape) if a is array else a for a in scop.arrays),
        tuple(expanded(s) if s in statements else s for s in scop.statements),
    )


def _blocks_parallel_loops(
    scop: Scop, array: Array, statements: list[Statement], count: int
) -> bool:
    """Tell whether only temporaries, including `array`, make `count` outer loops sequential."""
    own = set(loop_iterators(statements[0], count))
    nest = [s for s in scop.statements if shared_loops([statements[0], s]) >= count]
    kept = frozenset(a.name for a in scop.arrays if a.role is not Role.TEMP)
    for dependence in ordered_pairs(scop, nest, kept):
        pairs = isl.UnionMap.from_map(dependence.relation)
        if not _same_iteration(pairs, nest, count):
            return False
    return bool(own) and not all(
        _same_iteration(isl.UnionMap.from_map(dependence.relation), statements, count)
        for dependence in ordered_pairs(scop, statements, frozenset((array.name,)))
    )


def _ranges(statements: list[Statement], count: int, scop: Scop) -> tuple[tuple[Expr, Expr], ...]:
    """Return the least value of each loop's iterator, or 0 if less, and its extent from there.

    Ends at the first loop without a lower bound over the sizes.
    """
    params = frozenset(scop.params)
    ranges = []
    for position in range(count):
        values: isl.Set | None = None
        for statement in statements:
            name = loop_iterators(statement, count)[position]
            inside = statement.domain.intersect_params(scop.context)
            relation = index_map(inside, "v", (Iter(name),))
            values = relation.range() if values is None else values.union(relation.range())
        assert values is not None
        least = _least(values, scop)
        if least is None:
            break
        last = bound_expr(values.dim_max(0).gist_params(scop.context), params)
        ranges.append((least, normalize(add(sub(last, least), integer(1)))))
    return tuple(ranges)


def _least(values: isl.Set, scop: Scop) -> Expr | None:
    """Return a number, or an affine expression, that bounds the value from below."""
    lowest = values.dim_min_val(0)
    if lowest.is_nonneg() or lowest.is_nan():
        return integer(0)
    least = values.dim_min(0)
    least = least.gist(least.domain()).gist_params(scop.context)
    if least.n_piece() != 1:
        return None
    return normalize(bound_expr(least, frozenset(scop.params)))
