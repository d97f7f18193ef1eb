"""Unroll and jam sums over one loop.

In: a permutable band with a sum and a loop over independent sums.  Out: unroll and jam (Allen and
Cocke, "A catalogue of optimizing transformations", 1972), which overlaps the latencies of several
sums.  Sums along rows: tiles of rows innermost, one accumulator each.  Sums along columns: strips
of columns in SIMD lanes, a few rows at a time.
"""

from __future__ import annotations

from typing import TypeAlias

from polyopt.dataclass import dataclass, replace
from polyopt.ir.scop import Scop, Statement
from polyopt.machine import Machine
from polyopt.model.contraction import strip_length
from polyopt.schedule.schedule import Schedule, Transform
from polyopt.schedule.tree import Leaf, find_band, only_statement, statements_at
from polyopt.strategy.interchanges import order_steps
from polyopt.strategy.short_loop_unrolling import trip_count
from polyopt.strategy.strides import Stride, loop_moves
from polyopt.transforms import Cut, Interchange, Parallelize, Separate, Tile, Unroll, Vectorize

ROWS = 8  # chains of additions in flight: latency times throughput of one addition
TERMS = 8  # rows added to a vector of columns while it is in a register


@dataclass(frozen=True, slots=True)
class Sum:
    """Roles of a band's loops: over independent sums, and over the terms of each."""

    sums: int
    terms: int
    contiguous: bool  # the sums lie next to each other, and so do their terms
    is_open: bool = False  # in any order: each in lanes


def sums(
    schedule: Schedule, label: str, machine: Machine, *, recurrent: bool = False
) -> Schedule | None:
    """Return `schedule` with the sums at band `label` jammed, or None for other bands.

    `recurrent` sums may read finished results of the same array.
    """
    found = find_sum(schedule, label, recurrent=recurrent)
    if found is None:
        return None
    return _jammed(schedule, label, found, strip_of(schedule, label, machine))


def strip_of(schedule: Schedule, label: str, machine: Machine) -> int:
    """Return how many sums of band `label` take half of the first cache, less for many threads."""
    statement = statements_at(schedule.tree, schedule.scop, label)[0]
    element = schedule.scop.array(statement.target.array).dtype.size
    return strip_length(machine, element)


def other_loops(schedule: Schedule, label: str, found: Sum) -> tuple[int, ...]:
    """Return the loops of a band over neither the sums nor their terms."""
    count = len(find_band(schedule.tree, label).members)
    return tuple(p for p in range(count) if p not in (found.sums, found.terms))


def _jammed(schedule: Schedule, label: str, found: Sum, strip: int) -> Schedule | None:
    """Return `schedule` with the sums jammed, the other loops around them."""
    band = find_band(schedule.tree, label)
    others = other_loops(schedule, label, found)
    steps: list[Transform] = order_steps(label, band, (*others, found.sums, found.terms))
    inner = label
    if others:
        steps.append(Cut(label, len(others)))
        inner = f"{label}.inner"
    steps += tile_steps(inner, found, strip, 0)
    is_free = bool(others) and band.members[others[0]].coincident
    outer = f"{label}[0]" if is_free else f"{inner}.tile[0]"
    return schedule.attempt(*steps, Parallelize(outer)) or schedule.attempt(*steps)


def is_row_sum(schedule: Schedule, label: str) -> bool:
    """Tell whether band `label` is a loop over rows and one ordered sum along each."""
    found = find_sum(schedule, label, recurrent=False)
    band = find_band(schedule.tree, label)
    return (
        found is not None
        and not found.contiguous
        and not found.is_open
        and found.sums == len(band.members) - 2
        and found.terms == len(band.members) - 1
    )


