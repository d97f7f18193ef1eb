"""Times of calls that end on a GPU some time after they return.

In: a call.  Out: `Sample`: the median of several, and how far they lie apart.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from statistics import median
from typing import Any, Protocol

from bench.gpu.rehearsal import is_rehearsal

_SAMPLES = 7
_SECONDS = 0.02  # a sample is at least so long
_MOST_CALLS = 300


@dataclass(frozen=True, slots=True)
class Sample:
    """Seconds of one call; `spread` is half the range over the median."""

    seconds: float
    spread: float


class Clocked(Protocol):
    """What is measured on."""

    def synchronize(self) -> None:
        """Wait for everything that anybody has asked for."""

    def allocate(self, nbytes: int) -> int:
        """Return the address of new memory, all of it written."""

    def free(self, address: int) -> None:
        """Give memory back."""

    def copy(self, target: int, source: int, nbytes: int) -> None:
        """Copy from device memory to device memory."""


def open_context() -> Clocked:
    """Return the GPU's context, or in a rehearsal the host's memory."""
    return Host() if is_rehearsal() else Context()


class Host:
    """Memory of the host in a rehearsal."""

    def __init__(self) -> None:
        self._memory: dict[int, Any] = {}

    def synchronize(self) -> None:
        """Do nothing: all is done."""

    def allocate(self, nbytes: int) -> int:
        """Return the address of new memory."""
        memory = ctypes.create_string_buffer(nbytes)
        self._memory[ctypes.addressof(memory)] = memory
        return ctypes.addressof(memory)

    def free(self, address: int) -> None:
        """Give memory back."""
        del self._memory[address]

    def copy(self, target: int, source: int, nbytes: int) -> None:
        """Copy."""
        ctypes.memmove(target, source, nbytes)


class Context:
    """The primary context of the first device, which all libraries share."""

    def __init__(self) -> None:
        self._driver = ctypes.CDLL("libcuda.so.1")
        device, self._context = ctypes.c_int(0), ctypes.c_void_p()
        self._ask("cuInit", 0)
        self._ask("cuDeviceGet", ctypes.byref(device), 0)
        self._ask("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), device)

    def synchronize(self) -> None:
        """Wait for everything that anybody has asked for."""
        self._ask("cuCtxSetCurrent", self._context)
        self._ask("cuCtxSynchronize")

    def allocate(self, nbytes: int) -> int:
        """Return the address of new memory, all of it written."""
        self._ask("cuCtxSetCurrent", self._context)
        address = ctypes.c_uint64(0)
        self._ask("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(nbytes))
        self._ask("cuMemsetD8_v2", address, ctypes.c_ubyte(1), ctypes.c_size_t(nbytes))
        return address.value

    def free(self, address: int) -> None:
        """Give memory back."""
        self._ask("cuMemFree_v2", ctypes.c_uint64(address))

    def copy(self, target: int, source: int, nbytes: int) -> None:
        """Copy from device memory to device memory."""
        self._ask("cuCtxSetCurrent", self._context)
        addresses = (ctypes.c_uint64(target), ctypes.c_uint64(source), ctypes.c_size_t(nbytes))
        self._ask("cuMemcpyDtoDAsync_v2", *addresses, ctypes.c_void_p(0))

    def _ask(self, function: str, *arguments: object) -> None:
        status = int(getattr(self._driver, function)(*arguments))
        if status != 0:
            raise RuntimeError(f"{function} failed with status {status}")


def measure(context: Clocked, call: Callable[[], object]) -> Sample:
    """Return how long one of many calls in a row takes."""
    for _ in range(2):
        call()
    context.synchronize()
    if is_rehearsal():
        return Sample(_time(context, call, 1), 0.0)
    once = _time(context, call, 1)
    calls = max(1, min(_MOST_CALLS, ceil(_SECONDS / max(once, 1e-7))))
    taken = sorted(_time(context, call, calls) for _ in range(_SAMPLES))
    middle = median(taken)
    return Sample(middle, (taken[-1] - taken[0]) / 2 / middle)


def _time(context: Clocked, call: Callable[[], object], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        call()
    context.synchronize()
    return (time.perf_counter() - start) / calls
