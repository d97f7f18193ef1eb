"""Form tiles for matrix instructions: whole boxes, their operands filled with zeros.

In: blocks with MATRIX loops inside nests across threads.  Out: these nests counted from 0, with one
condition that says which products there are; copies into the operands that set what is outside of
the array to zero.  Refuses (PO0410): nests that are no tile of products of shared operands, results
that are not in registers.
"""

from __future__ import annotations

from polyopt.dataclass import dataclass, field, replace
from polyopt.emit.gpu.bound_tests import undivided
from polyopt.emit.gpu.each_block import in_each_block, under_grid
from polyopt.emit.gpu.nests import spans
from polyopt.emit.gpu.threads import outermost_nests
from polyopt.emit.storage_scope import mentions
from polyopt.errors import EmitError
from polyopt.ir.array import Array
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Const,
    Expr,
    Iter,
    add,
    conjunction,
    integer,
    loads,
    operands,
    rewrite,
    sub,
    substitute,
)
from polyopt.ir.linear import linear, normalize
from polyopt.ir.loops import (
    Assign,
    Body,
    DeclareArray,
    For,
    If,
    Kernel,
    LoopFunction,
    LoopKind,
    Node,
    Space,
)
from polyopt.ir.matrix import MatrixTile, NoTile, has_matrix, matrix_tile, reach, touched, trips
from polyopt.ir.names import has_iterator
from polyopt.ir.nodes import all_nodes, changed, map_bodies
from polyopt.ir.types import DType

_LANES = ("$row", "$column")


def form_matrix_tiles(fn: LoopFunction) -> LoopFunction:
    """Return `fn` with its tiles of products in form; raises `EmitError` PO0410."""
    return in_each_block(fn, _block)


def require_register_results(fn: LoopFunction) -> LoopFunction:
    """Return `fn` where the results of all tiles are in registers; raises `EmitError` PO0410."""
    return in_each_block(fn, _of_registers)


def _of_registers(kernel: Kernel, body: Body, fn: LoopFunction, around: tuple[For, ...]) -> Body:
    try:
        for nest in outermost_nests(body):
            if has_matrix((nest,)):
                tile = matrix_tile(nest, kernel.threads, in_registers=False)
                if tile.target.array not in _arrays(body, Space.REGISTER):
                    raise NoTile(f"{tile.target.array} is not kept in registers")
                matrix_tile(nest, kernel.threads)
    except NoTile as error:
        raise _refused(kernel, error) from error
    return body


def _refused(kernel: Kernel, error: NoTile) -> EmitError:
    return EmitError(
        "PO0410",
        f"`{kernel.name}` has no tile of products for matrix instructions: {error}",
        hint="pack both operands at the loop over tiles of terms, and give the nests that touch "
        "the results the same warps by `tensorize`",
    )


def has_matrices(fn: LoopFunction) -> bool:
    """Tell whether some loop is asked to run on matrix instructions."""
    return has_matrix(fn.body)


def without_matrices(fn: LoopFunction) -> LoopFunction:
    """Return lowered loops that ask for no matrix instructions."""
    return replace(fn, body=without_matrix(fn.body))


def _arrays(body: Body, space: Space) -> dict[str, Array]:
    declared = (node for node in all_nodes(body) if isinstance(node, DeclareArray))
    return {node.array.name: node.array for node in declared if node.space is space}


def _block(kernel: Kernel, body: Body, fn: LoopFunction, around: tuple[For, ...]) -> Body:
    if not has_matrix(body):
        return body
    try:
        return _with_tiles(kernel, body)
    except NoTile as error:
        raise _refused(kernel, error) from error


def as_accessed(nest: For, threads: int) -> For:
    """Return a nest with the accesses of matrix instructions, where `nest` is a tile for these."""
    if not has_matrix((nest,)):
        return nest
    try:
        return touched(matrix_tile(nest, threads), _LANES)
    except NoTile:
        return nest


def without_matrix(body: Body) -> Body:
    """Return `body` with its MATRIX loops as ordinary ones."""
    result: list[Node] = []
    for node in body:
        inner = map_bodies(node, without_matrix)
        if isinstance(inner, For) and inner.kind is LoopKind.MATRIX:
            inner = replace(inner, kind=LoopKind.SEQUENTIAL)
        result.append(inner)
    return tuple(result)


