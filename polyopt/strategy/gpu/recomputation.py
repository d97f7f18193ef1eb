"""Recompute values of a row at their uses instead of storing them.

In: a row program mapped to blocks.  Out: the same without temporaries of a row's length whose
elements depend on few others of the row; each loop that reads one recomputes it.
Refuses (leaves the array as it is): sums, values of many readers or of many operands.
"""

from __future__ import annotations

from polyopt.ir.scop import Role, Statement
from polyopt.schedule.schedule import Schedule
from polyopt.schedule.tree import bands, find_band, path_to, statements_of
from polyopt.strategy.gpu.mapped_loops import bands_around
from polyopt.transforms import Recompute

READERS = 3
"""Loops that may compute a value."""
OPERANDS = 2
"""Elements of a row, each of an array of its own, that a value may be made of."""


def recompute_rows(schedule: Schedule, label: str, rows: int) -> Schedule:
    """Return `schedule` with the temporaries of rows in band `label` recomputed where possible.

    The first `rows` loops of the band are those over rows.
    """
    loops = frozenset(band.label for band in bands(find_band(schedule.tree, label)))
    for name in _elementwise_temporaries(schedule, label, rows)[::-1]:
        schedule = _recomputed(schedule, loops, name) or schedule
    return schedule


def _elementwise_temporaries(schedule: Schedule, label: str, rows: int) -> list[str]:
    """Return the temporaries that one statement in the band computes element by element."""
    scop = schedule.scop
    _, domain = path_to(schedule.tree, scop, label)
    inside = set(statements_of(scop, domain))
    found = []
    for array in scop.arrays:
        touching = {s.name for s in scop.statements if _touches(s, array.name)}
        writers = [s for s in scop.statements if s.target.array == array.name]
        if array.role is not Role.TEMP or not touching <= inside or len(writers) != 1:
            continue
        (writer,) = writers
        if writer.reduction is None and len(writer.iters) > rows and _is_simple(writer, rows):
            found.append(array.name)
    return found


def _touches(statement: Statement, array: str) -> bool:
    return any(access.array == array for access in (statement.write, *statement.reads))


def _is_simple(writer: Statement, rows: int) -> bool:
    """Tell whether a value has few operands in rows."""
    return len({a.array for a in writer.reads if len(a.index) > rows}) <= OPERANDS


def _recomputed(schedule: Schedule, loops: frozenset[str], array: str) -> Schedule | None:
    """Return `schedule` with the array recomputed where it is read, None if it is still stored.

    Recomputed values may read temporaries of the row, in the bands `loops` of before.
    """
    readers: list[str] = []
    for statement in schedule.scop.statements:
        if any(read.array == array for read in statement.reads):
            around = [b for b in bands_around(schedule, statement.name) if b.label in loops]
            readers.append(f"{around[-1].label}[{len(around[-1].members) - 1}]")
    readers = list(dict.fromkeys(readers))
    if not 1 <= len(readers) <= READERS:
        return None
    found = schedule
    for loop in readers:
        after = found.attempt(Recompute(array, loop))
        if after is None:
            return None
        found = after
    kept = any(s.target.array == array for s in found.scop.statements)
    return None if kept else found
