"""Arrays in a device's memory, for the time of a call.

In: a provider, arrays.  Out: `Mirror`s, which the host's loops read single elements of.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import prod

import numpy as np

from polyopt.dataclass import dataclass, field, replace
from polyopt.errors import ArgumentError
from polyopt.ir.array import Array, Role
from polyopt.ir.types import DType
from polyopt.runtime.device.arrays import DeviceArray, dense_strides
from polyopt.runtime.device.provider import AnyArray, Buffer, Provider
from polyopt.runtime.sharing import address


@dataclass(slots=True, eq=False)
class Mirror:
    """An array in a device's memory; `strides` are in elements.

    `known` is a copy on the host; it is dropped when a kernel may have written the array.
    `is_given` tells memory of the caller's.
    """

    provider: Provider
    buffer: Buffer
    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    is_given: bool = False
    known: AnyArray | None = None

    def put(self, array: AnyArray) -> None:
        """Copy `array` to the device."""
        self.known = None
        if array.size:
            self.provider.upload(self.buffer, np.ascontiguousarray(array))

    def get(self, into: AnyArray) -> None:
        """Copy the elements, which lie in C order, into an array of the host."""
        if not into.flags.c_contiguous:
            into[...] = self.host()
        elif into.size:
            self.provider.download(self.buffer, into)

    def __getitem__(self, index: tuple[int, ...]) -> np.generic:
        return self.host()[index]  # type: ignore[no-any-return]  # a scalar: all subscripts given

    def __array__(self, dtype: object = None, copy: bool | None = None) -> AnyArray:
        return self.host()

    def host(self) -> AnyArray:
        """Return the elements as they are now; not to be written."""
        if self.known is None:
            self.known = self._fetched()
        return self.known

    def _fetched(self) -> AnyArray:
        """Return a copy of the memory, gaps between the elements included."""
        if 0 in self.shape:
            return np.empty(self.shape, self.dtype.numpy)
        reach = sum(s * (n - 1) for s, n in zip(self.strides, self.shape, strict=True)) + 1
        if any(stride < 0 for stride in self.strides):
            raise ArgumentError(
                "PO0216",
                "the host needs elements of an array on the device that runs backwards",
                hint="pass a copy with rows in order",
            )
        memory = np.empty(reach, self.dtype.numpy)
        self.provider.download(replace(self.buffer, nbytes=memory.nbytes), memory)
        steps = tuple(stride * memory.itemsize for stride in self.strides)
        array: AnyArray = np.lib.stride_tricks.as_strided(memory, self.shape, steps)
        return array


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
        dense = tuple(s // array.dtype.size for s in dense_strides(extents, array.dtype))
        mirror = Mirror(self.provider, buffer, array.dtype, extents, dense)
        self.mirrors[array.name] = mirror
        if array.role is Role.FAULT:
            self.provider.fill(buffer, 0)
        return mirror

    def take(self, array: Array, given: DeviceArray, view: AnyArray) -> Mirror:
        """Return an argument that is on the device; `view` says where it begins."""
        size = array.dtype.size
        buffer = given.buffer
        if address(view) != given.pointer and given.kept is None:
            buffer = Buffer(address(view), view.nbytes, given)
        strides = tuple(stride // size for stride in view.strides)
        mirror = Mirror(self.provider, buffer, array.dtype, view.shape, strides, is_given=True)
        self.mirrors[array.name] = mirror
        return mirror

    def keep(self, name: str) -> Mirror:
        """Return the array with that name, whose memory is not given back."""
        return self.mirrors.pop(name)

    def give_back(self, name: str) -> None:
        """Give the memory of the array with that name back, if there is any of its own."""
        mirror = self.mirrors.pop(name, None)
        if mirror is not None and not mirror.is_given:
            self.provider.free(mirror.buffer)

    @contextmanager
    def call(self) -> Iterator[None]:
        """Give all memory back at the end of the block."""
        try:
            yield
        finally:
            for name in list(self.mirrors):
                self.give_back(name)
