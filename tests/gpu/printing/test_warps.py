"""What a warp combines by one instruction: its text, and the shuffles on devices without it."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import pytest

import polyopt as po
from polyopt.emit.gpu.dialect import CUDA_WARP, WARP_HELPERS
from polyopt.emulator import EmulatedProvider
from polyopt.ir.expr import BinaryOp
from polyopt.ir.types import DType
from polyopt.runtime.device.resources import resources_of
from tests.gpu.runtime.needs import needs_nvcc
from tests.texts import bare

ALL = sorted(CUDA_WARP.items(), key=lambda item: (item[0][0].name, item[0][1].name))
PEERS = {
    BinaryOp.ADD: np.add,
    BinaryOp.MIN: np.minimum,
    BinaryOp.MAX: np.maximum,
    BinaryOp.AND: np.bitwise_and,
    BinaryOp.OR: np.bitwise_or,
    BinaryOp.XOR: np.bitwise_xor,
}


def everything() -> str:
    """Return a kernel where a warp combines in every way, one result after the other."""
    lines = [line for lines in WARP_HELPERS.values() for line in lines]
    lines += ['extern "C" __global__ void k(const unsigned int *x, unsigned int *z)', "{"]
    lines.append("    const int t = (int)threadIdx.x;")
    for number, ((_, dtype), function) in enumerate(ALL):
        kind = "int" if dtype is DType.INT32 else "unsigned int"
        lines.append(f"    {kind} v{number} = ({kind})x[t];")
        call = function.call(f"v{number}", dtype)
        lines.append(f"    z[{32 * number} + t] = (unsigned int){call};")
    return "\n".join([*lines, "}", ""])


@pytest.mark.toolchain
@pytest.mark.parametrize("condition", ["1", "0"], ids=["instruction", "shuffles"])
def test_every_lane_has_what_numpy_says(condition: str) -> None:
    text, count = re.subn("#if defined.*", f"#if {condition}", everything())
    assert count == len(WARP_HELPERS)
    values = np.random.default_rng(5).integers(0, 2**32, 32, np.uint32)
    found = np.zeros((len(ALL), 32), np.uint32)
    provider = EmulatedProvider()
    module = provider.compile(text, ("k",))
    buffers = [provider.alloc(values.nbytes), provider.alloc(found.nbytes)]
    provider.upload(buffers[0], values)
    provider.launch(module, "k", (1, 1, 1), (32, 1, 1), buffers)
    provider.download(buffers[1], found)
    for ((op, dtype), _), lanes in zip(ALL, found, strict=True):
        kind = np.int32 if dtype is DType.INT32 else np.uint32
        expected = PEERS[op].reduce(values.view(kind), dtype=kind)
        assert (lanes.view(kind) == expected).all(), (op, dtype)


@pytest.mark.machine
@needs_nvcc
def test_nvcc_takes_both_for_every_architecture() -> None:
    resources_of(everything(), ("k",))


def row_max(x: po.i32[N, M], out: po.i32[N]) -> None:  # noqa: F821
    out[:] = np.max(x, axis=1)


def row_sum(x: po.i32[N, M], out: po.i32[N]) -> None:  # noqa: F821
    for i in range(x.shape[0]):
        out[i] = 0
        for j in range(x.shape[1]):
            out[i] += x[i, j]


def sums_of_floats(x: po.f32[N, M], out: po.f32[N]) -> None:  # noqa: F821
    out[:] = np.sum(x, axis=1)


def few(x: po.i32[N, 16], out: po.i32[N]) -> None:  # noqa: F821
    out[:] = np.max(x, axis=1)


def running(x: npt.NDArray[np.int32], out: npt.NDArray[np.int32]) -> None:
    out[:] = np.maximum.accumulate(x)


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("function", "word"), [(row_max, "po_warp_max_i32(own)"), (row_sum, "po_warp_add(")]
)
def test_rows_of_integers(function: po.Kernel, word: str) -> None:
    kernel = po.kernel(target="cuda", device="emulated")(function)
    for rows, columns in ((3, 1), (2, 45), (3, 300)):
        x = np.random.default_rng(columns).integers(-(2**31), 2**31, (rows, columns), np.int32)
        ours, theirs = np.zeros((2, rows), np.int32)
        kernel(x, ours)
        with np.errstate(over="ignore"):
            function(x, theirs)
        assert np.array_equal(ours, theirs)
    assert word in bare(kernel.compile(x, ours).source)


@pytest.mark.toolchain
@pytest.mark.parametrize("function", [sums_of_floats, few], ids=lambda f: f.__name__)
def test_floats_and_parts_of_a_warp_are_shuffled(function: po.Kernel) -> None:
    text = po.kernel(target="cuda", device="emulated")(function).compile().source
    assert "po_warp" not in text
    assert "__shfl_down_sync(" in text


@pytest.mark.toolchain
def test_extrema_of_parts_of_a_scan() -> None:
    kernel = po.kernel(target="cuda", device="emulated")(running)
    x = np.random.default_rng(1).integers(-9, 9, 5000).astype(np.int32)
    ours, theirs = np.zeros_like(x), np.zeros_like(x)
    kernel(x, ours)
    running(x, theirs)
    assert np.array_equal(ours, theirs)
    assert "po_warp_max_i32(" in kernel.compile(x, ours).source