def _with_tiles(kernel: Kernel, body: Body) -> Body:
    """Return a block's code with its tiles in form; raises `NoTile`."""
    tiles: list[MatrixTile] = []
    body = _formed(body, kernel.threads, tiles)
    shared = _arrays(body, Space.SHARED)
    for tile in tiles:
        for operand in (tile.left, tile.right):
            load = operand.load
            if load.array not in shared:
                raise NoTile(f"{load.array} is no array that the threads of a block share")
            for part, extent in zip(load.index, shared[load.array].shape, strict=True):
                found = reach(tile, part)
                if found is not None and not _is_inside(found, extent):
                    raise NoTile(f"a whole tile goes beyond {load.array}")
    names = {o.load.array for tile in tiles for o in (tile.left, tile.right)}
    results = {tile.target.array for tile in tiles}
    return _whole(body, frozenset(names), frozenset(results))


def _is_inside(found: tuple[int, int], extent: Expr) -> bool:
    return isinstance(extent, Const) and found[0] >= 0 and found[1] < int(extent.value.real)


def _formed(body: Body, threads: int, tiles: list[MatrixTile]) -> Body:
    result: list[Node] = []
    for node in body:
        if isinstance(node, For) and node.kind is LoopKind.THREAD:
            if has_matrix((node,)):
                nest = normalized_nest(node)
                if nest is None or len(nest.body) != 1:
                    raise NoTile("its loops have no constant lengths, or more than one body")
                nest.loops = _four(nest.loops)
                node = nest.around(nest.body)
                tiles.append(matrix_tile(node, threads, in_registers=False))
            result.append(node)
            continue
        result.append(map_bodies(node, _formed, threads, tiles))
    return tuple(result)


def _four(loops: list[For]) -> list[For]:
    """Return the loops of a nest with one over the fragments of a row, where that is one only."""
    own = [loop for loop in loops if loop.kind is LoopKind.MATRIX]
    if len(own) != 3:
        return loops
    name = f"{own[-1].iter}_part"
    while any(loop.iter == name for loop in loops):
        name += "_"
    one = replace(own[-1], iter=name, upper=integer(1))
    return [*loops[:-1], one, loops[-1]]


def _whole(body: Body, filled: frozenset[str], results: frozenset[str]) -> Body:
    """Return `body` with copies into `filled`, and accesses of `results`, as whole boxes."""
    parts: list[Node] = []
    for node in body:
        if isinstance(node, For) and node.kind is LoopKind.THREAD:
            written = {n.target.array for n in all_nodes((node,)) if isinstance(n, Assign)}
            if written and written <= filled:
                parts.append(_as_box(node, fills=True))
            elif any(mentions(node, name) for name in results) and not has_matrix((node,)):
                parts.append(_as_box(node, fills=False))
            else:
                parts.append(node)
            continue
        parts.append(map_bodies(node, _whole, filled, results))
    return tuple(parts)


def _as_box(loop: For, *, fills: bool) -> For:
    """Return a nest as a box, what a thread runs of it without conditions where all is there.

    A copy that `fills` sets what is outside to zero.  Other nests stay as they are.
    """
    nest = normalized_nest(loop)
    tests = [] if nest is None else nest.tests()
    if nest is None or not nest.body or any(map(loads, tests)):
        return loop
    across = [own for own in nest.loops if own.kind is LoopKind.THREAD]
    inside = [replace(own, kind=LoopKind.UNROLL) for own in nest.loops[len(across) :]]
    if any(own.kind is LoopKind.THREAD for own in nest.loops[len(across) :]):
        return loop
    other: Body = ()
    if fills:
        first = nest.body[0]
        if not isinstance(first, Assign) or len(nest.body) > 1:
            return loop
        other = (Assign(first.target, Const(0.0, first.target.dtype)),)
    body = nest.body
    if tests:
        body = under_grid(inside, (If(conjunction(tests), nest.body, other),))
        worst = dict.fromkeys(_at_worst(test, inside) for test in tests)
        if inside and None not in worst:
            whole = conjunction(test for test in worst if test is not None)
            body = (If(whole, under_grid(inside, nest.body), body),)
    elif inside:
        body = under_grid(inside, nest.body)
    (placed,) = under_grid(across, body)
    assert isinstance(placed, For)
    return placed


_LESS = (CompareOp.LT, CompareOp.LE)
_MORE = (CompareOp.GT, CompareOp.GE)


