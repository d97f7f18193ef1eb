"""Vectorize a loop around short loops, which are unrolled: windows and small sums.

In: a band without vectorizable loops, whose inner loops all have few iterations.  Out: its
contiguous loop in SIMD lanes around unrolled copies, sums in registers; None for other bands.
"""

from __future__ import annotations

from math import prod

import islpy as isl

from polyopt import transforms
from polyopt.ir.budget import optional
from polyopt.schedule.schedule import Schedule, Transform
from polyopt.schedule.tree import Band, bands, find_band, member_map, path_to, statements_of
from polyopt.strategy.interchanges import order_steps
from polyopt.strategy.strides import Stride, loop_moves
from polyopt.strategy.vector import vector_gain
from polyopt.transforms import Unroll, Vectorize

MOST_COPIES = 32  # of the statements inside: they stay in the instruction cache and in registers
QUOTA = 200_000  # isl operations to find how long a loop is


def unroll_short(schedule: Schedule, label: str) -> Schedule | None:
    """Return `schedule` with a loop of the band vectorized around its short loops, unrolled."""
    band = find_band(schedule.tree, label)
    inner = [(b.label, p) for b in bands(band.child) for p in range(len(b.members))]
    lengths = [trip_count(schedule, name, p) for name, p in inner]
    if None in lengths:
        return None
    own = {p: trip_count(schedule, label, p) for p in range(len(band.members))}
    short = tuple(p for p, length in own.items() if length is not None)
    copies = prod(n for n in (*lengths, *own.values()) if n is not None)
    if not 1 < copies <= MOST_COPIES:
        return None
    for position in reversed(range(len(band.members))):
        if band.members[position].coincident and position not in short:
            found_lanes = _unrolled_in_lanes(schedule, band, position, short, inner)
            if found_lanes is not None:
                return found_lanes
    return None


def with_short_inside(schedule: Schedule, label: str) -> Schedule | None:
    """Return `schedule` with the contiguous loop of a band moved around its short loops.

    None where no short loop is around another one, or where they must stay.
    """
    band = find_band(schedule.tree, label)
    lengths = [trip_count(schedule, label, p) for p in range(len(band.members))]
    if None not in lengths or not 1 < prod(n for n in lengths if n is not None) <= MOST_COPIES:
        return None
    places = range(len(lengths))
    order = (*(p for p in places if lengths[p] is None), *(p for p in places if lengths[p]))
    steps = order_steps(label, band, order)
    return schedule.attempt(*steps) if steps else None


def is_reducing(schedule: Schedule, label: str) -> bool:
    """Tell whether some loop of an innermost band moves no element that is written: it reduces."""
    _, domain = path_to(schedule.tree, schedule.scop, label)
    still = set(range(len(find_band(schedule.tree, label).members)))
    for name in statements_of(schedule.scop, domain):
        statement = schedule.scop.statement(name)
        moves = loop_moves(schedule, label, statement)
        still &= {
            p for p, move in enumerate(moves) if move[statement.write.ref] is Stride.INVARIANT
        }
    return bool(still)


def _unrolled_in_lanes(
    schedule: Schedule,
    band: Band,
    position: int,
    short: tuple[int, ...],
    inner: list[tuple[str, int]],
) -> Schedule | None:
    label, others = band.label, range(len(band.members))
    long = tuple(p for p in others if p != position and p not in short)
    order = (*long, position, *short)
    lanes = len(long)
    moves: list[Transform] = order_steps(label, band, order)
    if not _is_contiguous(schedule, moves, f"{label}[{lanes}]"):
        return None
    steps = [Unroll(f"{label}[{p}]") for p in range(lanes + 1, len(order))]
    steps += [Unroll(f"{name}[{p}]") for name, p in inner]
    return schedule.attempt(*moves, *steps, Vectorize(f"{label}[{lanes}]"))


def _is_contiguous(schedule: Schedule, moves: list[Transform], loop: str) -> bool:
    """Tell whether the loop, innermost around each statement, moves accesses contiguously."""
    before = {band.label for band in bands(schedule.tree)}
    sunk = schedule.attempt(*moves, transforms.Sink(loop))
    if sunk is None:
        return False
    made = [b.label for b in bands(sunk.tree) if b.label not in before]
    return bool(made) and all(vector_gain(sunk, lanes, 0) > 0 for lanes in made)


def trip_count(schedule: Schedule, label: str, position: int) -> int | None:
    """Return a loop's number of iterations if it is a constant."""
    length = _length(schedule, label, position)
    return None if length is None else _number(length)


def most_iterations(schedule: Schedule, label: str, position: int) -> int | None:
    """Return the most iterations that a loop has for any size; None where that has no bound."""
    length = _length(schedule, label, position)
    if length is None:
        return None
    most = length.max_val()
    return int(most.to_python()) + 1 if most.is_int() else None


def has_uniform_trip_count(schedule: Schedule, label: str, position: int) -> bool:
    """Tell whether a loop has the same number of iterations wherever it is reached."""
    length = _length(schedule, label, position)
    if length is None:
        return False
    inner = isl.dim_type.in_
    functions = (value for _, value in length.get_pieces())
    return not any(value.involves_dims(inner, 0, value.dim(inner)) for value in functions)


def _length(schedule: Schedule, label: str, position: int) -> isl.PwAff | None:
    """Return the trip count less one over the loops around; None if that takes too long."""
    path, domain = path_to(schedule.tree, schedule.scop, label)
    members = (*path, *find_band(schedule.tree, label).members[: position + 1])
    with optional("the lengths of short loops", QUOTA):
        time = member_map(members[0], domain)
        for member in members[1:]:
            time = time.flat_range_product(member_map(member, domain))
        values = isl.Map.from_range(isl.Set.from_union_set(time.range()))
        last = len(members) - 1
        nest = values.move_dims(isl.dim_type.in_, 0, isl.dim_type.out, 0, last)
        return nest.dim_max(0).sub(nest.dim_min(0)).coalesce()
    return None


def _number(length: isl.PwAff) -> int | None:
    """Return one more than the constant that all pieces equal, None where they differ."""
    found: list[int | None] = []

    def add(_: isl.Set, value: isl.Aff) -> None:
        found.append(int(value.get_constant_val().to_python()) + 1 if value.is_cst() else None)

    length.foreach_piece(add)
    return found[0] if len(set(found)) == 1 else None
