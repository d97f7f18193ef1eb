"""Choose the layout of copies for matrix instructions in shared memory: padded or swizzled rows.

In: the rows of a copy, the number of threads that fill them.  Out: their last dimension, with the
fewest bank conflicts of warps that read fragments, then of threads that copy, then the fewest
bytes.  Rows stay aligned for vector accesses.
Swizzled rows are those of CUTLASS (Thakkar et al., 2023).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

from polyopt.dataclass import dataclass
from polyopt.ir.array import Turn
from polyopt.ir.banks import LANES, WORD, of_warps
from polyopt.strategy.gpu.tiles import WIDE
from polyopt.transforms import Dimension
from polyopt.transforms.layout import Part

_MATRIX = 8
"""Rows that an instruction loads at once, of 16 bytes each."""
_ACROSS = 4
"""Lanes of a warp along the terms of a fragment."""
_PADS = (0, 1, 2)
"""Padding that is tried, in what a thread copies at once."""
_GROUPS, _ROWS, _COUNTS = (1, 2), (1, 2, 4), (2, 4, 8)
"""Turns that are tried: groups in what a thread copies at once, rows that are alike, groups."""


@dataclass(frozen=True, slots=True)
class FragmentRows:
    """The layout of a copy: rows of `length` elements of `size` bytes.

    `are_terms`: rows are the terms of the products, not their results.
    """

    length: int
    size: int
    are_terms: bool

    def last(self, dimension: int, by: int, threads: int) -> Dimension:
        """Return the last dimension; `by` is the dimension of the rows."""
        choices = [*self._padded(dimension)]
        if self.size < WORD:  # lanes that read alone would each need more addresses in registers
            choices += self._turned(dimension, by)
        return min(
            choices, key=lambda one: (*self.conflicts(one, threads), one.part is Part.SWIZZLED)
        )

    def padded(self, dimension: int) -> Dimension:
        """Return the last dimension without swizzles: rows of 8 begin in 8 different banks."""
        return Dimension(dimension, Part.PADDED, WIDE // self.size)

    def conflicts(self, last: Dimension, threads: int) -> tuple[int, int, int]:
        """Return the serialized accesses of reading and of copying, and the bytes of a row."""
        wide = WIDE // self.size
        in_row = max(1, self.length // wide)
        row = self.length + (last.size if last.part is Part.PADDED else 0)

        def bytes_of(element: Callable[[int], tuple[int, int]]) -> Callable[[int], int]:
            def place(thread: int) -> int:
                r, c = element(thread)
                return self.size * (r * row + _column(r, c, last))

            return place

        def copied(thread: int) -> tuple[int, int]:
            return thread // in_row, thread % in_row * wide

        reading = of_warps(bytes_of(self._read), WIDE if self.size < WORD else WORD, LANES)
        return reading, of_warps(bytes_of(copied), WIDE, threads), row * self.size

    def _read(self, lane: int) -> tuple[int, int]:
        """Return the row and column that a lane of a warp reads first."""
        if self.size < WORD:
            return lane % _MATRIX, 0
        along, term = lane // _ACROSS, lane % _ACROSS
        return (term, along) if self.are_terms else (along, term)

    def _padded(self, dimension: int) -> Iterator[Dimension]:
        yield Dimension(dimension)
        for pad in _PADS[1:]:
            yield Dimension(dimension, Part.PADDED, pad * WIDE // self.size)

    def _turned(self, dimension: int, by: int) -> Iterator[Dimension]:
        for group, rows, count in product(_GROUPS, _ROWS, _COUNTS):
            group *= WIDE // self.size
            if self.length % (group * count) == 0:
                yield Dimension(dimension, Part.SWIZZLED, group, by, rows, count)


def _column(row: int, column: int, last: Dimension) -> int:
    if last.part is not Part.SWIZZLED:
        return column
    return Turn(last.size, 1, last.rows, last.count).place(row, column)
