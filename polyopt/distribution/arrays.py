"""Arrays of which each rank has its block.

In: an array that every rank has, or a function of global indices.  Out: `DistributedArray`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from polyopt.distribution.mesh import block
from polyopt.distribution.transport import TIME_LIMIT, Transport, world
from polyopt.errors import UsageError

AnyArray: TypeAlias = "np.ndarray[Any, Any]"


class DistributedArray:
    """An array cut along `axis` over the ranks of a job; `local` is this rank's block.

    `start` is the index along `axis` that the block begins with, `shape` that of the whole array.
    A kernel that needs elements of others around the block moves it, and `local` is another view.
    """

    def __init__(
        self, local: AnyArray, shape: tuple[int, ...], axis: int, transport: Transport
    ) -> None:
        self.local, self.shape, self.axis, self.transport = local, shape, axis, transport
        self._memory: AnyArray | None = None
        self._box: tuple[slice, ...] = ()

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of its elements."""
        found: np.dtype[Any] = self.local.dtype
        return found

    @property
    def start(self) -> int:
        """The first index of this rank's block."""
        return block(self.shape[self.axis], self.transport.size, self.transport.rank)[0]

    def within(self, shape: tuple[int, ...], box: tuple[slice, ...]) -> AnyArray:
        """Return memory of that shape whose part `box` is the block; it is moved there once."""
        if self._memory is None or self._memory.shape != shape or self._box != box:
            self._memory, self._box = np.empty(shape, self.dtype), box
            self._memory[box] = self.local
            self.local = self._memory[box]
        return self._memory

    def gather(self) -> AnyArray:
        """Return the whole array, on every rank; all ranks call it together."""
        blocks = [
            block(self.shape[self.axis], self.transport.size, rank)
            for rank in range(self.transport.size)
        ]
        row = self.local.size // max(1, self.local.shape[self.axis]) * self.dtype.itemsize
        if self.local.shape[self.axis] == 0:
            others = [n for d, n in enumerate(self.shape) if d != self.axis]
            row = int(np.prod(others, dtype=np.int64)) * self.dtype.itemsize
        mine = np.ascontiguousarray(self.local).reshape(-1).view(np.uint8)
        parts = self.transport.gather_all(mine, [(high - low) * row for low, high in blocks])
        found = np.empty(self.shape, self.dtype)
        for (low, high), part in zip(blocks, parts, strict=True):
            index = (slice(None),) * self.axis + (slice(low, high),)
            found[index] = part.view(self.dtype).reshape(found[index].shape)
        return found

    def save(self, path: str) -> str:
        """Write this block to a .npy file named after `path` and the rank; return its name."""
        name = f"{path}.{self.transport.rank}-of-{self.transport.size}.npy"
        np.save(name, self.local)
        return name

    def __repr__(self) -> str:
        extents = ", ".join(map(str, self.shape))
        rank, size = self.transport.rank, self.transport.size
        return (
            f"<DistributedArray {self.dtype}[{extents}] cut along axis {self.axis}, "
            f"rank {rank} of {size}>"
        )


def distribute(
    array: AnyArray | Callable[..., AnyArray],
    axis: int = 0,
    *,
    shape: tuple[int, ...] | None = None,
    transport: Transport | None = None,
) -> DistributedArray:
    """Return an array of which each rank keeps a block along `axis`.

    `array` is the whole array, the same on each rank; or, with `shape`, a function that gets this
    rank's indices in each dimension, as arrays that broadcast, and returns its block.  Raises
    `UsageError` PO0853 for an axis that the array does not have.
    """
    ranks = world(TIME_LIMIT) if transport is None else transport
    extents = np.shape(array) if shape is None else shape  # type: ignore[arg-type]
    if not -len(extents) <= axis < len(extents):
        raise UsageError(
            "PO0853",
            f"an array of {len(extents)} dimensions has no axis {axis}",
            hint=f"the first axis is 0, the last one {len(extents) - 1}",
        )
    axis %= len(extents)
    low, high = block(extents[axis], ranks.size, ranks.rank)
    index = (slice(None),) * axis + (slice(low, high),)
    if shape is None:
        local = np.array(np.asarray(array)[index], order="C")
    else:
        assert callable(array)
        ranges = [np.arange(low, high) if d == axis else np.arange(n) for d, n in enumerate(shape)]
        local = np.ascontiguousarray(array(*np.ix_(*ranges)))
    return DistributedArray(local, tuple(extents), axis, ranks)
