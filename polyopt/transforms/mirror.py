"""Mirror: compute one triangle of a symmetric result, and copy it to the other.

In: a statement that adds terms which two subscripts of its target may exchange, such as those of
`X.T @ X`, to a constant.  Out: the statements for the lower triangle, in square tiles that are
computed as a whole on the diagonal, and one that copies the others.
Refuses: terms that change with the exchange, other starts, a nest shared with others (PO0352).
"""

from __future__ import annotations

from itertools import combinations
from typing import ClassVar

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.errors import ScheduleError
from polyopt.ir.affine import coalesced, condition_set
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Const,
    Expr,
    Iter,
    add,
    integer,
    mul,
    rewrite,
    substitute,
)
from polyopt.ir.names import fresh_name, reads
from polyopt.ir.scop import Scop, Statement
from polyopt.ir.showing import show
from polyopt.schedule.data_steps import DataStep, RewrittenProgram
from polyopt.schedule.sizes import Size
from polyopt.schedule.tree import (
    Band,
    Filter,
    Sequence,
    Tree,
    children,
    with_children,
)
from polyopt.transforms.distribute import taken_apart
from polyopt.transforms.region import loop_nest
from polyopt.transforms.tile import checked_sizes
from polyopt.transforms.written import Written

_COMMUTES = (BinaryOp.ADD, BinaryOp.MUL)


@dataclass(frozen=True, eq=False)
class Symmetry:
    """Sums of which two subscripts of the target, `row` and `column`, may change places.

    `start` sets them to a constant before.
    """

    sums: Statement
    start: Statement
    row: int
    column: int


def find_symmetry(scop: Scop, statement: Statement) -> Symmetry | None:
    """Return how the results of a statement are symmetric, or None."""
    value, names = statement.value, _names(statement)
    if not (
        isinstance(value, Binary)
        and value.op is BinaryOp.ADD
        and value.left == statement.target
        and names is not None
        and statement.guard is None
        and not value.dtype.is_complex
    ):
        return None
    term, target = value.right, statement.target.array
    if target in reads(term):
        return None
    start = _start(scop, statement)
    for row, column in combinations(range(len(names)), 2):
        own = {names[row]: Iter(names[column]), names[column]: Iter(names[row])}
        if start is None or _ordered(substitute(term, own)) != _ordered(term):
            continue
        if all(_is_square(one, row, column) for one in (statement, start)):
            return Symmetry(statement, start, row, column)
    return None


def _names(statement: Statement) -> tuple[str, ...] | None:
    """Return the iterators that are the target's subscripts, or None for others."""
    names = [part.name for part in statement.target.index if isinstance(part, Iter)]
    is_plain = len(names) == len(statement.target.index) == len(set(names)) > 1
    return tuple(names) if is_plain else None


def _start(scop: Scop, statement: Statement) -> Statement | None:
    """Return the statement that sets all of the target's elements to a constant before."""
    place = scop.statements.index(statement)
    before = [s for s in scop.statements[:place] if statement.target.array in s.arrays]
    start = before[-1] if before else None
    if start is None or not isinstance(start.value, Const) or start.guard is not None:
        return None
    if start.target.array != statement.target.array or _names(start) is None:
        return None
    return start if len(start.iters) == len(start.target.index) else None


def _ordered(expr: Expr) -> Expr:
    """Return an expression with the sides of its sums and products in one order."""

    def rule(part: Expr) -> Expr | None:
        if not (isinstance(part, Binary) and part.op in _COMMUTES):
            return None
        sides = sorted((_ordered(part.left), _ordered(part.right)), key=repr)
        return replace(part, left=sides[0], right=sides[1])

    return rewrite(expr, rule)


def _is_square(statement: Statement, row: int, column: int) -> bool:
    """Tell whether the exchange of two subscripts maps the instances to themselves."""
    names = _names(statement)
    assert names is not None
    one, two = (statement.iters.index(names[n]) for n in (row, column))
    return bool(_swapped(statement.domain, one, two).is_equal(statement.domain))


def _swapped(domain: isl.Set, one: int, two: int) -> isl.Set:
    """Return a set with two dimensions exchanged."""
    space, count = domain.get_space(), domain.dim(isl.dim_type.set)
    order = [two if n == one else one if n == two else n for n in range(count)]
    local = isl.LocalSpace.from_space(space)
    result = isl.Map.from_domain(domain)
    for n in order:
        result = result.flat_range_product(
            isl.Map.from_aff(isl.Aff.var_on_domain(local, isl.dim_type.set, n))
        )
    name = domain.get_tuple_name()
    return result.range().set_tuple_name(name)


