"""Vectorize in-place sweeps along the diagonals of a wavefront.

In: a permutable band in which every loop carries dependences.  Out: a wavefront of tiles with lanes
along skewed diagonals, and array layouts in which a diagonal is contiguous; None where that is
not possible (Lamport, "The parallel execution of DO loops", 1974).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from polyopt.ir.expr import Const
from polyopt.ir.linear import normalize
from polyopt.ir.scop import Access, Array
from polyopt.schedule.contraction import contraction_loops
from polyopt.schedule.schedule import Schedule, Transform
from polyopt.schedule.tree import bands, find_band
from polyopt.strategy.strides import accesses, change_of, loop_directions
from polyopt.transforms import Dimension, Interchange, Parallelize, Rearrange, Skew, Tile, Vectorize
from polyopt.transforms.layout import Part

MOST_ROWS = 4  # rows for each column
STEEPEST = 3  # rows that lanes may go back by
SIZES = {3: (32, 64), 4: (8, 8, 128)}  # time steps, rows: as many as a vector has lanes, some times


def vectorize_wavefront(schedule: Schedule, label: str) -> Schedule | None:
    """Return `schedule` with a wavefront of the band's tiles, vectorized along diagonals."""
    count = len(find_band(schedule.tree, label).members)
    sizes = SIZES.get(count)
    if sizes is None:
        return None
    for factor in range(1, STEEPEST + 1):
        inside = _diagonal(label, count, factor)
        lanes = schedule.attempt(*inside, Vectorize(f"{label}[{count - 1}]"))
        if lanes is not None:
            layouts = _layouts(lanes, label)
            if layouts is None:
                return None
            return _tiled(schedule, label, sizes, layouts, factor)
    return None


def _diagonal(band: str, count: int, factor: int) -> list[Transform]:
    rows, columns = f"{band}[{count - 2}]", f"{band}[{count - 1}]"
    return [Skew(columns, rows, factor), Interchange(rows, columns)]


def _tiled(
    schedule: Schedule,
    label: str,
    sizes: tuple[int, ...],
    layouts: dict[str, tuple[Dimension, ...]],
    factor: int,
) -> Schedule | None:
    count = len(sizes) + 1
    tiles, point = f"{label}.tile", f"{label}.point"
    before = {band.label for band in bands(schedule.tree)}
    moved = schedule.attempt(*(Rearrange(a, label, dims) for a, dims in layouts.items()))
    if moved is None:
        return None
    copies = [b.label for b in bands(moved.tree) if b.label not in before]
    steps: list[Transform] = [Tile(label, sizes)]
    steps += [Skew(f"{tiles}[0]", f"{tiles}[{p}]", 1) for p in range(1, len(sizes))]
    steps += _diagonal(point, count, factor)
    steps += [Parallelize(f"{tiles}[1]"), Vectorize(f"{point}[{count - 1}]")]
    steps += [Parallelize(f"{copy}[0]") for copy in copies]
    return moved.attempt(*steps)


def _layouts(lanes: Schedule, label: str) -> dict[str, tuple[Dimension, ...]] | None:
    """Return for each array the layout in which lanes access neighbours."""
    moves: dict[str, set[tuple[Fraction, ...]]] = {}
    count = len(find_band(lanes.tree, label).members)
    homes = contraction_loops(lanes.scop, lanes.tree)
    for access, change in _changes(lanes, label):
        if homes.get(access.array) == f"{label}[{count - 1}]":
            continue  # a register
        if change is None:
            return None
        moves.setdefault(access.array, set()).add(change)
    layouts: dict[str, tuple[Dimension, ...]] = {}
    for array, changes in moves.items():
        change = changes.pop()
        if changes:
            return None
        if not any(change) or (change[-1] == 1 and not any(change[:-1])):
            continue
        found = _layout(change) if len(change) < count else None
        if found is None or not _has_room(lanes.scop.array(array), found):
            return None
        layouts[array] = found
    return layouts


def _layout(change: tuple[Fraction, ...]) -> tuple[Dimension, ...] | None:
    """Return the layout in which a move by `change` is one to the next element."""
    rows = [dim for dim, step in enumerate(change) if step == 1]
    if len(rows) != 1 or any(s.denominator != 1 or (s > 0 and s != 1) for s in change):
        return None
    (row,) = rows
    others = (
        Dimension(dim, Part.SKEWED, -int(step), row) if step else Dimension(dim)
        for dim, step in enumerate(change)
        if dim != row
    )
    return (*others, Dimension(row))


def _has_room(array: Array, layout: tuple[Dimension, ...]) -> bool:
    """Tell whether a skewed copy takes at most a few times the array's memory.

    It has a row for each diagonal of the array, as wide as the array has rows: with far more rows
    than columns most of it would be unused.
    """
    for dim in layout:
        if dim.part is not Part.SKEWED:
            continue
        match array.shape[dim.by], array.shape[dim.old]:
            case Const(value=int(rows)), Const(value=int(columns)):
                fits = rows <= MOST_ROWS * columns
            case rows, columns:
                fits = normalize(rows) == normalize(columns)
        if not fits:
            return False
    return True


def _changes(
    schedule: Schedule, label: str
) -> Iterator[tuple[Access, tuple[Fraction, ...] | None]]:
    """Yield each access with the change of its subscripts per step of the band's last loop."""
    for statement, moves in loop_directions(schedule, label):
        for access in accesses(statement):
            yield access, change_of(access, statement, moves[-1])
