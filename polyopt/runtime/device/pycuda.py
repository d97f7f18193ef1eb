"""The CUDA driver through pycuda.

In: a device.  Out: `Pycuda`, a `Driver` for `CudaProvider`.
Refuses: no package (PO0512), no memory (PO0707), what the driver refuses (PO0519).
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

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


def load_package() -> Any:  # noqa: ANN401 - pycuda has no types
    """Return pycuda's driver module."""
    try:
        return importlib.import_module("pycuda.driver")
    except (ImportError, OSError) as error:
        raise no_package(f"pycuda does not load ({error})", "pycuda") from None


class Pycuda:
    """The driver's functions, and a stream that pycuda makes."""

    package = "pycuda"
    follows_default = True

    def __init__(self, device: CudaDevice) -> None:
        self._driver, self._home, self._device = load_package(), Home(), device
        self._live: dict[int, Any] = {}  # pycuda frees memory that nobody holds
        with self._errors("start"):
            self._driver.init()
            self._context = self._driver.Device(device.number).retain_primary_context()
        with self._inside("start"):
            self._stream = self._driver.Stream()
            self._signal = Signal(device.name)

    @property
    def stream(self) -> int:
        """The stream's handle."""
        return int(self._stream.handle)

    def load(self, image: bytes, entries: Sequence[str]) -> tuple[Mapping[str, Any], object]:
        """Return functions by name, and what keeps them."""
        with self._inside("loading kernels"):
            module = self._driver.module_from_buffer(image)
            return {entry: module.get_function(entry) for entry in entries}, module

    def alloc(self, nbytes: int) -> int:
        """Give memory."""
        with self._inside("memory", nbytes):
            memory = self._driver.mem_alloc(nbytes)
        self._live[int(memory)] = memory
        return int(memory)

    def free(self, address: int) -> None:
        """Give the memory back; the driver waits for the device."""
        with self._inside("free"):
            self._live.pop(address).free()

    def copy_in(self, address: int, source: AnyArray) -> None:
        """Copy to the device."""
        with self._inside("a copy"):
            self._driver.memcpy_htod_async(address, source, self._stream)
            self._stream.synchronize()

    def copy_out(self, target: AnyArray, address: int) -> None:
        """Copy from the device."""
        with self._inside("a copy"):
            self._driver.memcpy_dtoh_async(target, address, self._stream)
            self._stream.synchronize()

    def fill(self, address: int, byte: int, nbytes: int) -> None:
        """Set bytes."""
        with self._inside("fill"):
            self._driver.memset_d8_async(address, byte, nbytes, self._stream)

    def allow_shared(self, function: Any, nbytes: int) -> None:  # noqa: ANN401
        """Let launches of a function have so much dynamic shared memory."""
        with self._inside("shared memory"):
            most = self._driver.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
            function.set_attribute(most, nbytes)

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
        values = [_value(argument) for argument in args]
        with self._inside(f"kernel `{entry}`"):
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

    def order(self, first: int, then: int) -> None:
        """Have one stream wait for another."""
        with self._inside("streams"):
            self._signal.order(first, then)

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
