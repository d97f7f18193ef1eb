"""Split large static control parts into parts of some nests each.

In: a `Program`.  Out: the same statements in the same order, in more parts.
The time to schedule a part grows with the square of its statements, while what is gained from
moving nests is near: each part is scheduled by itself.  Nests stay whole, and so does a part
inside a region, or one of a single nest.
Programs that are too large to analyse keep the order of the source.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, groupby

from polyopt.dataclass import replace
from polyopt.ir.array import Array, Role
from polyopt.ir.expr import Expr
from polyopt.ir.program import Part, Program
from polyopt.ir.scop import Scop, Statement
from polyopt.schedule.dependences import dependences_of
from polyopt.schedule.schedule import Schedule
from polyopt.schedule.source import source_tree

STATEMENTS, PAIRS = 100, 2000
"""More statements, or pairs of them that touch one array, are split."""
TOGETHER = 24
"""Statements of one of the parts, unless a nest has more."""

Nests = Sequence[Sequence[Statement]]


def split_large(program: Program) -> Program:
    """Return `program` with its large parts outside of regions split between nests."""
    parts = tuple(one for part in program.parts for one in _split(part))
    return program if len(parts) == len(program.parts) else replace(program, parts=parts)


def is_large(statements: Sequence[Statement]) -> bool:
    """Tell whether so many statements are scheduled in parts."""
    if len(statements) > STATEMENTS:
        return True
    pairs = combinations((statement.arrays for statement in statements), 2)
    return sum(not one.isdisjoint(two) for one, two in pairs) > PAIRS


def _split(part: Part) -> Iterator[Part]:
    if not isinstance(part, Scop) or not is_large(part.statements):
        yield part
        return
    runs = list(_runs(part))
    if len(runs) == 1:
        yield part
        return
    for statements in runs:
        found = part.part(statements)
        yield replace(found, arrays=tuple(map(_shared, found.arrays)))


def _shared(array: Array) -> Array:
    """Return the array as one part of several sees it: its contents pass between parts."""
    passing = array.role in (Role.TEMP, Role.OUTPUT)
    return replace(array, role=Role.INOUT) if passing else array


def _runs(part: Scop) -> Iterator[list[Statement]]:
    """Yield the statements of each new part: `TOGETHER` at most, cut where few values pass."""
    left = [list(nest) for _, nest in groupby(part.statements, _place)]
    temporaries = {array.name for array in part.arrays if array.role is Role.TEMP}
    while left:
        count = _cut(left, temporaries)
        yield [statement for nest in left[:count] for statement in nest]
        left = left[count:]


def _place(statement: Statement) -> Expr:
    """Return the position of a statement's nest among all nests."""
    return statement.order[0]


def _cut(nests: Nests, temporaries: set[str]) -> int:
    """Return how many of the nests make a part: between half of `TOGETHER` statements and all."""
    total = sum(map(len, nests))
    if total <= TOGETHER:
        return len(nests)
    found: list[int] = []
    size = 0
    for count, nest in enumerate(nests, start=1):
        size += len(nest)
        if size > TOGETHER:
            break
        if 2 * size >= TOGETHER:
            found.append(count)
    return min(
        found, key=lambda count: (_passing(nests, count, temporaries), -count), default=count
    )


def _passing(nests: Nests, count: int, temporaries: set[str]) -> int:
    """Return how many temporaries are used in the first `count` nests and behind them."""
    first, rest = (
        frozenset().union(*(s.arrays for nest in some for s in nest))
        for some in (nests[:count], nests[count:])
    )
    return len(first & rest & temporaries)


def schedule_in_source_order(scop: Scop) -> Schedule:
    """Return the source's order as a schedule, without dependences or privatization."""
    return Schedule(scop, dependences_of(scop), source_tree(scop))
