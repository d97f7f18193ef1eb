"""Unroll and jam sums over one loop.

In: a permutable band with a sum and a loop over independent sums.  Out: unroll and jam (Allen and
Cocke, "A catalogue of optimizing transformations", 1972), which overlaps the latencies of several
sums.  Sums along rows: tiles of rows innermost, one accumulator each.  Sums along columns: strips
of columns in SIMD lanes, a few rows at a time.
"""

from __future__ import annotations

from polyopt.dataclass import dataclass, replace
from polyopt.schedule.schedule import Schedule, Transform
from polyopt.schedule.tree import Band, Leaf, find_band, only_statement
from polyopt.strategy.interchanges import order_steps
from polyopt.strategy.short_loop_unrolling import trip_count
from polyopt.strategy.strides import Stride, loop_moves
from polyopt.transforms import Cut, Interchange, Parallelize, Separate, Tile, Unroll, Vectorize

ROWS = 8  # chains of additions in flight: latency times throughput of one addition
TERMS = 4  # rows added to a strip of columns while it is in registers
STRIP = 256  # columns in a strip, which the first-level cache holds


@dataclass(frozen=True, slots=True)
class _Sum:
    """Roles of a band's loops: over independent sums, and over the terms of each."""

    sums: int
    terms: int
    contiguous: bool  # the sums lie next to each other, and so do their terms
    is_open: bool = False  # in any order: each in lanes


def sums(schedule: Schedule, label: str, *, recurrent: bool = False) -> Schedule | None:
    """Return `schedule` with the sums at band `label` jammed, or None for other bands.

    `recurrent` sums may read finished results of the same array.
    """
    found = _find(schedule, label, recurrent=recurrent)
    if found is None:
        return None
    band = find_band(schedule.tree, label)
    others = tuple(p for p in range(len(band.members)) if p not in (found.sums, found.terms))
    steps: list[Transform] = order_steps(label, band, (*others, found.sums, found.terms))
    inner = label
    if others:
        steps.append(Cut(label, len(others)))
        inner = f"{label}.inner"
    steps += _columns(inner) if found.contiguous else _rows(inner, in_lanes=found.is_open)
    is_free = bool(others) and band.members[others[0]].coincident
    outer = f"{label}[0]" if is_free else f"{inner}.tile[0]"
    return schedule.attempt(*steps, Parallelize(outer)) or schedule.attempt(*steps)


def is_row_sum(schedule: Schedule, label: str) -> bool:
    """Tell whether band `label` is a loop over rows and one ordered sum along each."""
    found = _find(schedule, label, recurrent=False)
    band = find_band(schedule.tree, label)
    return (
        found is not None
        and not found.contiguous
        and found.sums == len(band.members) - 2
        and found.terms == len(band.members) - 1
    )


def _rows(label: str, *, in_lanes: bool) -> list[Transform]:
    tile, point = f"{label}.tile", f"{label}.point"
    return [
        Tile(label, (ROWS,)),
        Interchange(f"{point}[0]", f"{point}[1]"),
        Unroll(f"{point}[1]"),
        *([Vectorize(f"{point}[0]")] if in_lanes else []),
        Separate(tile, point, (ROWS,)),
    ]


def _columns(label: str) -> list[Transform]:
    tile, point = f"{label}.tile", f"{label}.point"
    return [
        Tile(label, (STRIP, TERMS)),
        Vectorize(f"{point}[0]"),
        Unroll(f"{point}[1]"),
        Separate(tile, point, (0, TERMS)),
    ]


def _find(schedule: Schedule, label: str, *, recurrent: bool) -> _Sum | None:
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
    found = _column_sum(band, moves, write, terms[-1])
    if found is None and (recurrent or not is_open):
        found = _row_sum(band, moves, write, terms[-1])
    return found and replace(found, is_open=is_open)


def _column_sum(band: Band, moves: list[dict[str, Stride]], write: str, terms: int) -> _Sum | None:
    for position, move in enumerate(moves):
        if not band.members[position].coincident or move[write] is not Stride.CONTIGUOUS:
            continue
        if Stride.STRIDED not in move.values() and Stride.STRIDED in moves[terms].values():
            return _Sum(position, terms, True)
    return None


def _row_sum(band: Band, moves: list[dict[str, Stride]], write: str, terms: int) -> _Sum | None:
    along = moves[terms].values()
    if Stride.CONTIGUOUS not in along or Stride.STRIDED in along:
        return None
    for position, move in reversed(list(enumerate(moves))):  # the rows that are near
        if not band.members[position].coincident or move[write] is Stride.INVARIANT:
            continue
        if Stride.STRIDED in move.values():
            return _Sum(position, terms, False)
    return None
