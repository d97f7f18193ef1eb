"""CUDA devices, by pycuda.

In: CUDA text, arrays, launches.  Out: `PycudaProvider`.
Refuses: no package (PO0512), no memory (PO0707), what the driver refuses (PO0519).
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from polyopt.runtime.device.compile import CudaCompiler, compile_cuda
from polyopt.runtime.device.driver import CudaDevice
from polyopt.runtime.device.faults import device_failed, no_package, out_of_memory
from polyopt.runtime.device.provider import (
    AnyArray,
    Buffer,
    Extent3,
    Home,
    KernelArgument,
    Limits,
    Log,
    Module,
    as_argument,
    check_fits,
    check_launch,
    no_log,
)
from polyopt.runtime.store import Store


def load() -> Any:  # noqa: ANN401 - pycuda has no types
    """Return pycuda's driver module."""
    try:
        return importlib.import_module("pycuda.driver")
    except (ImportError, OSError) as error:
        raise no_package(f"pycuda does not load ({error})", "pycuda") from None


class PycudaProvider:
    """One device's primary context, which other libraries share, and a stream of it."""

    def __init__(
        self, device: CudaDevice, compiler: CudaCompiler, store: Store | None = None
    ) -> None:
        self._driver, self._home = load(), Home()
        self._device, self._compiler, self._store = device, compiler, store
        self._live: dict[int, Any] = {}  # pycuda frees memory that nobody holds
        with self._errors("start"):
            self._driver.init()
            self._context = self._driver.Device(device.number).retain_primary_context()
        with self._inside("start"):
            self._stream = self._driver.Stream()

    @property
    def name(self) -> str:
        """The device and what drives it."""
        return f"{self._device.name} ({self._device.limits.arch}, pycuda)"

    @property
    def limits(self) -> Limits:
        """What a launch may ask for."""
        return self._device.limits

    @property
    def stream(self) -> int:
        """The stream's handle, for other libraries."""
        return int(self._stream.handle)

    def compile(
        self, text: str, entries: Sequence[str], flags: tuple[str, ...] = (), log: Log = no_log
    ) -> Module:
        """Compile for the device's own architecture and load."""
        arch = self.limits.arch
        cubin = compile_cuda(self._compiler, text, arch, flags, store=self._store, log=log)
        with self._inside("loading kernels"):
            module = self._driver.module_from_buffer(cubin.image)
            functions = {entry: module.get_function(entry) for entry in entries}
        return Module(functions, cubin.resources, module)

    def alloc(self, nbytes: int) -> Buffer:
        """Give memory."""
        if nbytes == 0:
            return Buffer(0, 0)
        with self._inside("memory", nbytes):
            memory = self._driver.mem_alloc(nbytes)
        self._live[int(memory)] = memory
        return Buffer(int(memory), nbytes)

    def free(self, buffer: Buffer) -> None:
        """Give the memory back."""
        if buffer.owner is None and buffer.nbytes and not self._home.is_left:
            with self._inside("free"):
                self._live.pop(buffer.handle).free()

    def upload(self, buffer: Buffer, array: AnyArray) -> None:
        """Copy to the device."""
        check_fits(buffer, array)
        source = np.ascontiguousarray(array)
        if source.nbytes:
            with self._inside("a copy"):
                self._driver.memcpy_htod_async(buffer.handle, source, self._stream)
                self._stream.synchronize()

    def download(self, buffer: Buffer, array: AnyArray) -> None:
        """Copy from the device."""
        check_fits(buffer, array)
        target = array if array.flags.c_contiguous else np.empty(array.shape, array.dtype)
        with self._inside("a copy"):
            if target.nbytes:
                self._driver.memcpy_dtoh_async(target, buffer.handle, self._stream)
            self._stream.synchronize()
        if target is not array:
            array[...] = target

    def fill(self, buffer: Buffer, byte: int) -> None:
        """Set every byte."""
        if buffer.nbytes:
            with self._inside("fill"):
                self._driver.memset_d8_async(buffer.handle, byte, buffer.nbytes, self._stream)

    def launch(
        self,
        module: Module,
        entry: str,
        grid: Extent3,
        block: Extent3,
        args: Sequence[KernelArgument],
        shared: int = 0,
    ) -> None:
        """Run a kernel with `shared` bytes of dynamic shared memory."""
        known = module.resources.get(entry)
        static = (known.shared or 0) if known is not None else 0
        if not check_launch(self.limits, entry, grid, block, shared, static):
            return
        function = module.functions[entry]
        values = [_value(argument) for argument in args]
        with self._inside(f"kernel `{entry}`"):
            if shared + static > self.limits.shared_bytes:
                most = self._driver.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
                function.set_attribute(most, shared)
            function(*values, grid=grid, block=block, shared=shared, stream=self._stream)

    def synchronize(self) -> None:
        """Wait for the stream."""
        with self._inside("kernels"):
            self._stream.synchronize()

    def mark(self) -> object:
        """Record an event."""
        with self._inside("timing"):
            return self._driver.Event().record(self._stream)

    def seconds(self, start: Any, end: Any) -> float:  # noqa: ANN401 - events
        """Return the time between two events."""
        with self._inside("kernels"):
            end.synchronize()
            return float(start.time_till(end)) / 1000

    def wait_for(self, stream: int) -> None:
        """Wait for all streams: pycuda has no others than its own."""
        del stream
        with self._inside("streams"):
            self._driver.Context.synchronize()

    def lead(self, stream: int) -> None:
        """Wait for the stream."""
        del stream
        self.synchronize()

    @contextlib.contextmanager
    def _inside(self, doing: str, nbytes: int = 0) -> Iterator[None]:
        """Have the context current in the block, and none of it afterwards."""
        self._home.check(self._device.name)
        with self._errors(doing, nbytes):
            self._context.push()
            try:
                yield
            finally:
                self._context.pop()

    @contextlib.contextmanager
    def _errors(self, doing: str, nbytes: int = 0) -> Iterator[None]:
        try:
            yield
        except self._driver.MemoryError:
            raise out_of_memory(self._device.name, nbytes) from None
        except self._driver.Error as error:
            raise device_failed(self._device.name, doing, str(error)) from None


def _value(argument: KernelArgument) -> object:
    """Return an argument as pycuda takes it: an address as a number of its size."""
    if isinstance(argument, Buffer):
        return np.uintp(int(argument.handle))
    return as_argument(argument)
