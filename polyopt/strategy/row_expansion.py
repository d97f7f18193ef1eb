"""Expand rows that accumulate products over the loops around them.

In: a schedule in the source's order.  Out: rows that each iteration makes and uses alone, as in
`A[i] -= L[i, :i] @ A[:i]`, become rows of a matrix, so that the products of all iterations form
one contraction.  None where no row accumulates products.
"""

from __future__ import annotations

from polyopt import transforms
from polyopt.ir.expr import Iter
from polyopt.ir.linear import linear
from polyopt.ir.scop import Role, Scop, Statement
from polyopt.schedule.schedule import Schedule
from polyopt.schedule.tree import find_band, statements_at
from polyopt.strategy.tiling import outer_bands


def product_rows(scop: Scop) -> list[str]:
    """Return the temporary rows that loops recompute as sums of products."""
    made = {a.name for a in scop.arrays if a.role is Role.TEMP and a.shape}
    return sorted({s.target.array for s in scop.statements if s.target.array in made and _loops(s)})


def _loops(statement: Statement) -> int:
    """Return how many loops recompute a row of sums, 0 where the statement is not such a row.

    A row takes two more loops, and is not indexed by the loops around it.
    """
    around = len(statement.iters) - 2
    is_row = statement.reduction is not None and len(statement.target.index) <= around
    return around if is_row else 0


def expand_rows(source: Schedule, *, whole: bool = False) -> Schedule | None:
    """Return `source` with rows of products expanded over the last loop around them, or None.

    `whole`: over all loops around them, where these are several.
    """
    found = source
    for name in product_rows(source.scop):
        for label in outer_bands(source.tree):
            around = len(find_band(found.tree, label).members)
            users = statements_at(found.tree, found.scop, label)
            makers = [user for user in users if user.target.array == name]
            if not makers or all(_loops(maker) != around for maker in makers):
                continue
            if whole and around == 1:
                continue
            loops = range(0 if whole else around - 1, around)
            made = found.attempt(transforms.Expand(name, tuple(f"{label}[{p}]" for p in loops)))
            found = found if made is None else _aligned(made, name) or made
    return None if found is source else found


def _aligned(schedule: Schedule, name: str) -> Schedule | None:
    """Return `schedule` with the rows skewed to begin where those of the operands do, or None.

    The operand of `A[i, i:]` starts in row `i` at column `i`, too.
    """
    steps = {
        step
        for statement in schedule.scop.statements
        if statement.target.array == name and statement.reduction is not None
        for step in _offsets(statement)
    }
    if len(steps) != 1 or min(steps) < 1:
        return None
    (step,) = steps
    skewed = transforms.Dimension(1, transforms.Part.SKEWED, step, 0)
    return schedule.attempt(transforms.LayOut(name, (transforms.Dimension(0), skewed)))


def _offsets(statement: Statement) -> set[int]:
    """Return how far operand subscripts along the row move with the row's number."""
    names = [index.name for index in statement.target.index if isinstance(index, Iter)]
    found: set[int] = set()
    if len(names) != 2:
        return found
    row, column = names
    for access in statement.reads:
        for index in access.index:
            factors = {a.name: c for a, c in linear(index).terms if isinstance(a, Iter)}
            if access.array != statement.target.array and factors.get(column) == 1:
                found.add(factors.get(row, 0))
    return found
