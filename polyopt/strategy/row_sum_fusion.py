"""Fuse sums over the same row that other statements separate.

In: a schedule after fusion.  Out: the schedule with such sums fused; statements between them run
before or after the fused loop.
A row is then loaded once, and the latencies of both sums overlap.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import combinations

from polyopt import transforms
from polyopt.ir.expr import Iter
from polyopt.ir.scop import Statement
from polyopt.schedule.schedule import Schedule
from polyopt.schedule.tree import Band, Filter, Sequence, bands, statements_of
from polyopt.strategy.fusion import fuse
from polyopt.strategy.short_loop_unrolling import is_reducing
from polyopt.strategy.vector import is_innermost


def fuse_row_sums(schedule: Schedule, skip: Collection[str]) -> Schedule:
    """Return `schedule` with sums over the same row fused, except in bands named in `skip`."""
    while True:
        joined = _fused_pair(schedule, skip)
        if joined is None:
            return schedule
        schedule = joined


def _fused_pair(schedule: Schedule, skip: Collection[str]) -> Schedule | None:
    """Return `schedule` with two sums of one sequence fused, or None without such sums."""
    for band in bands(schedule.tree):
        if not isinstance(band.child, Sequence) or band.label in skip:
            continue
        parts = band.child.parts
        sums = [p for p, part in enumerate(parts) if _is_sum(schedule, part, skip)]
        uses = [_statements(schedule, part) for part in parts] if len(sums) > 1 else []
        for first, second in combinations(sums, 2):
            order = _adjacent_order(uses, first, second)
            if second == first + 1 or order is None or not _share_rows(uses[first], uses[second]):
                continue
            one, two = parts[first].child, parts[second].child
            assert isinstance(one, Band)
            assert isinstance(two, Band)
            fused = fuse(schedule, one.label, two.label, (transforms.Reorder(band.label, order),))
            if fused is not None:
                return fused
    return None


def _is_sum(schedule: Schedule, part: Filter, skip: Collection[str]) -> bool:
    nest = part.child
    if not isinstance(nest, Band) or nest.label in skip or not is_innermost(nest):
        return False
    return len(nest.members) == 1 and is_reducing(schedule, nest.label)


def _statements(schedule: Schedule, part: Filter) -> list[Statement]:
    return [schedule.scop.statement(n) for n in statements_of(schedule.scop, part.domain)]


def _share_rows(one: list[Statement], two: list[Statement]) -> bool:
    """Tell whether both read the same array along their innermost loop."""
    return bool(_rows(one) & _rows(two))


def _rows(statements: list[Statement]) -> set[str]:
    return {
        access.array
        for statement in statements
        for access in statement.reads
        if Iter(statement.iters[-1]) in access.index
    }


def _adjacent_order(uses: list[list[Statement]], first: int, second: int) -> tuple[int, ...] | None:
    """Return an order of the parts with two adjacent, or None if one depends on those between.

    Parts that may depend on the first, by the names of arrays, go behind.
    """
    behind = [first]
    for part in range(first + 1, second + 1):
        if any(_depend(uses[earlier], uses[part]) for earlier in behind):
            behind.append(part)
    if second in behind:
        return None
    between = [part for part in range(first + 1, second) if part not in behind]
    last = range(second + 1, len(uses))
    return (*range(first), *between, first, second, *behind[1:], *last)


def _depend(earlier: list[Statement], later: list[Statement]) -> bool:
    made, taken = _written(earlier), _written(later)
    return bool(made & (_read(later) | taken) or _read(earlier) & taken)


def _written(statements: list[Statement]) -> set[str]:
    return {statement.write.array for statement in statements}


def _read(statements: list[Statement]) -> set[str]:
    return {access.array for statement in statements for access in statement.reads}
