"""Checks of the CUDA providers, run by test_cuda.py in a process whose driver is driver.c."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from polyopt.errors import BudgetError, PolyoptError, ToolchainError
from polyopt.ir.types import DType
from polyopt.runtime.device.arrays import device_array_of, new_array
from polyopt.runtime.device.bindings import Bindings
from polyopt.runtime.device.choose import DeviceTarget, survey
from polyopt.runtime.device.cuda import CudaProvider
from polyopt.runtime.device.driver import cuda_devices
from polyopt.runtime.device.provider import Buffer, Provider, Streamed
from polyopt.runtime.device.streams import in_order, on_stream
from tests.gpu.runtime.timing import time_runs

DRIVER: Any = ctypes.CDLL("libcuda.so.1")
DRIVER.live_buffers.restype = ctypes.c_uint64
DRIVER.last_waiter.restype = ctypes.c_void_p


class Compiler:
    """Makes images that driver.c takes."""

    identity = "none 1"
    strict = ()

    def run(self, text: str, arch: str, flags: tuple[str, ...]) -> tuple[bytes, str]:
        return b"image", "ptxas info    : Compiling entry function 'add' for 'sm_90'\n"


def provider() -> CudaProvider:
    device = cuda_devices()[0]
    return CudaProvider(Bindings(device), device, Compiler())


def raises(error: type[PolyoptError], code: str, action: Callable[[], object]) -> PolyoptError:
    try:
        action()
    except error as caught:
        if caught.code == code:
            return caught
        raise
    raise AssertionError(f"no {code}")


def add(device: Provider, n: int, negate: bool, shared: int = 0) -> None:
    a, b = np.arange(n, dtype=np.float32), np.ones(n, np.float32)
    module = device.compile("", ("add",))
    buffers = [device.alloc(a.nbytes) for _ in range(3)]
    device.upload(buffers[0], a)
    device.upload(buffers[1], b)
    args = (*buffers, np.int64(n), np.float32(0.5), np.bool_(negate))
    device.launch(module, "add", ((n + 31) // 32, 1, 1), (32, 1, 1), args, shared=shared)
    result = np.full(n, np.nan, np.float32)
    device.download(buffers[2], result)
    expected = a + np.float32(0.5) * b
    np.testing.assert_array_equal(result, -expected if negate else expected)
    for buffer in buffers:
        device.free(buffer)
    assert DRIVER.live_buffers() == 0


def check_devices() -> None:
    ours = [device for device in survey().devices if device.target is DeviceTarget.CUDA]
    assert [(d.name, d.version, d.memory) for d in ours] == [("Stand-in", "CUDA 13.0", 2**20)]
    limits = ours[0].limits
    assert limits is not None
    assert (limits.arch, limits.shared_bytes, limits.shared_at_most) == ("sm_90", 49152, 232448)


def check_add() -> None:
    for n in (1, 32, 100):
        for negate in (False, True):
            add(provider(), n, negate)


def check_much_shared_memory_is_asked_for() -> None:
    add(provider(), 10, False, shared=200_000)
    device = provider()
    module = device.compile("", ("add",))
    extents = ((1, 1, 1), (32, 1, 1))
    raises(
        ToolchainError, "PO0517", lambda: device.launch(module, "add", *extents, (), shared=232449)
    )


def check_empty() -> None:
    device = provider()
    buffer = device.alloc(0)
    device.upload(buffer, np.zeros(0))
    device.fill(buffer, 1)
    device.download(buffer, np.zeros(0))
    device.launch(device.compile("", ("add",)), "add", (0, 1, 1), (32, 1, 1), ())
    device.free(buffer)


def check_fill_and_gaps() -> None:
    device = provider()
    whole = np.arange(60, dtype=np.int16).reshape(6, 10)
    buffer = device.alloc(30)
    device.upload(buffer, whole[::2, ::2])
    target = np.zeros((3, 10), np.int16)
    device.download(buffer, target[:, 1::2])
    np.testing.assert_array_equal(target[:, 1::2], whole[::2, ::2])
    device.fill(buffer, 255)
    filled = np.zeros(15, np.int16)
    device.download(buffer, filled)
    assert (filled == -1).all()
    device.free(buffer)


def check_memory() -> None:
    error = raises(BudgetError, "PO0707", lambda: provider().alloc(2**21))
    assert "2097152 bytes" in error.message


def check_unknown_kernel() -> None:
    raises(ToolchainError, "PO0519", lambda: provider().compile("", ("other",)))


def check_time() -> None:
    device = provider()
    module = device.compile("", ("add",))
    buffers = [device.alloc(4) for _ in range(3)]
    args = (*buffers, np.int64(1), np.float32(1), np.bool_(False))
    action = lambda: device.launch(module, "add", (1, 1, 1), (1, 1, 1), args)  # noqa: E731
    assert time_runs(device, action, 3) == (0.002, 0.002, 0.002)
    for buffer in buffers:
        device.free(buffer)


def check_streams() -> None:
    device = provider()
    assert isinstance(device, Streamed)
    other = provider().stream
    before = DRIVER.waited()
    device.wait_for(other)
    assert DRIVER.last_waiter() == device.stream
    device.lead(other)
    assert DRIVER.last_waiter() == other
    device.wait_for(device.stream)
    device.lead(1)  # the default stream is in order with it
    assert DRIVER.waited() == before + 2


class _Given:
    def __init__(self, pointer: int, stream: int | None) -> None:
        facts = {"shape": (4,), "typestr": "<f4", "data": (pointer, False), "version": 3}
        self.__cuda_array_interface__ = facts if stream is None else {**facts, "stream": stream}


def check_arrays_are_waited_for() -> None:
    device = provider()
    memory = device.alloc(16)
    ours = new_array(device, memory, (4,), DType.FLOAT32)
    device.upload(memory, np.arange(4, dtype=np.float32))
    np.testing.assert_array_equal(ours.numpy(), np.arange(4, dtype=np.float32))
    other, chosen = provider().stream, provider().stream
    given = [device_array_of("a", _Given(ours.pointer, s)) for s in (None, 1, other, other)]
    theirs = [array for array in given if array is not None]
    before = DRIVER.waited()
    with on_stream(chosen), in_order(device, [array.stream for array in (ours, *theirs)]):
        assert DRIVER.last_waiter() == device.stream
        assert DRIVER.waited() == before + 2
    assert DRIVER.last_waiter() in (other, chosen)
    assert DRIVER.waited() == before + 4
    capsule: object = ours.__dlpack__(stream=2)
    assert DRIVER.last_waiter() == 2
    assert ours.__dlpack__(stream=-1) is not None
    assert DRIVER.waited() == before + 5
    assert ours.__cuda_array_interface__["stream"] == device.stream
    device.free(Buffer(ours.pointer, 16, owner="another library"))
    assert DRIVER.live_buffers() == 1
    del ours, capsule, theirs, given
    gc.collect()
    assert DRIVER.live_buffers() == 0


def check_forked_processes_are_told() -> None:
    device = provider()
    buffer = device.alloc(16)
    child = os.fork()
    if child == 0:
        device.free(buffer)
        raises(ToolchainError, "PO0519", lambda: device.alloc(16))
        raises(ToolchainError, "PO0519", device.synchronize)
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    device.free(buffer)


def check_streams_of_others() -> None:
    theirs = provider().stream
    found = cuda_devices()[0]
    device = CudaProvider(Bindings(found, theirs), found, Compiler())
    assert device.stream == theirs
    add(device, 5, negate=False)


def check_zz_failed_kernels_are_told() -> None:
    """Last: as on a device, nothing works after it."""
    device = provider()
    device.launch(device.compile("", ("fail",)), "fail", (1, 1, 1), (1, 1, 1), ())
    error = raises(ToolchainError, "PO0519", device.synchronize)
    assert "unspecified launch failure" in error.message


if __name__ == "__main__":
    for name, check in sorted(vars(sys.modules["__main__"]).items()):
        if name.startswith("check_"):
            check()
            print(name, flush=True)
    print("done")
