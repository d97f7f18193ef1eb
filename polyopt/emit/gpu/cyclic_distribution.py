"""Distribute the iterations of a box cyclically over the threads of a block.

In: extents and a number of threads.  Out: each coordinate as text.
Iterations are linearized in row-major order; thread `t` runs those congruent to `t` modulo
`threads`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from polyopt.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class CyclicDistribution:
    """The cyclic distribution of a box of `extents` over `threads` threads.

    `t % columns` determines the dimensions `inner`, the row `t / columns` the dimensions `outer`.
    A thread has every `passes`-th row; other dimensions have length 1.
    """

    extents: tuple[int, ...]
    threads: int
    outer: tuple[int, ...]
    inner: tuple[int, ...]

    @property
    def columns(self) -> int:
        """Threads that share a row."""
        return prod(self.extents[d] for d in self.inner)

    @property
    def rows(self) -> int:
        """Rows of the box."""
        return prod(self.extents[d] for d in self.outer)

    @property
    def passes(self) -> int:
        """Rows that the threads run at once."""
        return self.threads // self.columns

    @property
    def is_strided(self) -> bool:
        """Whether a thread may have several iterations."""
        return self.rows > self.passes

    @property
    def has_idle(self) -> bool:
        """Whether there are threads without an iteration."""
        return self.rows < self.passes

    def column(self, dim: int, thread: str) -> str:
        """Return the coordinate in an inner dimension."""
        below = prod(self.extents[d] for d in self.inner if d > dim)
        text = thread if below == 1 else f"{thread} / {below}"
        is_first = dim == self.inner[0] and self.columns == self.threads
        return text if is_first else f"{text} % {self.extents[dim]}"

    def row(self, thread: str) -> str:
        """Return the number of the first row."""
        return thread if self.columns == 1 else f"{thread} / {self.columns}"

    def row_part(self, dim: int, row: str) -> str:
        """Return the coordinate in an outer dimension of row number `row`."""
        below = prod(self.extents[d] for d in self.outer if d > dim)
        text = row if below == 1 else f"{row} / {below}"
        return text if dim == self.outer[0] else f"{text} % {self.extents[dim]}"


def distribute_cyclically(extents: Sequence[int], threads: int) -> CyclicDistribution:
    """Return the distribution of a box: columns are as many dimensions as divide the threads.

    >>> distribute_cyclically((32, 32), 256).inner, distribute_cyclically((20, 20), 256).inner
    ((1,), ())
    """
    long = [d for d, extent in enumerate(extents) if extent != 1]
    inner: list[int] = []
    columns = 1
    for dim in reversed(long[1:]):
        columns *= extents[dim]
        if columns == 0 or threads % columns != 0:
            break
        inner.insert(0, dim)
    outer = tuple(d for d in long if d not in inner)
    return CyclicDistribution(tuple(extents), threads, outer, tuple(inner))
