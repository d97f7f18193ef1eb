"""Vectorize functions of sums: distribute groups of iterations over sums and functions.

In: a fused nest whose iterations reduce rows and use the results, as in functions such as exp.
Out: groups of as many iterations as a vector has lanes: first their sums, with an accumulator each,
so that the latencies of additions overlap, then the functions of all of them.
Leaves: nests that use more of a row than its sums; short sums that no function uses.
"""

from __future__ import annotations

from collections.abc import Collection

from polyopt.ir.expr import is_function, walk
from polyopt.machine import Machine
from polyopt.schedule.schedule import Schedule, Transform
from polyopt.schedule.tree import (
    Band,
    Filter,
    Leaf,
    Sequence,
    bands,
    find_band,
    only_statement,
    statements_of,
)
from polyopt.strategy.short_loop_unrolling import has_uniform_trip_count, trip_count
from polyopt.strategy.strides import Stride, accesses, loop_moves
from polyopt.transforms import Cut, Distribute, Interchange, Separate, Tile, Unroll, Vectorize

LEAST, MOST = 4, 16
"""Iterations of a group: sums that keep the adders busy, and accumulators that fit registers."""


def vectorize_functions(schedule: Schedule, machine: Machine, skip: Collection[str]) -> Schedule:
    """Return `schedule` with functions of sums in lanes, except in bands named in `skip`."""
    for label in [band.label for band in bands(schedule.tree)]:
        if label not in skip and any(band.label == label for band in bands(schedule.tree)):
            schedule = _vectorized(schedule, label, machine) or schedule
    return schedule


def group_size(schedule: Schedule, names: Collection[str], machine: Machine) -> int:
    """Return the number of iterations that fill a vector with results of the statements `names`."""
    scop = schedule.scop
    sizes = [scop.array(scop.statement(name).target.array).dtype.size for name in names]
    return min(max(LEAST, machine.vector_bytes // max(sizes)), MOST)


def calling(schedule: Schedule, names: Collection[str]) -> list[str]:
    """Return those of the statements `names` that call functions, including powers."""
    values = {name: schedule.scop.statement(name).value for name in names}
    return [name for name, value in values.items() if any(map(is_function, walk(value)))]


def sums_and_functions(label: str, size: int, parts: list[bool]) -> list[Transform]:
    """Return the steps that tile a loop by `size` and distribute the tiles over the parts.

    `parts` tells for each part whether it is a sum over a loop; others are statements.
    """
    tile, point = f"{label}.tile", f"{label}.point"
    steps: list[Transform] = [
        Tile(label, (size,)),
        Separate(tile, point, (size,)),
        Distribute(point, 1),
    ]
    for number, is_sum in enumerate(parts):
        part = f"{point}.{number}"
        if is_sum:
            steps += [
                Interchange(f"{part}[0]", f"{part}[1]"),
                Vectorize(f"{part}[0]"),
                Unroll(f"{part}[1]"),
            ]
        else:
            steps.append(Vectorize(f"{part}[0]"))
    return steps


def _vectorized(schedule: Schedule, label: str, machine: Machine) -> Schedule | None:
    """Return `schedule` with the iterations of a band in groups, None where that is useless."""
    band = find_band(schedule.tree, label)
    if not isinstance(band.child, Sequence) or not band.members[-1].coincident:
        return None
    parts = band.child.parts
    others = [part for part in parts if isinstance(part.child, Leaf)]
    sums = [part for part in parts if _is_sum(schedule, part)]
    names = [name for part in others for name in statements_of(schedule.scop, part.domain)]
    functions = calling(schedule, names)
    if not sums or len(sums) + len(others) < len(parts):
        return None
    if not functions and not all(_shares_terms(schedule, label, part) for part in sums):
        return None
    rows, steps = label, list[Transform]()
    if len(band.members) > 1:
        steps.append(Cut(label, len(band.members) - 1))
        rows = f"{label}.inner"
    size = group_size(schedule, functions or names, machine)
    steps += sums_and_functions(rows, size, [part in sums for part in parts])
    return schedule.attempt(*steps)


def _shares_terms(schedule: Schedule, label: str, part: Filter) -> bool:
    """Tell whether sums of one unknown length read elements that all rows share, term by term."""
    band = part.child
    assert isinstance(band, Band)
    statement = only_statement(schedule.tree, schedule.scop, band.label)
    assert statement is not None
    rows = loop_moves(schedule, label, statement)[-1]
    terms = loop_moves(schedule, band.label, statement)[-1]
    if trip_count(schedule, band.label, 0) or not has_uniform_trip_count(schedule, band.label, 0):
        return False
    return any(
        terms[read.ref] is Stride.CONTIGUOUS and rows[read.ref] is Stride.INVARIANT
        for read in accesses(statement)[1:]
    )


def _is_sum(schedule: Schedule, part: Filter) -> bool:
    """Tell whether a part of a body is one loop with one reassociable sum."""
    band = part.child
    if not isinstance(band, Band) or len(band.members) > 1 or not isinstance(band.child, Leaf):
        return False
    statement = only_statement(schedule.tree, schedule.scop, band.label)
    if statement is None or statement.reduction is None or not statement.reduction.reassociable:
        return False
    return loop_moves(schedule, band.label, statement)[-1][statement.write.ref] is Stride.INVARIANT
