"""Accumulate sums of eliminations in the element they are subtracted from, not in a temporary.

In: a Program with reassociable sums.
Out: `A[i, j] = A[i, j] - A[i, k] * A[k, j]` step by step, then `A[i, j] = A[i, j] / A[j, j]`, where
the source accumulates `w` first, and has `A[i, j] = (A[i, j] - w) / A[j, j]`, or starts with
`A[i, j]`: factorizations by dot products become nests that can be blocked.
Only where nothing else accesses the element from the sum's start to its end, and where each sum
ends before the next one reuses the temporary; both exactly.
Leaves alone: temporaries with other uses, sums that do not read the array of their target.
"""

from __future__ import annotations

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Const,
    Expr,
    Load,
    Unary,
    UnaryOp,
    loads,
    rewrite,
    walk,
)
from polyopt.ir.names import reads
from polyopt.ir.program import Program
from polyopt.ir.scop import Access, Array, Role, Scop, Statement
from polyopt.schedule.reductions import changed_parts

_IN, _OUT = isl.dim_type.in_, isl.dim_type.out
_SUM = (BinaryOp.ADD, BinaryOp.SUB)


def with_sums_in_place(program: Program) -> Program:
    """Return `program` with the sums of its eliminations accumulated in their targets."""
    return replace(program, parts=changed_parts(program.parts, _changed))


def _changed(scop: Scop) -> Scop:
    for array in scop.arrays:
        if array.role is Role.TEMP and array.dtype.is_float and not array.dtype.is_half:
            found = _found(scop, array)
            if found is not None and _is_exclusive(scop, found):
                scop = _in_place(scop, found)
    return scop


@dataclass(frozen=True)
class _Sum:
    """A sum in a temporary: the statements that initialize, update and use it.

    `first` runs first: it initializes the sum, or computes its initial value.  The element `home`
    is set to `start` (None: it keeps its value); `last` is the final value computed from the
    element.
    """

    first: Statement
    begin: Statement
    update: Statement
    end: Statement
    start: Load | None
    term: Expr
    last: Expr

    @property
    def home(self) -> Load:
        return self.end.target


def _found(scop: Scop, array: Array) -> _Sum | None:
    """Return the sum that a temporary holds, or None where it has other uses."""
    users = [s for s in scop.statements if array.name in s.arrays]
    if len(users) != 3 or any(s.guard is not None or not s.write.exact for s in users):
        return None
    begin, update, end = users
    term = _term(update, end)
    is_sum = update.target == begin.target and loads(end.value).count(begin.target) == 1
    reads = [a for a in end.reads if a.array == array.name]
    if term is None or not is_sum or len(reads) != 1 or end.target.array == array.name:
        return None
    if end.iters != begin.iters or update.iters[: len(end.iters)] != end.iters:
        return None
    if not _same_instances(begin, end):
        return None
    if isinstance(begin.value, Const) and begin.value.value == 0:
        return _subtracted(begin, update, end, term)
    return _copied(scop, begin, update, end, term)


def _term(update: Statement, end: Statement) -> Expr | None:
    """Return the term of a sum if it reads elements of the target's array; else None."""
    value = update.value
    if not update.is_reassociable or not isinstance(value, Binary):
        return None
    if value.op is not BinaryOp.ADD or value.left != update.target:
        return None
    term, home = value.right, end.target
    is_own = home.array in reads(term)
    return term if is_own and term.dtype is home.dtype is update.target.dtype else None


def _subtracted(begin: Statement, update: Statement, end: Statement, term: Expr) -> _Sum | None:
    """Return a sum from zero that is added to an element or subtracted from it."""
    cell = update.target
    for part in walk(end.value):
        match part:
            case Binary(op=op, left=Load() as start, right=right) if right == cell and op in _SUM:
                own = start == end.target
                if start.dtype is not cell.dtype or start.array == cell.array:
                    return None
                if loads(end.value).count(end.target) != int(own):
                    return None
                value = Unary(UnaryOp.NEG, term, term.dtype) if op is BinaryOp.SUB else term
                last = _exchanged(end.value, part, end.target)
                return _Sum(begin, begin, update, end, None if own else start, value, last)
            case _:
                continue
    return None


def _copied(
    scop: Scop, begin: Statement, update: Statement, end: Statement, term: Expr
) -> _Sum | None:
    """Return a sum that starts with an element, possibly through another temporary."""
    first, start = begin, begin.value
    temporaries = {a.name for a in scop.arrays if a.role is Role.TEMP}
    if isinstance(start, Load) and start.array in temporaries:
        users = [s for s in scop.statements if start.array in s.arrays]
        if len(users) != 2 or users[0].target != start or users[1] is not begin:
            return None
        first = users[0]
        if first.guard is not None or first.iters != begin.iters:
            return None
        if not _same_instances(first, begin):
            return None
        start = first.value
    if not isinstance(start, Load) or start.dtype is not end.target.dtype:
        return None
    if end.target in loads(end.value):
        return None
    last = _exchanged(end.value, update.target, end.target)
    own = start == end.target
    return _Sum(first, begin, update, end, None if own else start, term, last)


