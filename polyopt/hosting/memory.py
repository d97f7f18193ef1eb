"""Arrays in a device's memory, for the time of a call.

In: a provider, arrays.  Out: `Mirror`s, which the host's loops read single elements of.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import prod

import numpy as np

from polyopt.ir.array import Array, Role
from polyopt.ir.types import DType
from polyopt.runtime.device.provider import AnyArray, Buffer, Provider


@dataclass(slots=True, eq=False)
class Mirror:
    """An array in a device's memory, in C order.

    `known` is a copy on the host; it is dropped when a kernel may have written the array.
    """

    provider: Provider
    buffer: Buffer
    dtype: DType
    shape: tuple[int, ...]
    known: AnyArray | None = None

    @property
    def strides(self) -> tuple[int, ...]:
        """Strides in elements."""
        return tuple(prod(self.shape[d + 1 :]) for d in range(len(self.shape)))

    def put(self, array: AnyArray) -> None:
        """Copy `array` to the device."""
        self.known = None
        if array.size:
            self.provider.upload(self.buffer, np.ascontiguousarray(array))

    def get(self, into: AnyArray | None = None) -> AnyArray:
        """Return all elements, in `into` if it is given."""
        if into is None:
            into = np.empty(self.shape, self.dtype.numpy)
        if into.flags.c_contiguous:
            if into.size:
                self.provider.download(self.buffer, into)
            return into
        into[...] = self.get()
        return into

    def __getitem__(self, index: tuple[int, ...]) -> np.generic:
        return self.host()[index]  # type: ignore[no-any-return]  # a scalar: all subscripts given

    def __array__(self, dtype: object = None, copy: bool | None = None) -> AnyArray:
        return self.host()

    def host(self) -> AnyArray:
        """Return the elements as they are now; not to be written."""
        if self.known is None:
            self.known = self.get()
        return self.known


@dataclass(slots=True, eq=False)
class Memory:
    """What a call keeps on a device; `mirrors` by the name of their array."""

    provider: Provider
    mirrors: dict[str, Mirror] = field(default_factory=dict)

    def make(self, array: Array, shape: Sequence[int]) -> Mirror:
        """Return memory for an array, undefined but for faults: none is noted."""
        self.give_back(array.name)
        extents = tuple(max(0, extent) for extent in shape)
        buffer = self.provider.alloc(prod(extents) * array.dtype.size)
        mirror = Mirror(self.provider, buffer, array.dtype, extents)
        self.mirrors[array.name] = mirror
        if array.role is Role.FAULT:
            self.provider.fill(buffer, 0)
        return mirror

    def give_back(self, name: str) -> None:
        """Give the memory of the array with that name back, if there is any."""
        mirror = self.mirrors.pop(name, None)
        if mirror is not None:
            self.provider.free(mirror.buffer)

    @contextmanager
    def call(self) -> Iterator[None]:
        """Give all memory back at the end of the block."""
        try:
            yield
        finally:
            for name in list(self.mirrors):
                self.give_back(name)
