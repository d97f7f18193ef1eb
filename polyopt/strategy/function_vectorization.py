"""Vectorize functions of sums: distribute groups of iterations over sums and functions.

In: a fused nest whose iterations reduce rows and use the results, as in functions such as exp.
Out: groups of as many iterations as a vector has lanes: first their sums, with an accumulator each,
so that the latencies of additions overlap, then the functions of all of them.  Where neighbouring
iterations read neighbours, as windows of a filter do, groups of a few vectors, whose lanes are
iterations: each sum keeps its order.
Leaves: nests that use more of a row than its sums; short sums that no function uses.
"""

from __future__ import annotations

from collections.abc import Collection

from polyopt.ir.expr import is_function, walk
from polyopt.ir.scop import Statement
from polyopt.machine import Machine
from polyopt.schedule.schedule import Schedule, Transform
from polyopt.schedule.tree import (
    Band,
    Leaf,
    Sequence,
    Tree,
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
BYTES = 32
"""Results of a group at most: lanes of longer vectors cost more to add up than functions gain."""

VECTORS = 4
"""Vectors of iterations in lanes: sums that keep the adders busy and share what is splat."""


def vectorize_functions(schedule: Schedule, machine: Machine, skip: Collection[str]) -> Schedule:
    """Return `schedule` with functions of sums in lanes, except in bands named in `skip`."""
    for label in [band.label for band in bands(schedule.tree)]:
        if label not in skip and any(band.label == label for band in bands(schedule.tree)):
            schedule = _vectorized(schedule, label, machine) or schedule
    return schedule


def group_size(schedule: Schedule, names: Collection[str], vector_bytes: int) -> int:
    """Return the number of iterations whose results of the statements `names` fill a vector."""
    return min(max(LEAST, vector_bytes // max(_sizes(schedule, names))), MOST)


def _sizes(schedule: Schedule, names: Collection[str]) -> list[int]:
    """Return the bytes of an element that each of the statements `names` writes."""
    scop = schedule.scop
    return [scop.array(scop.statement(name).target.array).dtype.size for name in names]


def calling(schedule: Schedule, names: Collection[str]) -> list[str]:
    """Return those of the statements `names` that call functions, including powers."""
    values = {name: schedule.scop.statement(name).value for name in names}
    return [name for name, value in values.items() if any(map(is_function, walk(value)))]


def sums_and_functions(label: str, size: int, parts: list[bool]) -> list[Transform]:
    """Return the steps that tile a loop by `size` and distribute the tiles over the parts.

    `parts` tells for each part whether it is a sum over a loop; others are statements.
    """
    point, steps = f"{label}.point", _distributed(label, size)
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


def _distributed(label: str, size: int) -> list[Transform]:
    """Return the steps that tile a loop and distribute whole tiles over their parts."""
    tile, point = f"{label}.tile", f"{label}.point"
    return [Tile(label, (size,)), Separate(tile, point, (size,)), Distribute(point, 1)]


def _vectorized(schedule: Schedule, label: str, machine: Machine) -> Schedule | None:
    """Return `schedule` with the iterations of a band in groups, None where that is useless."""
    band = find_band(schedule.tree, label)
    if not isinstance(band.child, Sequence) or not band.members[-1].coincident:
        return None
    parts = band.child.parts
    others = [part for part in parts if isinstance(part.child, Leaf)]
    sums = [_sum(schedule, part.child) for part in parts]
    names = [name for part in others for name in statements_of(schedule.scop, part.domain)]
    functions = calling(schedule, names)
    found = [one for one in sums if one is not None]
    if not found or not names or len(found) + len(others) < len(parts):
        return None
    rows, steps = label, list[Transform]()
    if len(band.members) > 1:
        steps.append(Cut(label, len(band.members) - 1))
        rows = f"{label}.inner"
    is_sum = [one is not None for one in sums]
    if all(_reads_neighbours(schedule, label, one) for one in found):
        lanes = machine.vector_bytes // max(_sizes(schedule, names))
        grouped = schedule.attempt(*steps, *_in_lanes(rows, max(lanes, 1), is_sum))
        rest = Vectorize(f"{rows}.point.rest[0]")
        return grouped if grouped is None else grouped.attempt(rest) or grouped
    if not all(one.reduction and one.reduction.reassociable for one in found):
        return None
    inner = [part.child.label for part in parts if isinstance(part.child, Band)]
    shared = (_shares_terms(schedule, label, *one) for one in zip(inner, found, strict=True))
    if not functions and not all(shared):
        return None
    size = group_size(schedule, functions or names, min(machine.vector_bytes, BYTES))
    steps += sums_and_functions(rows, size, is_sum)
    return schedule.attempt(*steps)


def _in_lanes(label: str, lanes: int, parts: list[bool]) -> list[Transform]:
    """Return the steps for groups of a few vectors of iterations, which are the lanes of all parts.

    `parts` tells for each part whether it is a sum over a loop; others are statements.
    """
    point, steps = f"{label}.point", _distributed(label, lanes * VECTORS)
    for number, is_sum in enumerate(parts):
        part = f"{point}.{number}"
        if not is_sum:
            steps.append(Vectorize(f"{part}[0]"))
            continue
        inner = f"{part}.inner"
        steps += [
            Interchange(f"{part}[0]", f"{part}[1]"),
            Cut(part, 1),
            Tile(inner, (lanes,)),
            Unroll(f"{inner}.tile[0]"),
            Vectorize(f"{inner}.point[0]"),
        ]
    return steps


def _reads_neighbours(schedule: Schedule, label: str, statement: Statement) -> bool:
    """Tell whether neighbouring iterations read neighbours, or the same, for each term."""
    rows = loop_moves(schedule, label, statement)[-1]
    read = {rows[access.ref] for access in accesses(statement)[1:]}
    return Stride.CONTIGUOUS in read and Stride.STRIDED not in read


def _shares_terms(schedule: Schedule, label: str, inner: str, statement: Statement) -> bool:
    """Tell whether sums of one unknown length read elements that all rows share, term by term."""
    rows = loop_moves(schedule, label, statement)[-1]
    terms = loop_moves(schedule, inner, statement)[-1]
    if trip_count(schedule, inner, 0) or not has_uniform_trip_count(schedule, inner, 0):
        return False
    return any(
        terms[read.ref] is Stride.CONTIGUOUS and rows[read.ref] is Stride.INVARIANT
        for read in accesses(statement)[1:]
    )


def _sum(schedule: Schedule, band: Tree) -> Statement | None:
    """Return the statement of a part of a body that is one loop with one sum; None for others."""
    if not isinstance(band, Band) or len(band.members) > 1 or not isinstance(band.child, Leaf):
        return None
    statement = only_statement(schedule.tree, schedule.scop, band.label)
    if statement is None or statement.reduction is None:
        return None
    moves = loop_moves(schedule, band.label, statement)[-1]
    return statement if moves[statement.write.ref] is Stride.INVARIANT else None