def _exchanged(expr: Expr, old: Expr, new: Expr) -> Expr:
    return rewrite(expr, lambda part: new if part == old else None)


def _same_instances(one: Statement, other: Statement) -> bool:
    return bool(one.domain.reset_tuple_id().is_equal(other.domain.reset_tuple_id()))


def _is_exclusive(scop: Scop, found: _Sum) -> bool:
    """Tell whether sums do not overlap, and nothing else accesses the element during one."""
    length = max(len(s.order) for s in scop.statements)
    during = _during(found, length)
    if during is None:
        return False
    own = [found.begin.write, found.first.write, found.end.write]
    cells = {access.array: _of_sums(access.relation) for access in own}
    for statement in scop.statements:
        runs = statement.time(length).apply_range(during.reverse())
        for access in (statement.write, *statement.reads):
            if access.array not in cells:
                continue
            touched = access.relation.apply_range(cells[access.array].reverse()).intersect(runs)
            if _is_part(statement, access, found):
                touched = touched.subtract(_instances(statement, len(found.end.iters)))
            if not touched.is_empty():
                return False
    return _keeps_start(scop, found, during, length)


def _keeps_start(scop: Scop, found: _Sum, during: isl.Map, length: int) -> bool:
    """Tell whether the initial value of a sum is the same at its start and at its end."""
    start = found.start
    if start is None or start in loads(found.first.value):
        return True  # it is read when it was
    cell = (start.array, start.index)
    read = next(a for a in found.end.reads if (a.array, a.index) == cell)
    cells = _of_sums(read.relation)
    for statement in scop.statements:
        if statement.target.array == start.array:
            runs = statement.time(length).apply_range(during.reverse())
            written = statement.write.relation.apply_range(cells.reverse())
            if not written.is_disjoint(runs):
                return False
    return True


def _during(found: _Sum, length: int) -> isl.Map | None:
    """Return { sum -> times from its first statement's to its last one's }, or None.

    None where these run in another order.
    """
    update = _of_sums(found.update.time(length))
    depth = len(found.end.iters)
    update = update.project_out(_IN, depth, update.dim(_IN) - depth)
    first, begin, end = (_of_sums(s.time(length)) for s in (found.first, found.begin, found.end))
    space = first.range().get_space()
    order = [(begin, update), (update, end), (begin, end)]
    if found.first is not found.begin:
        order.append((first, begin))
    for earlier, later in order:
        if not earlier.reverse().apply_range(later).is_disjoint(isl.Map.lex_ge(space)):
            return None
    if not update.domain().is_subset(end.domain()):
        return None
    since, until = isl.Map.lex_le(space), isl.Map.lex_ge(space)
    return first.apply_range(since).intersect(end.apply_range(until))


def _is_part(statement: Statement, access: Access, found: _Sum) -> bool:
    """Tell whether a statement's access is part of a sum: to the temporary or the element."""
    place = (access.array, access.index)
    if place == (found.home.array, found.home.index):
        return statement in (found.first, found.begin, found.end)
    ends = (found.update.target, found.first.target)
    return any(place == (cell.array, cell.index) for cell in ends)


def _of_sums(relation: isl.Map) -> isl.Map:
    """Return a map of a statement's instances as one of sums."""
    return relation.reset_tuple_id(_IN)


def _instances(statement: Statement, depth: int) -> isl.Map:
    """Return { statement's instance -> sum it is part of }."""
    sums = statement.domain.identity().reset_tuple_id(_OUT)
    return sums.project_out(_OUT, depth, sums.dim(_OUT) - depth)


def _in_place(scop: Scop, found: _Sum) -> Scop:
    """Return `scop` with the sum accumulated in its element."""
    home = found.home
    value = Binary(BinaryOp.ADD, home, found.term, home.dtype)
    renewed: list[Statement] = []
    for statement in scop.statements:
        if statement is found.first:
            if found.start is not None:
                renewed.append(replace(statement, target=home, value=found.start))
        elif statement is found.update:
            renewed.append(replace(statement, target=home, value=value))
        elif statement is found.end:
            if found.last != home:
                last = replace(statement, value=found.last, reduction=None, fuses=False)
                renewed.append(last)
        elif statement is not found.begin:
            renewed.append(statement)
    left = {a.array for s in renewed for a in (s.write, *s.reads)}
    arrays = tuple(a for a in scop.arrays if a.role is not Role.TEMP or a.name in left)
    return replace(scop, statements=tuple(renewed), arrays=arrays)
