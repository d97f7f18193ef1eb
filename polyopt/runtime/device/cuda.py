"""CUDA devices, by cuda-bindings and the driver's own functions.

In: CUDA text, arrays, launches.  Out: `CudaProvider`.
Refuses: no package (PO0512), no memory (PO0707), what the driver refuses (PO0519).
"""

from __future__ import annotations

import ctypes
import importlib
import sys
from collections.abc import Sequence
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

_WITH_DEFAULT = 0  # in order with the default stream, which other libraries work in
_CELL = 16  # bytes of the largest number
_NO_TIME = 2  # `CU_EVENT_DISABLE_TIMING`


def load() -> Any:  # noqa: ANN401 - the bindings have no types where they are not installed
    """Return the driver's functions."""
    try:
        return importlib.import_module("cuda.bindings.driver")
    except (ImportError, OSError) as error:
        raise no_package(f"cuda-bindings does not load ({error})", "cuda") from None


class CudaProvider:
    """One device's primary context, which other libraries share, and a stream of it.

    `stream` is another library's stream to work in, as a number; None makes one.
    """

    def __init__(
        self,
        device: CudaDevice,
        compiler: CudaCompiler,
        store: Store | None = None,
        stream: int | None = None,
    ) -> None:
        self._driver, self._home = load(), Home()
        self._device, self._compiler, self._store = device, compiler, store
        self._ask("start", "cuInit", 0)
        handle = self._ask("start", "cuDeviceGet", device.number)
        self._context = self._ask("start", "cuDevicePrimaryCtxRetain", handle)
        self._enter()
        if stream is None:
            self._stream = self._ask("start", "cuStreamCreate", _WITH_DEFAULT)
        else:
            self._stream = self._driver.CUstream(stream)

    @property
    def name(self) -> str:
        """The device and what drives it."""
        return f"{self._device.name} ({self._device.limits.arch}, cuda-bindings)"

    @property
    def limits(self) -> Limits:
        """What a launch may ask for."""
        return self._device.limits

    @property
    def stream(self) -> int:
        """The stream's handle, for other libraries."""
        return int(self._stream)

    def compile(
        self, text: str, entries: Sequence[str], flags: tuple[str, ...] = (), log: Log = no_log
    ) -> Module:
        """Compile for the device's own architecture and load."""
        arch = self.limits.arch
        cubin = compile_cuda(self._compiler, text, arch, flags, store=self._store, log=log)
        self._enter()
        module = self._ask("loading kernels", "cuModuleLoadData", cubin.image)
        functions = {
            entry: self._ask(f"kernel `{entry}`", "cuModuleGetFunction", module, entry.encode())
            for entry in entries
        }
        return Module(functions, cubin.resources, (module, cubin.image))

    def alloc(self, nbytes: int) -> Buffer:
        """Give memory, from the device's pool where it has one."""
        if nbytes == 0:
            return Buffer(0, 0)
        self._enter()
        if self._device.has_pools:
            handle = self._ask(nbytes, "cuMemAllocAsync", nbytes, self._stream)
        else:
            handle = self._ask(nbytes, "cuMemAlloc", nbytes)
        return Buffer(int(handle), nbytes)

    def free(self, buffer: Buffer) -> None:
        """Give the memory back."""
        if buffer.owner is not None or not buffer.handle or self._home.is_left:
            return
        self._enter()
        if self._device.has_pools:
            self._ask("free", "cuMemFreeAsync", buffer.handle, self._stream)
        else:
            self._ask("free", "cuMemFree", buffer.handle)

    def upload(self, buffer: Buffer, array: AnyArray) -> None:
        """Copy to the device."""
        check_fits(buffer, array)
        source = np.ascontiguousarray(array)
        if source.nbytes:
            self._enter()
            where = (buffer.handle, source.ctypes.data, source.nbytes, self._stream)
            self._ask("a copy", "cuMemcpyHtoDAsync", *where)
            self.synchronize()

    def download(self, buffer: Buffer, array: AnyArray) -> None:
        """Copy from the device."""
        check_fits(buffer, array)
        target = array if array.flags.c_contiguous else np.empty(array.shape, array.dtype)
        if target.nbytes:
            self._enter()
            where = (target.ctypes.data, buffer.handle, target.nbytes, self._stream)
            self._ask("a copy", "cuMemcpyDtoHAsync", *where)
        self.synchronize()
        if target is not array:
            array[...] = target

    def fill(self, buffer: Buffer, byte: int) -> None:
        """Set every byte."""
        if buffer.nbytes:
            self._enter()
            self._ask(
                "fill", "cuMemsetD8Async", buffer.handle, byte, buffer.nbytes, self._stream
            )  # fmt: skip

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
        self._enter()
        function = module.functions[entry]
        if shared + static > self.limits.shared_bytes:
            most = self._driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            self._ask("shared memory", "cuFuncSetAttribute", function, most, shared)
        values = ctypes.create_string_buffer(b"".join(map(_cell, args)), _CELL * len(args) or 1)
        first = ctypes.addressof(values)
        places = range(first, first + _CELL * len(args), _CELL)
        pointers = (ctypes.c_uint64 * max(1, len(args)))(*places)
        where = ctypes.addressof(pointers)
        self._ask(
            f"kernel `{entry}`", "cuLaunchKernel", function, *grid, *block, shared, self._stream,
            where, 0,
        )  # fmt: skip

    def synchronize(self) -> None:
        """Wait for the stream."""
        self._enter()
        self._ask("kernels", "cuStreamSynchronize", self._stream)

    def mark(self) -> object:
        """Record an event."""
        self._enter()
        event = self._ask("timing", "cuEventCreate", 0)
        self._ask("timing", "cuEventRecord", event, self._stream)
        return event

    def seconds(self, start: Any, end: Any) -> float:  # noqa: ANN401 - events
        """Return the time between two events."""
        self._enter()
        self._ask("kernels", "cuEventSynchronize", end)
        return float(self._ask("timing", "cuEventElapsedTime", start, end)) / 1000

    def wait_for(self, stream: int) -> None:
        """Wait for another stream, on the device."""
        self._order(self._driver.CUstream(stream), self._stream)

    def lead(self, stream: int) -> None:
        """Let another stream wait for this one, on the device."""
        self._order(self._stream, self._driver.CUstream(stream))

    def _order(self, first: Any, then: Any) -> None:  # noqa: ANN401 - streams
        self._enter()
        event = self._ask("streams", "cuEventCreate", _NO_TIME)
        self._ask("streams", "cuEventRecord", event, first)
        self._ask("streams", "cuStreamWaitEvent", then, event, 0)
        self._ask("streams", "cuEventDestroy", event)

    def _enter(self) -> None:
        self._home.check(self._device.name)
        self._ask("start", "cuCtxSetCurrent", self._context)

    def _ask(self, doing: str | int, function: str, *arguments: object) -> Any:  # noqa: ANN401
        """Call the driver; `doing` says what for, or how many bytes were wanted."""
        status, *results = getattr(self._driver, function)(*arguments)
        if int(status) == 0:
            return results[0] if results else None
        if int(status) == int(self._driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY):
            raise out_of_memory(self._device.name, doing if isinstance(doing, int) else 0)
        _, text = self._driver.cuGetErrorString(status)
        words = (text or b"an unknown error").decode("ascii", "replace")
        raise device_failed(self._device.name, str(doing), f"{words} ({function}: {int(status)})")


def _cell(argument: KernelArgument) -> bytes:
    """Return the bytes of an argument, filled up to those of the largest."""
    if isinstance(argument, Buffer):
        return int(argument.handle).to_bytes(_CELL, sys.byteorder)
    return as_argument(argument).tobytes().ljust(_CELL, b"\0")