def _at_worst(test: Expr, loops: list[For]) -> Expr | None:
    """Return when `test` holds in all iterations of `loops`; None where that is not clear."""
    ends: dict[str, Expr] = {}
    if isinstance(test, Compare) and test.op in _LESS + _MORE:
        low, high = (test.left, test.right)[:: 1 if test.op in _LESS else -1]
        gap = dict(linear(sub(high, low)).terms)
        for loop in loops:
            factor = gap.get(Iter(loop.iter), 0)
            ends[loop.iter] = integer(trips(loop) - 1 if factor < 0 else 0)
        test = replace(test, left=moved(test.left, ends), right=moved(test.right, ends))
    return None if has_iterator(test, [loop.iter for loop in loops]) else test


# -- boxes


@dataclass
class NormalizedNest:
    """Perfectly nested loops that count from 0; `conditions` guard the iterations that exist."""

    loops: list[For] = field(default_factory=list)
    conditions: list[Expr] = field(default_factory=list)
    body: Body = ()

    def tests(self) -> list[Expr]:
        """Return what says which iterations of the box there are."""
        return _needed(tuple(map(undivided, self.conditions)), self.loops)

    def around(self, body: Body) -> For:
        """Return the loops around `body`, under the conditions."""
        tests = self.tests()
        if tests:
            body = (If(conjunction(tests), body),)
        (nest,) = under_grid(self.loops, body)
        assert isinstance(nest, For)
        return nest


def normalized_nest(outermost: For) -> NormalizedNest | None:
    """Return a nest as a box of constant extents; None where its loops are none."""
    box = NormalizedNest()
    values: dict[str, Expr] = {}
    node: Node = outermost
    while True:
        match node:
            case For(step=1):
                if not _add_loop(box, node, values):
                    return None
                body = node.body
            case If(otherwise=()):
                box.conditions += [
                    moved(part, values) for part in operands(node.condition, BinaryOp.AND)
                ]
                body = node.then
            case _:
                return None
        if len(body) != 1 or not isinstance(body[0], For | If):
            break
        node = body[0]
    if any(isinstance(inner, For | If) for inner in body):
        return None
    box.body = tuple(changed(inner, lambda part: _renewed(part, values)) for inner in body)
    return box


def _add_loop(box: NormalizedNest, loop: For, values: dict[str, Expr]) -> bool:
    """Add a loop, whose iterator is a sum of its own from 0 and its start."""
    choices = [(length, start) for start, length in spans(loop) if length > 0]
    if not choices or loads(loop.lower) or loads(loop.upper):
        return False
    extent, start = min(choices, key=lambda choice: choice[0])
    end = normalize(add(start, integer(extent)))
    place = Iter(loop.iter)
    lowers = [e for e in operands(loop.lower, BinaryOp.MAX) if normalize(e) != normalize(start)]
    uppers = [e for e in operands(loop.upper, BinaryOp.MIN) if normalize(e) != end]
    values[loop.iter] = normalize(add(moved(start, values), place))
    box.conditions += [moved(Compare(CompareOp.GE, place, e), values) for e in lowers]
    box.conditions += [moved(Compare(CompareOp.LT, place, e), values) for e in uppers]
    box.loops.append(replace(loop, lower=integer(0), upper=integer(extent), body=()))
    return True


def moved(expr: Expr, values: dict[str, Expr]) -> Expr:
    """Return `expr` with iterators replaced, sums collected."""
    return rewrite(expr, lambda part: _renewed(part, values))


def _renewed(part: Expr, values: dict[str, Expr]) -> Expr | None:
    match part:
        case Iter():
            return values.get(part.name)
        case Binary(op=BinaryOp.ADD | BinaryOp.SUB | BinaryOp.MUL, dtype=DType.INT64):
            return None if loads(part) else normalize(substitute(part, values))
        case _:
            return None


# -- conditions


def _needed(tests: tuple[Expr, ...], loops: list[For]) -> list[Expr]:
    """Return the conditions that no other one implies in the box of `loops`."""
    kept = list(dict.fromkeys(tests))
    for test in tuple(kept):
        others = [other for other in kept if other != test]
        if any(_implies(other, test, loops) for other in others):
            kept = others
    return kept


def _implies(one: Expr, two: Expr, loops: list[For]) -> bool:
    match one, two:
        case (
            Compare(op=CompareOp.LT, left=left, right=right),
            Compare(op=CompareOp.LT, left=first, right=second),
        ) if left.dtype is DType.INT64 and first.dtype is DType.INT64:
            more = linear(sub(sub(second, first), sub(right, left)))
        case _:
            return False
    extents = {loop.iter: trips(loop) for loop in loops}
    least = more.constant
    for atom, factor in more.terms:
        if not isinstance(atom, Iter) or atom.name not in extents:
            return False
        least += min(0, factor * (extents[atom.name] - 1))
    return least >= 0