@dataclass(frozen=True, slots=True)
class Mirror(DataStep, Written):
    """Compute the square tiles on and below the diagonal of the results of `statement`, then copy
    them to those above.

    The nest that copies is called `C_mirror`, for results `C`, behind that of the statement.
    """

    uses_law: ClassVar[bool] = True

    statement: str
    size: Size

    def renew(self, tree: Tree, scop: Scop) -> RewrittenProgram:
        """Return the changed program; raises `ScheduleError` PO0303, PO0352."""
        (size,) = checked_sizes((self.size,), str(self))
        known = [s for s in scop.statements if s.name == self.statement]
        if not known:
            raise ScheduleError("PO0303", f"{self}: there is no statement {self.statement}")
        found = find_symmetry(scop, known[0])
        tree = taken_apart(tree, scop, lambda own: self.statement in own)
        place = -1 if found is None else _place(tree, self.statement)
        if found is None or place < 0:
            raise ScheduleError(
                "PO0352",
                f"{self}: its results are not those of a symmetric sum in a nest of its own",
                loc=known[0].loc,
                hint="take the step before others, for sums such as those of `X.T @ X`",
            )
        assert isinstance(tree, Sequence)
        halves = {s.name: _half(s, found, size) for s in (found.sums, found.start)}
        copy = _copy(scop, found, size)
        kept = isl.UnionSet.from_set(copy.domain)
        statements: list[Statement] = []
        for statement in scop.statements:
            statements.append(halves.get(statement.name, statement))
            kept = kept.union(isl.UnionSet.from_set(statements[-1].domain))
            if statement is found.sums:
                statements.append(copy)
        parts = [_restricted(part, kept) for part in tree.parts]
        nest = loop_nest(tree, copy.name, copy, 0, copy.iters)
        parts.insert(place + 1, Filter(isl.UnionSet.from_set(copy.domain), nest))
        made = replace(scop, statements=tuple(statements))
        placed = Sequence(tuple(part for part in parts if isinstance(part, Filter)))
        verified = frozenset({found.sums.target.array})
        return RewrittenProgram(made, placed, copies=frozenset({copy.name}), verified=verified)


def _place(tree: Tree, name: str) -> int:
    """Return the number of the outermost nest of a statement alone, -1 if there is none."""
    parts = tree.parts if isinstance(tree, Sequence) else ()
    own = (number for number, part in enumerate(parts) if set(part.pieces) == {name})
    return next(own, -1)


def _half(statement: Statement, found: Symmetry, size: int) -> Statement:
    """Return the statement for the tiles on and below the diagonal.

    The tile of one subscript bounds the other: that of the row where rows are set one by one, that
    of the column for the sums, whose tiles of columns are packed and used for all rows behind.
    """
    row, column = (statement.target.index[n] for n in (found.row, found.column))
    condition = Compare(CompareOp.GE, row, _begin(column, size))
    if statement is found.start:
        condition = Compare(CompareOp.LT, column, _end(row, size))
    return replace(statement, domain=_where(statement, condition))


def _begin(subscript: Expr, size: int) -> Expr:
    """Return the first element of the tile that a subscript is in."""
    tile = Binary(BinaryOp.FLOORDIV, subscript, integer(size), subscript.dtype)
    return mul(integer(size), tile)


def _end(subscript: Expr, size: int) -> Expr:
    return add(_begin(subscript, size), integer(size))


def _where(statement: Statement, condition: Expr) -> isl.Set:
    inside = condition_set(condition, statement.domain.get_space())
    return coalesced(statement.domain.intersect(inside))


def _copy(scop: Scop, found: Symmetry, size: int) -> Statement:
    """Return the statement that copies tiles to those above the diagonal."""
    start, sums = found.start, found.sums
    name = fresh_name(f"{start.target.array}_mirror", {s.name for s in scop.statements})
    index = list(start.target.index)
    index[found.row], index[found.column] = index[found.column], index[found.row]
    value = replace(start.target, index=tuple(index))
    row, column = (start.target.index[n] for n in (found.row, found.column))
    domain = _where(start, Compare(CompareOp.GE, column, _end(row, size))).set_tuple_name(name)
    text = f"{show(start.target)} = {show(value)}"
    return Statement(name, start.iters, domain, (), start.target, value, sums.loc, text)


def _restricted(tree: Tree, kept: isl.UnionSet) -> Tree:
    """Return a tree over the instances in `kept`."""
    renewed = with_children(tree, tuple(_restricted(child, kept) for child in children(tree)))
    match renewed:
        case Filter():
            return replace(renewed, domain=coalesced(renewed.domain.intersect(kept)))
        case Band():
            members = tuple(
                replace(m, schedule=m.schedule.intersect_domain(kept)) for m in renewed.members
            )
            return replace(renewed, members=members)
        case _:
            return renewed
