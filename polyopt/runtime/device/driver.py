"""The CUDA driver, asked through ctypes: is there one, and which devices it sees.

In: nothing.  Out: devices, without a context on any of them; `Signal`, the order of two streams.
Refuses: no driver, no device (PO0510); streams that the driver does not know (PO0519).
"""

from __future__ import annotations

import ctypes
import threading
from typing import Any

from polyopt.dataclass import dataclass
from polyopt.runtime.device.faults import device_failed, no_driver
from polyopt.runtime.device.provider import Limits

LIBRARY = "libcuda.so.1"
_THREADS, _BLOCK, _GRID, _SHARED, _WARP = 1, (2, 3, 4), (5, 6, 7), 8, 10
_NO_TIME = 2  # `CU_EVENT_DISABLE_TIMING`
_MAJOR, _MINOR, _SHARED_MOST, _POOLS = 75, 76, 97, 115  # numbers of `CUdevice_attribute`


@dataclass(frozen=True, slots=True)
class CudaDevice:
    """A CUDA device by its number; `version` is the newest CUDA that the driver knows."""

    number: int
    name: str
    version: str
    memory: int
    limits: Limits
    has_pools: bool


class Signal:
    """An event of the context that is current, used again and again."""

    def __init__(self, device: str) -> None:
        self._driver: Any = ctypes.CDLL(LIBRARY)
        self._device, self._event, self._lock = device, ctypes.c_void_p(), threading.Lock()
        self._ask("cuEventCreate", ctypes.byref(self._event), _NO_TIME)

    def order(self, first: int, then: int) -> None:
        """Have stream `then` wait, on the device, for what `first` was asked for so far."""
        with self._lock:
            self._ask("cuEventRecord", self._event, ctypes.c_void_p(first))
            self._ask("cuStreamWaitEvent", ctypes.c_void_p(then), self._event, 0)

    def _ask(self, function: str, *arguments: Any) -> None:  # noqa: ANN401
        status = int(getattr(self._driver, function)(*arguments))
        if status != 0:
            words = f"{_words(self._driver, status)} ({function}: {status})"
            raise device_failed(self._device, "streams", words)


def cuda_devices() -> tuple[CudaDevice, ...]:
    """Return the devices of the driver."""
    try:
        driver = ctypes.CDLL(LIBRARY)
    except OSError as error:
        missing = "cannot open shared object file" in str(error)
        why = "is not installed" if missing else f"does not load ({error})"
        raise no_driver(f"the driver's library {LIBRARY} {why}") from None
    _ask(driver, "cuInit", 0)
    version, count = ctypes.c_int(0), ctypes.c_int(0)
    _ask(driver, "cuDriverGetVersion", ctypes.byref(version))
    _ask(driver, "cuDeviceGetCount", ctypes.byref(count))
    if count.value == 0:
        raise no_driver("the driver sees none")
    number = version.value
    text = f"{number // 1000}.{number % 1000 // 10}"
    return tuple(_device(driver, number, text) for number in range(count.value))


def _ask(driver: Any, function: str, *arguments: Any) -> None:  # noqa: ANN401
    status = int(getattr(driver, function)(*arguments))
    if status == 0:
        return
    raise no_driver(f"the driver says `{_words(driver, status)}` ({function}: {status})")


def _words(driver: Any, status: int) -> str:  # noqa: ANN401
    """Return what the driver says of a status."""
    text = ctypes.c_char_p()
    driver.cuGetErrorString(status, ctypes.byref(text))
    return (text.value or b"an unknown error").decode("ascii", "replace")


def _device(driver: Any, number: int, version: str) -> CudaDevice:  # noqa: ANN401
    handle, memory = ctypes.c_int(0), ctypes.c_size_t(0)
    _ask(driver, "cuDeviceGet", ctypes.byref(handle), number)
    name = ctypes.create_string_buffer(256)
    _ask(driver, "cuDeviceGetName", name, len(name), handle)
    _ask(driver, "cuDeviceTotalMem_v2", ctypes.byref(memory), handle)

    def fact(attribute: int) -> int:
        value = ctypes.c_int(0)
        _ask(driver, "cuDeviceGetAttribute", ctypes.byref(value), attribute, handle)
        return value.value

    limits = Limits(
        threads_per_block=fact(_THREADS),
        shared_bytes=fact(_SHARED),
        grid=(fact(_GRID[0]), fact(_GRID[1]), fact(_GRID[2])),
        warp=fact(_WARP),
        arch=f"sm_{fact(_MAJOR)}{fact(_MINOR)}",
        block=(fact(_BLOCK[0]), fact(_BLOCK[1]), fact(_BLOCK[2])),
        shared_most=fact(_SHARED_MOST),
    )
    return CudaDevice(
        number, name.value.decode(), version, memory.value, limits, bool(fact(_POOLS))
    )
