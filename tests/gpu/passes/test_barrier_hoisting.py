"""Barriers move out of conditions where these say the same again; results stay."""

from __future__ import annotations

from typing import Any

import islpy as isl
import numpy as np
import pytest

from polyopt.emit.cuda import emit_cuda
from polyopt.emit.gpu.barrier_hoisting import hoist_barriers
from polyopt.emit.opencl import emit_opencl
from polyopt.emulator import EmulatedProvider, Rules
from polyopt.ir.interp import run_loops
from polyopt.ir.loops import Kernel, LoopFunction, show_body
from polyopt.ir.source import DeviceSource
from polyopt.proof.barriers import check_synchronisation
from polyopt.proof.certificate import Verdict
from polyopt.proof.paths import Path
from polyopt.runtime.device.provider import Provider
from tests.gpu.printing.build import function
from tests.gpu.printing.launch import launch
from tests.gpu.runtime.needs import opencl_or_skip
from tests.texts import bare

SIZES = [{"N": 70, "M": 3, "H": h, "W": w} for h, w in ((5, 6), (0, 6), (1, 1))]


def loops(text: str) -> LoopFunction:
    """Return the loops of a text over two matrices, two vectors and sizes."""
    sizes = dict.fromkeys("NMHW", "size")
    return function(text, x="i32[N, 32]", y="i32[N]", z="i32[N]", **sizes)


BETWEEN = """
with kernel(64):
    for i0 in block(0, N, 64):
        for i in thread(i0, min(i0 + 64, N)):
            y[i] = 1
        if H >= 1 and W >= 1:
            s: shared[i32, 64]
            for i in thread(i0, min(i0 + 64, N)):
                s[i - i0] = x[i, 0]
            barrier("s")
            for i in thread(i0, min(i0 + 64, N)):
                y[i] += s[min(N - 1, i0 + 63) - i]
        for i in thread(i0, min(i0 + 64, N)):
            z[i] = 2 * y[i]
"""
OTHERWISE = """
with kernel(64):
    for i0 in block(0, N, 64):
        s: shared[i32, 64]
        for i in thread(i0, min(i0 + 64, N)):
            s[i - i0] = x[i, 0]
            y[i] = 0
        for k in range(0, H):
            if k < W // 2:
                barrier("s")
                for i in thread(i0, min(i0 + 64, N)):
                    y[i] += s[min(N - 1, i0 + 63) - i]
            else:
                for i in thread(i0, min(i0 + 64, N)):
                    y[i] -= 1
                barrier("y")
                for i in thread(i0, min(i0 + 64, N)):
                    z[i] = y[min(N - 1, i0 + 63) - i + i0] + k
                barrier("y")
"""
TOGETHER = """
with kernel(256):
    for i0 in block(0, N, 8):
        for i in thread(i0, min(i0 + 8, N)):
            for first in thread(0, 32):
                if first < 1:
                    y[i] = 0
        if H >= 1 and W >= 1:
            for i in thread(i0, min(i0 + 8, N)):
                for lane in combine(0, min(32, M)):
                    y[i] += x[i, lane]
        for i in thread(i0, min(i0 + 8, N)):
            for first in thread(0, 32):
                if first < 1:
                    z[i] = 2 * y[i]
"""
ALONE = """
with kernel(32):
    for i in block(0, N):
        for first in thread(0, 32):
            if first < 1:
                y[i] = 0
        if H >= 1 or W < 6:
            for lane in combine(0, min(32, M)):
                y[i] += x[i, lane]
"""
TEXTS = {"between": BETWEEN, "otherwise": OTHERWISE, "together": TOGETHER, "alone": ALONE}


def body_of(fn: LoopFunction) -> list[str]:
    """Return the code of the only kernel's blocks."""
    (kernel,) = fn.body
    assert isinstance(kernel, Kernel)
    return [line.removeprefix("    ") for line in show_body(kernel.body)[1:]]


def test_a_barrier_is_between_two_conditions() -> None:
    found = body_of(hoist_barriers(loops(BETWEEN)))
    assert found[2:9] == [
        "s = shared int32[64]",
        "if (H >= 1) & (W >= 1):",
        "    for i in range(i0, min(i0 + 64, N)):  # thread",
        "        s[i - i0] = x[i, 0]",
        "barrier(block)  # s",
        "if (H >= 1) & (W >= 1):",
        "    for i in range(i0, min(i0 + 64, N)):  # thread",
    ]


