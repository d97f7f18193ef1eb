"""Copy operands of a contraction to shared memory.

In: tiles of a contraction.  Out: copies by all threads, each of some neighbouring elements of
memory; the last dimension of a copy is the one that threads read side by side, rows are padded
for the fewest bank conflicts.
"""

from __future__ import annotations

from math import prod

from polyopt.dataclass import dataclass
from polyopt.ir.array import Array
from polyopt.ir.banks import of_warps
from polyopt.ir.source import Layout
from polyopt.schedule.schedule import Schedule
from polyopt.schedule.tree import find_band
from polyopt.strategy.gpu.fragment_rows import FragmentRows
from polyopt.strategy.gpu.mapped_loops import new_nests
from polyopt.strategy.gpu.prologue_epilogue import Pattern
from polyopt.strategy.gpu.roles import Roles
from polyopt.strategy.gpu.tiles import WIDE, TileSizes
from polyopt.transforms import Dimension, Pack, Strip, Threads
from polyopt.transforms.layout import Part

LEAST = 4
"""Bytes that are copied into shared memory in the background at least."""
PADS = 4
"""Amounts of padding that are tried, of so many times what a thread reads at once."""


@dataclass(frozen=True, slots=True)
class _Operand:
    """A tile of an operand: `own` and `deep` are the subscripts that results and terms move."""

    array: Array
    own: int
    deep: int
    size: int  # along `own`
    depth: int

    @property
    def wide(self) -> int:
        """The number of elements that a thread reads at once."""
        return WIDE // self.array.dtype.size

    @property
    def is_transposed(self) -> bool:
        """Whether neighbours in memory are terms of one result."""
        return self.deep > self.own

    @property
    def is_whole(self) -> bool:
        """Whether an element is large enough for an asynchronous copy."""
        return self.array.dtype.size >= LEAST


def copy_operands(
    schedule: Schedule,
    loop: str,
    roles: Roles,
    moved: dict[str, set[Pattern]],
    sizes: TileSizes,
    *,
    fragments: bool = False,
) -> Schedule:
    """Return `schedule` with the operands copied in before each tile, by all threads.

    `moved` maps arrays to the subscripts that row, column and terms move.  Copies for `fragments`
    of matrix instructions have the layout of memory, padded for vector copies.
    """
    threads = prod(-(-a // b) for a, b in ((sizes.rows, sizes.own_rows),
                                           (sizes.columns, sizes.own_columns)))  # fmt: skip
    for name in roles.operands:
        operand = _operand(schedule.scop.array(name), moved[name], sizes)
        packed = None
        for wanted in () if operand is None else _dimensions(operand, threads, fragments):
            packed = packed or schedule.attempt(Pack(name, loop, wanted))
        packed = packed or schedule.attempt(Pack(name, loop))
        if packed is not None:
            found: Schedule | None = packed
            for label in new_nests(packed, schedule):
                is_transposed = operand is not None and operand.is_transposed and not fragments
                found = found and _distributed(found, label, operand, is_transposed)
            schedule = found or schedule
    return schedule


def _operand(array: Array, moved: set[Pattern], sizes: TileSizes) -> _Operand | None:
    """Return an operand of which results and terms move one dimension each, or None."""
    found: set[tuple[int, int]] = set()
    size = 0
    for row, column, deep in moved:
        own, least = (row, sizes.rows) if column is None else (column, sizes.columns)
        if own is None or deep is None or own == deep or None not in (row, column):
            return None
        found.add((own, deep))
        size = max(size, least)
    if len(found) != 1:
        return None
    return _Operand(array, *found.pop(), size, sizes.depth)


def _dimensions(
    operand: _Operand, threads: int, fragments: bool
) -> tuple[tuple[Dimension, ...], ...]:
    """Return layouts of the copy, best first: as in memory, or transposed and padded."""
    if fragments:
        return _in_fragments(operand, threads)
    if not operand.is_transposed:
        return ()
    rank = len(operand.array.shape)
    others = [Dimension(d) for d in range(rank) if d not in (operand.own, operand.deep)]
    pad = _padding(operand, threads)
    own = Dimension(operand.own, Part.PADDED, pad) if pad else Dimension(operand.own)
    return ((*others, Dimension(operand.deep), own),)


def _in_fragments(operand: _Operand, threads: int) -> tuple[tuple[Dimension, ...], ...]:
    """Return layouts of copies for matrix instructions."""
    *others, last = range(len(operand.array.shape))
    length = operand.depth if operand.deep == last else operand.size
    rows = FragmentRows(length, operand.array.dtype.size, operand.own == last)
    by = operand.own if operand.deep == last else operand.deep
    ways = (rows.last(last, by, threads), rows.padded(last))
    return tuple((*map(Dimension, others), way) for way in ways)


def _padding(operand: _Operand, threads: int) -> int:
    """Return the padding of rows with the fewest bank conflicts when copies are stored."""
    size, wide = operand.array.dtype.size, operand.wide
    own = 1 if operand.is_whole else wide
    count = max(1, operand.depth // own)

    def conflicts(pad: int) -> int:
        def place(thread: int) -> int:
            return size * (thread % count * own * (operand.size + pad) + thread // count)

        return of_warps(place, size, threads)

    return min((wide * n for n in range(PADS)), key=lambda pad: (conflicts(pad), pad))


def _distributed(
    schedule: Schedule, label: str, operand: _Operand | None, is_transposed: bool
) -> Schedule | None:
    """Return `schedule` with a copy distributed to threads, some neighbours for each.

    Neighbours that lie apart in the copy go to neighbouring threads instead.
    """
    count = len(find_band(schedule.tree, label).members)
    is_apart = operand is not None and is_transposed and operand.is_whole
    if operand is not None and _is_wide(operand) and not is_apart:
        loops = tuple(f"{label}[{n}]" for n in range(count))
        found = schedule.attempt(Strip(loops[-1], operand.wide), Threads(loops))
        if found is not None:
            return found
    return schedule.attempt(Threads((label,)))


def _is_wide(operand: _Operand) -> bool:
    """Tell whether vectors can be copied."""
    last = len(operand.array.shape) - 1
    extent = operand.depth if operand.deep == last else operand.size
    is_last = last in (operand.own, operand.deep)
    in_rows = operand.array.layout in (Layout.C, Layout.ROWS)
    return is_last and in_rows and operand.wide > 1 and extent % operand.wide == 0
