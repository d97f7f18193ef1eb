"""The CUDA driver through cuda-bindings.

In: a device.  Out: `Bindings`, a `Driver` for `CudaProvider`.
Refuses: no package (PO0512), no memory (PO0707), what the driver refuses (PO0519).
"""

from __future__ import annotations

import ctypes
import importlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from polyopt.runtime.device.driver import CudaDevice, Signal
from polyopt.runtime.device.faults import device_failed, no_package, out_of_memory
from polyopt.runtime.device.provider import (
    AnyArray,
    Buffer,
    Extent3,
    Home,
    KernelArgument,
    as_argument,
)

_WITH_DEFAULT = 0  # in order with the default stream, which other libraries work in
_CELL = 16  # bytes of the largest number


def load_package() -> Any:  # noqa: ANN401 - the bindings have no types where they are not installed
    """Return the driver's functions."""
    try:
        return importlib.import_module("cuda.bindings.driver")
    except (ImportError, OSError) as error:
        raise no_package(f"cuda-bindings does not load ({error})", "cuda") from None


class Bindings:
    """The driver's functions; `stream` is another library's to work in, None makes one."""

    package = "cuda-bindings"

    def __init__(self, device: CudaDevice, stream: int | None = None) -> None:
        self._driver, self._home, self._device = load_package(), Home(), device
        self._ask("start", "cuInit", 0)
        handle = self._ask("start", "cuDeviceGet", device.number)
        self._context = self._ask("start", "cuDevicePrimaryCtxRetain", handle)
        self._enter()
        self.follows_default = stream is None
        if stream is None:
            self._stream = self._ask("start", "cuStreamCreate", _WITH_DEFAULT)
        else:
            self._stream = self._driver.CUstream(stream)
        self._signal = Signal(device.name)

    @property
    def stream(self) -> int:
        """The stream's handle."""
        return int(self._stream)

    def load(self, image: bytes, entries: Sequence[str]) -> tuple[Mapping[str, Any], object]:
        """Return functions by name, and what keeps them."""
        self._enter()
        module = self._ask("loading kernels", "cuModuleLoadData", image)
        functions = {
            entry: self._ask(f"kernel `{entry}`", "cuModuleGetFunction", module, entry.encode())
            for entry in entries
        }
        return functions, module

    def alloc(self, nbytes: int) -> int:
        """Give memory, from the device's pool where it has one."""
        self._enter()
        if self._device.has_pools:
            return int(self._ask(nbytes, "cuMemAllocAsync", nbytes, self._stream))
        return int(self._ask(nbytes, "cuMemAlloc", nbytes))

    def free(self, address: int) -> None:
        """Give the memory back."""
        self._enter()
        if self._device.has_pools:
            self._ask("free", "cuMemFreeAsync", address, self._stream)
        else:
            self._ask("free", "cuMemFree", address)

    def copy_in(self, address: int, source: AnyArray) -> None:
        """Copy to the device."""
        self._enter()
        where = (address, source.ctypes.data, source.nbytes, self._stream)
        self._ask("a copy", "cuMemcpyHtoDAsync", *where)
        self.synchronize()

    def copy_out(self, target: AnyArray, address: int) -> None:
        """Copy from the device."""
        self._enter()
        where = (target.ctypes.data, address, target.nbytes, self._stream)
        self._ask("a copy", "cuMemcpyDtoHAsync", *where)
        self.synchronize()

    def fill(self, address: int, byte: int, nbytes: int) -> None:
        """Set bytes."""
        self._enter()
        self._ask("fill", "cuMemsetD8Async", address, byte, nbytes, self._stream)

    def allow_shared(self, function: Any, nbytes: int) -> None:  # noqa: ANN401
        """Let launches of a function have so much dynamic shared memory."""
        self._enter()
        most = self._driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        self._ask("shared memory", "cuFuncSetAttribute", function, most, nbytes)

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
        self._enter()
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

    def order(self, first: int, then: int) -> None:
        """Have one stream wait for another."""
        self._enter()
        self._signal.order(first, then)

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