def tile_steps(label: str, found: Sum, strip: int, others: int) -> list[Transform]:
    """Return the steps that tile a band of sums, other loops and terms.

    The other loops have one iteration in a tile.
    """
    tile, point = f"{label}.tile", f"{label}.point"
    if found.contiguous:
        return [
            Tile(label, (strip, TERMS, *(1,) * others)),
            Vectorize(f"{point}[0]"),
            *(Unroll(f"{point}[{p}]") for p in range(1, others + 2)),
            Separate(tile, point, (0, TERMS, *(0,) * others)),
        ]
    return [
        Tile(label, (ROWS, *(1,) * others)),
        Interchange(f"{point}[0]", f"{point}[{others + 1}]"),
        *(Interchange(f"{point}[{p}]", f"{point}[{p + 1}]") for p in range(1, others + 1)),
        Unroll(f"{point}[{others + 1}]"),
        *([Vectorize(f"{point}[0]")] if found.is_open else []),
        Separate(tile, point, (ROWS, *(0,) * others)),
    ]


def find_sum(
    schedule: Schedule, label: str, *, recurrent: bool, skip: frozenset[int] = frozenset()
) -> Sum | None:
    """Return the roles of a band's loops; those in `skip`, of one iteration, have no sums."""
    band = find_band(schedule.tree, label)
    if not band.permutable or len(band.members) < 2 or not isinstance(band.child, Leaf):
        return None
    statement = only_statement(schedule.tree, schedule.scop, label)
    if statement is None:
        return None
    moves = loop_moves(schedule, label, statement)
    write = statement.write.ref
    terms = [p for p, move in enumerate(moves) if move[write] is Stride.INVARIANT]
    is_open = statement.reduction is not None and statement.reduction.reassociable
    if (statement.reduction is None and not recurrent) or not terms:
        return None
    if not recurrent and trip_count(schedule, label, terms[-1]) is not None:
        return None  # few terms: a register for each sum
    free = tuple(p for p, one in enumerate(band.members) if one.coincident and p not in skip)
    found = _column_sum(moves, write, terms[-1], free)
    if found is None:
        found = _row_sum(moves, write, terms[-1], free, strided=bool(skip))
        if found is not None and is_open and not recurrent:
            found = found if _is_product(schedule.scop, statement, moves, found) else None
    return found and replace(found, is_open=is_open)


_Moves: TypeAlias = list[dict[str, Stride]]


def _column_sum(moves: _Moves, write: str, terms: int, free: tuple[int, ...]) -> Sum | None:
    for position in free:
        move = moves[position]
        if move[write] is not Stride.CONTIGUOUS:
            continue
        if Stride.STRIDED not in move.values() and Stride.STRIDED in moves[terms].values():
            return Sum(position, terms, True)
    return None


def _is_product(scop: Scop, statement: Statement, moves: _Moves, found: Sum) -> bool:
    """Tell whether rows of a matrix are multiplied by terms that all rows reuse.

    Another statement that accesses the matrix is better run where its row is in a cache; one that
    makes a temporary needs no memory then.
    """
    along, across = moves[found.terms], moves[found.sums]
    reads = [a for a in statement.reads if along.get(a.ref) in (Stride.CONTIGUOUS, Stride.STRIDED)]
    shared = [access for access in reads if across[access.ref] is Stride.INVARIANT]
    own = {access.array for access in reads if across[access.ref] is not Stride.INVARIANT}
    others = (other for other in scop.statements if other is not statement)
    elsewhere = {access.array for other in others for access in (other.write, *other.reads)}
    return bool(shared) and own.isdisjoint(elsewhere)


def _row_sum(
    moves: _Moves, write: str, terms: int, free: tuple[int, ...], *, strided: bool
) -> Sum | None:
    """Return sums along rows; `strided`: the terms of an operand may be."""
    along = moves[terms].values()
    if Stride.CONTIGUOUS not in along or (Stride.STRIDED in along and not strided):
        return None
    for position in reversed(free):  # the rows that are near
        move = moves[position]
        if move[write] is not Stride.INVARIANT and Stride.STRIDED in move.values():
            return Sum(position, terms, False)
    return None