def test_both_branches() -> None:
    found = body_of(hoist_barriers(loops(OTHERWISE)))
    assert [line.strip() for line in found if "if" in line or "barrier" in line] == [
        "barrier(block)  # s",
        "if k < W // 2:",
        "if ~(k < W // 2):",
        "barrier(block)  # y",
        "if ~(k < W // 2):",
        "barrier(block)  # y",
    ]


def test_threads_that_combine_have_the_condition_inside() -> None:
    found = body_of(hoist_barriers(loops(TOGETHER)))
    assert found[4:8] == [
        "for i in range(i0, min(i0 + 8, N)):  # thread",
        "    if (H >= 1) & (W >= 1):",
        "        for lane in range(0, min(32, M)):  # thread",
        "            y[i] = y[i] + x[i, lane]",
    ]


def test_a_condition_that_is_the_same_for_all_is_not_passed_on() -> None:
    text = bare(emit_opencl(hoist_barriers(loops(ALONE))).text)
    assert text.count("passed[t]") == 1
    assert "if (t % 32 == 0 && t < M && (H >= 1 || W < 6))" in text


LOCAL = """
        s: shared[i32, 64]
        if H >= 1:
            first: i64 = i0 + 1
            for i in thread(i0, min(i0 + 64, N)):
                s[i - i0] = x[i, 0]
            barrier("s")
            for i in thread(i0, min(i0 + 64, N)):
                y[i] += s[first - i0]
"""
LOOP = """
        s: shared[i32, 64]
        if H >= 1:
            for k in range(0, W):
                for i in thread(i0, min(i0 + 64, N)):
                    s[i - i0] = x[i, k]
                barrier("s")
                for i in thread(i0, min(i0 + 64, N)):
                    y[i] += s[min(N - 1, i0 + 63) - i]
                barrier("s")
"""
HEAD = "with kernel(64):\n    for i0 in block(0, N, 64):"


@pytest.mark.parametrize(
    "text",
    [BETWEEN.replace("H >= 1 and W >= 1", "y[0] >= 1"), HEAD + LOCAL, HEAD + LOOP],
    ids=["data decides", "a local inside", "a loop inside"],
)
def test_others_stay(text: str) -> None:
    assert hoist_barriers(loops(text)) == loops(text)


def test_arrays_of_one_name_stay_apart() -> None:
    _, _, inside = BETWEEN.partition("        if H")
    fn = loops(BETWEEN + f"        if H{inside}")
    assert hoist_barriers(fn) == fn


# -- running


def check(name: str, device: Provider, fn: LoopFunction, source: DeviceSource) -> None:
    for sizes in SIZES:
        rng = np.random.default_rng(3)
        shapes: dict[str, tuple[int, ...]] = {"x": (sizes["N"], 32), "y": (70,), "z": (70,)}
        start: dict[str, Any] = {
            array: rng.integers(-9, 9, shape, np.int32) for array, shape in shapes.items()
        }
        found = {array: numbers.copy() for array, numbers in start.items()}
        launch(device, source, fn, found, sizes)
        run_loops(loops(TEXTS[name]), start, sizes, {})
        for array, numbers in start.items():
            np.testing.assert_array_equal(found[array], numbers, err_msg=f"{array} {sizes}")


@pytest.mark.machine
@pytest.mark.parametrize("name", TEXTS)
def test_opencl(name: str) -> None:
    fn = hoist_barriers(loops(TEXTS[name]))
    check(name, opencl_or_skip(), fn, emit_opencl(fn))


@pytest.mark.toolchain
@pytest.mark.parametrize("name", TEXTS)
def test_emulated_cuda(name: str) -> None:
    fn = hoist_barriers(loops(TEXTS[name]))
    check(name, EmulatedProvider(Rules(seed=3)), fn, emit_cuda(fn))


@pytest.mark.parametrize("name", TEXTS)
def test_order_is_proven(name: str) -> None:
    path = Path(tuple("NMHW"), isl.Set("{ : }").params())
    for fn in (loops(TEXTS[name]), hoist_barriers(loops(TEXTS[name]))):
        (claim,) = check_synchronisation(fn, path)
        assert claim.verdict is Verdict.PROVEN, claim.reason
