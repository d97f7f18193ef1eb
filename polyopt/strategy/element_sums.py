"""Sums in the loop that makes their terms, whose temporaries then need no row.

In: two innermost loops inside of an independent one, fused; the first one makes numbers of its
iteration, the second one adds what it computes from them.  Out: whether the joint loop is better.
Leaves: temporaries that other loops use as well; functions, which lanes compute faster apart from
conditions and sums.
"""

from __future__ import annotations

from collections.abc import Iterable

from polyopt.ir.expr import is_function, walk
from polyopt.ir.scop import Role, Statement
from polyopt.schedule.contraction import contraction_nests
from polyopt.schedule.schedule import Schedule, Transform
from polyopt.schedule.tree import bands, find_band, statements_at
from polyopt.transforms import Fuse, Vectorize


def join_sum(
    schedule: Schedule, first: str, second: str, moves: tuple[Transform, ...]
) -> Schedule | None:
    """Return `schedule` with `first`, which makes the terms of sums, and `second` in one loop.

    None unless the joint loop runs in SIMD lanes, and what the first one makes needs no row then.
    """
    nests = [find_band(schedule.tree, label) for label in (first, second)]
    if any(len(nest.members) > 1 or any(bands(nest.child)) for nest in nests):
        return None
    one, two = (statements_at(schedule.tree, schedule.scop, label) for label in (first, second))
    inside = {statement.name for statement in (*one, *two)}
    others = (s for s in schedule.scop.statements if s.name not in inside)
    made = {statement.target.array for statement in one}
    if not made <= _read(two) - _read(others):
        return None
    if any(schedule.scop.array(name).role is not Role.TEMP for name in made):
        return None
    if any(is_function(part) for statement in (*one, *two) for part in walk(statement.value)):
        return None
    fused, loop = schedule.attempt(*moves, Fuse(first, second, 1)), f"{first}[0]"
    if fused is None or fused.attempt(Vectorize(loop)) is None:
        return None
    homes = contraction_nests(fused.scop, fused.tree)
    return fused if all(homes.get(name, ())[-1:] == (loop,) for name in made) else None


def _read(statements: Iterable[Statement]) -> set[str]:
    return {read.array for statement in statements for read in statement.reads}
