"""Memory of large results that nobody uses any more, kept for the next calls.

In: a shape and a dtype.  Out: an uninitialized array.
The system hands out zeroed pages, and takes longer for it than a kernel may take to fill them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Any

import numpy as np

from polyopt.runtime.values import AnyArray

LEAST = 1 << 18  # bytes; less than that comes from pages that the process has
MOST = 1 << 27  # bytes kept at any time
PAGE = 4096

_Memory = np.ndarray[Any, np.dtype[np.uint8]]


class _Lease:
    """The base of one array: when nothing sees the array any more, its memory is given back."""

    def __init__(
        self,
        memory: _Memory,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        give_back: Callable[[_Memory], None],
    ) -> None:
        self._memory = memory
        self._give_back = give_back
        data = memory.__array_interface__["data"]
        known = {"version": 3, "shape": shape, "typestr": dtype.str, "data": data}
        self.__array_interface__ = known

    def __del__(self) -> None:
        self._give_back(self._memory)


class Spares:
    """Blocks of memory by their size, the longest unused one first to go."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._kept = 0
        self._blocks: OrderedDict[int, tuple[_Memory, ...]] = OrderedDict()
        self._lock = Lock()

    @property
    def kept(self) -> int:
        """Return how many bytes wait for their next use."""
        return self._kept

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> AnyArray:
        """Return an array as `np.empty` does."""
        size = dtype.itemsize
        for extent in shape:
            size *= extent
        if not LEAST <= size <= self._most or dtype.hasobject or dtype.names is not None:
            return np.empty(shape, dtype)
        memory = self._take(size)
        if memory is None:
            memory = _aligned(size)
        return np.asarray(_Lease(memory, shape, dtype, self._give))

    def _take(self, size: int) -> _Memory | None:
        if not self._lock.acquire(blocking=False):
            return None  # another thread is here, or was when the process forked
        try:
            blocks = self._blocks.pop(size, ())
            if not blocks:
                return None
            *rest, memory = blocks
            if rest:
                self._blocks[size] = tuple(rest)
            self._kept -= size
            return memory
        finally:
            self._lock.release()

    def _give(self, memory: _Memory) -> None:
        if not self._lock.acquire(blocking=False):
            return  # as above, or a garbage collection inside of this very class
        try:
            size = memory.nbytes
            self._blocks[size] = (*self._blocks.pop(size, ()), memory)
            self._kept += size
            while self._kept > self._most:
                oldest, blocks = self._blocks.popitem(last=False)
                self._kept -= oldest
                if len(blocks) > 1:
                    self._blocks[oldest] = blocks[1:]
                    self._blocks.move_to_end(oldest, last=False)
        finally:
            self._lock.release()


def _aligned(size: int) -> _Memory:
    """Return memory that begins with a page, as whole registers are written to.

    A load waits for a store before it to the same place in another page.  NumPy's large arrays
    begin a few bytes behind the beginning of a page: were results further behind it, the loads of
    an elementwise loop would wait for the stores of its iterations just before.
    """
    memory = np.empty(size + PAGE, np.uint8)
    start = -memory.ctypes.data % PAGE
    return memory[start : start + size]


SPARES = Spares()
