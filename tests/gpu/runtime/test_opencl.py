"""Hand-written kernels on an OpenCL device, and what it refuses."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from time import sleep
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from polyopt.errors import BudgetError, InternalError, PolyoptError, ToolchainError
from polyopt.runtime.device.opencl import POCL, OpenCLDevice, OpenCLProvider, _fault, opencl_devices
from polyopt.runtime.device.provider import KernelArgument, Module, Provider, Timed
from tests.gpu.runtime.needs import opencl_or_skip
from tests.gpu.runtime.timing import time_runs

TEXT = """\
#pragma OPENCL FP_CONTRACT OFF
__kernel void add(__global const float *restrict a, __global const float *restrict b,
                  __global float *restrict c, long n, float scale, uchar negate) {
    const long i = (long)get_group_id(0) * (long)get_local_size(0) + (long)get_local_id(0);
    if (i < n) c[i] = negate ? -(a[i] + scale * b[i]) : a[i] + scale * b[i];
}

__kernel void stencil(__global const float *restrict u, __global float *restrict v, long n,
                      long m) {
    __local float s[10][18];
    const int ty = (int)get_local_id(1), tx = (int)get_local_id(0);
    const long i0 = (long)get_group_id(1) * 8, j0 = (long)get_group_id(0) * 16;
    for (int e = ty * 16 + tx; e < 180; e += 128) {
        const long i = i0 + e / 18 - 1, j = j0 + e % 18 - 1;
        s[e / 18][e % 18] = 0 <= i && i < n && 0 <= j && j < m ? u[i * m + j] : 0.0f;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const long i = i0 + ty, j = j0 + tx;
    if (1 <= i && i < n - 1 && 1 <= j && j < m - 1)
        v[i * m + j] = s[ty][tx + 1] + s[ty + 2][tx + 1] + s[ty + 1][tx] + s[ty + 1][tx + 2];
}

__kernel void turn(__global int *a, __local int *s) {
    s[get_local_id(0)] = a[get_local_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    a[get_local_id(0)] = s[(get_local_id(0) + 1) % get_local_size(0)];
}

__kernel void place(__global int *a) {
    const size_t x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    a[(z * get_global_size(1) + y) * get_global_size(0) + x] = (int)(100 * z + 10 * y + x);
}
"""


@pytest.fixture(scope="module")
def device() -> Provider:
    return opencl_or_skip()


@pytest.fixture(scope="module")
def module(device: Provider) -> Module:
    return device.compile(TEXT, ("add", "stencil", "turn", "place"))


@pytest.mark.parametrize("n", [1, 64, 1003])
@pytest.mark.parametrize("negate", [False, True])
def test_vector_add(device: Provider, module: Module, n: int, negate: bool) -> None:
    rng = np.random.default_rng(n)
    a, b = rng.random(n, np.float32), rng.random(n, np.float32)
    buffers = [device.alloc(array.nbytes) for array in (a, b, a)]
    device.upload(buffers[0], a)
    device.upload(buffers[1], b)
    numbers = (np.int64(n), np.float32(0.5), np.bool_(negate))
    device.launch(module, "add", ((n + 63) // 64, 1, 1), (64, 1, 1), (*buffers, *numbers))
    result = np.full(n, np.nan, np.float32)
    device.download(buffers[2], result)
    expected = a + np.float32(0.5) * b
    np.testing.assert_array_equal(result, -expected if negate else expected)
    for buffer in buffers:
        device.free(buffer)


@pytest.mark.parametrize("n, m", [(3, 3), (8, 16), (21, 35), (1, 40)])
def test_ragged_stencil(device: Provider, module: Module, n: int, m: int) -> None:
    u = np.random.default_rng(m).random((n, m), np.float32)
    source, target = device.alloc(u.nbytes), device.alloc(u.nbytes)
    device.upload(source, u)
    device.fill(target, 0)
    grid = ((m + 15) // 16, (n + 7) // 8, 1)
    args = (source, target, np.int64(n), np.int64(m))
    device.launch(module, "stencil", grid, (16, 8, 1), args)
    result = np.full((n, m), np.nan, np.float32)
    device.download(target, result)
    expected = np.zeros((n, m), np.float32)
    inner = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    expected[1:-1, 1:-1] = inner
    np.testing.assert_array_equal(result, expected)


def test_shared_memory_of_the_launch_is_the_last_argument(device: Provider, module: Module) -> None:
    a = np.arange(32, dtype=np.int32)
    buffer = device.alloc(a.nbytes)
    device.upload(buffer, a)
    device.launch(module, "turn", (1, 1, 1), (32, 1, 1), (buffer,), shared=a.nbytes)
    result = np.empty_like(a)
    device.download(buffer, result)
    np.testing.assert_array_equal(result, np.roll(a, -1))


def test_x_comes_first(device: Provider, module: Module) -> None:
    result = np.empty((4, 6, 5), np.int32)
    buffer = device.alloc(result.nbytes)
    device.launch(module, "place", (1, 2, 4), (5, 3, 1), (buffer,))
    device.download(buffer, result)
    z, y, x = np.indices(result.shape)
    np.testing.assert_array_equal(result, 100 * z + 10 * y + x)


def test_nothing_is_launched_where_there_is_nothing(device: Provider, module: Module) -> None:
    empty = np.empty(0, np.float32)
    buffer = device.alloc(0)
    device.upload(buffer, empty)
    device.fill(buffer, 0)
    args = (buffer, buffer, buffer, np.int64(0), np.float32(1), np.bool_(False))
    device.launch(module, "add", (0, 1, 1), (64, 1, 1), args)
    device.download(buffer, empty)
    device.synchronize()
    device.free(buffer)


def test_arrays_with_gaps(device: Provider) -> None:
    whole = np.arange(60.0).reshape(6, 10)
    buffer = device.alloc(3 * 5 * 8)
    device.upload(buffer, whole[::2, ::2])
    target = np.zeros((3, 10))
    device.download(buffer, target[:, 1::2])
    np.testing.assert_array_equal(target[:, 1::2], whole[::2, ::2])
    assert not target[:, ::2].any()


def test_resources_and_limits(device: Provider, module: Module) -> None:
    assert module.resources["stencil"].shared == 4 * 180
    assert device.limits.threads_per_block <= 1024
    assert device.limits.shared_bytes <= 48 * 1024
    with pytest.raises(ToolchainError, match="PO0516"):
        device.launch(module, "place", (1, 1, 1), (64, 32, 1), ())
    with pytest.raises(ToolchainError, match="PO0517"):
        device.launch(module, "stencil", (1, 1, 1), (16, 8, 1), (), shared=48 * 1024 - 100)


def test_the_line_that_does_not_compile_is_shown(device: Provider) -> None:
    said: list[str] = []
    text = "__kernel void k(__global float *a) {\n    a[0] = missing;\n}\n"
    with pytest.raises(ToolchainError) as caught:
        device.compile(text, ("k",), log=said.append)
    assert caught.value.code == "PO0515"
    assert caught.value.notes[0].startswith("line 2: ")
    assert "missing" in caught.value.notes[0]
    assert caught.value.notes[1] == "    a[0] = missing;"
    assert "missing" in said[0]


def test_warnings_of_the_compiler_are_in_the_log(device: Provider) -> None:
    said: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        text = "#warning look here\n__kernel void k(__global float *a) { a[0] = 1; }\n"
        device.compile(text, ("k",), log=said.append)
    assert "look here" in "".join(said) or POCL not in device.name


def test_a_kernel_that_is_not_in_the_text(device: Provider) -> None:
    with pytest.raises(ToolchainError, match="PO0515"):
        device.compile("__kernel void k(__global float *a) { a[0] = 1; }", ("other",))


def test_more_memory_than_there_is(device: Provider) -> None:
    with pytest.raises(BudgetError, match="PO0707"):
        device.alloc(2**50)


def test_an_array_larger_than_its_buffer(device: Provider) -> None:
    buffer = device.alloc(8)
    with pytest.raises(InternalError, match="PO0918"):
        device.upload(buffer, np.zeros(2))
    with pytest.raises(InternalError, match="PO0918"):
        device.download(buffer, np.zeros(2))


@pytest.mark.parametrize("args", [(), (np.int64(3),), (np.int64(3), np.int64(4))])
def test_arguments_are_the_kernels(
    device: Provider, module: Module, args: tuple[KernelArgument, ...]
) -> None:
    with pytest.raises(InternalError, match="PO0918"):
        device.launch(module, "place", (1, 1, 1), (4, 1, 1), args)


def test_what_the_device_refuses_is_told(device: Provider) -> None:
    size = "__attribute__((reqd_work_group_size(4, 1, 1)))"
    module = device.compile(f"__kernel {size} void k(__global int *a) {{ a[0] = 1; }}", ("k",))
    buffer = device.alloc(64)
    with pytest.raises(ToolchainError, match="PO0519"):
        device.launch(module, "k", (1, 1, 1), (8, 1, 1), (buffer,))


def test_freed_memory_is_not_used(device: Provider, module: Module) -> None:
    buffer = device.alloc(64)
    device.free(buffer)
    uses: tuple[Callable[[], None], ...] = (
        lambda: device.launch(module, "place", (1, 1, 1), (4, 1, 1), (buffer,)),
        lambda: device.fill(buffer, 0),
        lambda: device.upload(buffer, np.zeros(4)),
        lambda: device.download(buffer, np.zeros(4)),
        lambda: device.free(buffer),
    )
    for use in uses:
        with pytest.raises(InternalError, match="PO0918"):
            use()


def test_a_linker_that_goes_is_missed_before_it_is_called(
    device: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    if POCL not in device.name:
        pytest.skip("the device is not PoCL")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ToolchainError, match="PO0511"):
        device.compile(TEXT, ("add",))


def test_devices_that_cannot_work_are_not_started(monkeypatch: pytest.MonkeyPatch) -> None:
    old = "OpenCL 3.0 PoCL HSTR: pthread-x86_64-unknown-linux-gnu-generic"
    assert "older than the processor" in _fault("Portable Computing Language", old)
    assert _fault("Portable Computing Language", old.replace("generic", "haswell")) == ""
    assert _fault("NVIDIA CUDA", old) == ""
    monkeypatch.setenv("PATH", "")
    reason = _fault("Portable Computing Language", "haswell")
    assert "binutils" in reason
    with pytest.raises(PolyoptError, match="PO0511"):
        OpenCLProvider(OpenCLDevice(None, "Portable Computing Language", "", "", True, reason))


def test_usable_devices_come_first(device: Provider) -> None:
    faults = [bool(found.fault) for found in opencl_devices()]
    assert faults == sorted(faults)


def test_devices_say_how_long_it_took(device: Provider, module: Module) -> None:
    n = 200_000
    buffers = [device.alloc(4 * n) for _ in range(3)]
    args = (*buffers, np.int64(n), np.float32(1), np.bool_(False))
    assert isinstance(device, Timed)
    grid = ((n + 63) // 64, 1, 1)
    times = time_runs(device, lambda: device.launch(module, "add", grid, (64, 1, 1), args), 3)
    assert len(times) == 3
    assert all(0 < seconds < 5 for seconds in times)


def test_without_a_clock_the_hosts_is_read() -> None:
    waits: list[int] = []
    device: Any = SimpleNamespace(synchronize=lambda: waits.append(1))
    times = time_runs(device, lambda: sleep(0.01), 2)
    assert len(times) == 2
    assert all(seconds >= 0.01 for seconds in times)
    assert len(waits) == 3


def test_forked_processes_are_told_to_start_anew(device: Provider) -> None:
    command = [sys.executable, "-m", "tests.gpu.runtime.in_fork"]
    root = Path(__file__).parents[3]
    done = subprocess.run(
        command, cwd=root, timeout=600, capture_output=True, text=True, check=False
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
