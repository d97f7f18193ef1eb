"""CUDA devices: one device's primary context, which other libraries share, and a stream of it.

In: CUDA text, arrays, launches; a driver's functions as one package or another calls them.
Out: `CudaProvider`.
Refuses: what `check_launch` refuses; drivers refuse memory (PO0707) and what is wrong (PO0519).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from polyopt.runtime.device.compile import CudaCompiler, compile_cuda
from polyopt.runtime.device.driver import CudaDevice
from polyopt.runtime.device.provider import (
    AnyArray,
    Buffer,
    Extent3,
    Home,
    KernelArgument,
    Limits,
    Log,
    Module,
    check_fits,
    check_launch,
    no_log,
)
from polyopt.runtime.store import Store

_DEFAULT = (0, 1)
"""Numbers of the default stream; streams of drivers are in order with it anyway."""


class Driver(Protocol):
    """The driver's functions for one device and one stream, in its context."""

    @property
    def package(self) -> str:
        """The package that calls the driver."""

    @property
    def stream(self) -> int:
        """The stream's handle."""

    @property
    def follows_default(self) -> bool:
        """Whether the stream and the default one wait for each other."""

    def load(self, image: bytes, entries: Sequence[str]) -> tuple[Mapping[str, Any], object]:
        """Return functions by name, and what keeps them."""

    def alloc(self, nbytes: int) -> int:
        """Return the address of new memory."""

    def free(self, address: int) -> None:
        """Give it back in the stream's order."""

    def copy_in(self, address: int, source: AnyArray) -> None:
        """Copy to the device; `source` may change afterwards."""

    def copy_out(self, target: AnyArray, address: int) -> None:
        """Copy from the device, complete on return."""

    def fill(self, address: int, byte: int, nbytes: int) -> None:
        """Set bytes."""

    def allow_shared(self, function: Any, nbytes: int) -> None:  # noqa: ANN401
        """Let launches of a function have so much dynamic shared memory."""

    def launch(
        self,
        entry: str,
        function: Any,  # noqa: ANN401
        grid: Extent3,
        block: Extent3,
        args: Sequence[KernelArgument],
        shared: int,
    ) -> None:
        """Start a kernel."""

    def synchronize(self) -> None:
        """Wait for the stream."""

    def mark(self) -> object:
        """Record an event."""

    def seconds(self, start: Any, end: Any) -> float:  # noqa: ANN401
        """Return the time between two events."""

    def order(self, first: int, then: int) -> None:
        """Have stream `then` wait, on the device, for what `first` was asked for."""


class CudaProvider:
    """A CUDA device: compiles, checks, and leaves the rest to its driver."""

    def __init__(
        self, driver: Driver, device: CudaDevice, compiler: CudaCompiler, store: Store | None = None
    ) -> None:
        self._driver, self._home = driver, Home()
        self._device, self._compiler, self._store = device, compiler, store

    @property
    def name(self) -> str:
        """The device and what drives it."""
        return f"{self._device.name} ({self._device.limits.arch}, {self._driver.package})"

    @property
    def limits(self) -> Limits:
        """What a launch may ask for."""
        return self._device.limits

    @property
    def stream(self) -> int:
        """The stream's handle, for other libraries."""
        return self._driver.stream

    def compile(
        self, text: str, entries: Sequence[str], flags: tuple[str, ...] = (), log: Log = no_log
    ) -> Module:
        """Compile for the device's own architecture and load."""
        arch = self.limits.arch
        cubin = compile_cuda(self._compiler, text, arch, flags, store=self._store, log=log)
        functions, keep = self._driver.load(cubin.image, entries)
        return Module(functions, cubin.resources, (keep, cubin.image))

    def alloc(self, nbytes: int) -> Buffer:
        """Give memory."""
        return Buffer(self._driver.alloc(nbytes) if nbytes else 0, nbytes)

    def free(self, buffer: Buffer) -> None:
        """Give the memory back."""
        if buffer.owner is None and buffer.handle and not self._home.is_left:
            self._driver.free(buffer.handle)

    def upload(self, buffer: Buffer, array: AnyArray) -> None:
        """Copy to the device."""
        check_fits(buffer, array)
        if array.nbytes:
            self._driver.copy_in(buffer.handle, np.ascontiguousarray(array))

    def download(self, buffer: Buffer, array: AnyArray) -> None:
        """Copy from the device."""
        check_fits(buffer, array)
        if array.nbytes == 0:
            self.synchronize()
            return
        target = array if array.flags.c_contiguous else np.empty(array.shape, array.dtype)
        self._driver.copy_out(target, buffer.handle)
        if target is not array:
            array[...] = target

    def fill(self, buffer: Buffer, byte: int) -> None:
        """Set every byte."""
        if buffer.nbytes:
            self._driver.fill(buffer.handle, byte, buffer.nbytes)

    def launch(
        self,
        module: Module,
        entry: str,
        grid: Extent3,
        block: Extent3,
        args: Sequence[KernelArgument],
        shared: int = 0,
    ) -> None:
        """Start a kernel with `shared` bytes of dynamic shared memory."""
        known = module.resources.get(entry)
        static = (known.shared or 0) if known is not None else 0
        if not check_launch(self.limits, entry, grid, block, shared, static):
            return
        function = module.functions[entry]
        if shared + static > self.limits.shared_bytes:
            self._driver.allow_shared(function, shared)
        self._driver.launch(entry, function, grid, block, args, shared)

    def synchronize(self) -> None:
        """Wait for the stream."""
        self._driver.synchronize()

    def mark(self) -> object:
        """Record an event."""
        return self._driver.mark()

    def seconds(self, start: Any, end: Any) -> float:  # noqa: ANN401 - events
        """Return the time between two events."""
        return self._driver.seconds(start, end)

    def wait_for(self, stream: int) -> None:
        """Wait for another stream, on the device."""
        if self._is_apart(stream):
            self._driver.order(stream, self.stream)

    def lead(self, stream: int) -> None:
        """Let another stream wait for this one, on the device."""
        if self._is_apart(stream):
            self._driver.order(self.stream, stream)

    def _is_apart(self, stream: int) -> bool:
        """Tell whether nothing keeps a stream and this one in order."""
        return stream != self.stream and not (self._driver.follows_default and stream in _DEFAULT)
