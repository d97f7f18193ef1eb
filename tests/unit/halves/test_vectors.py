"""Products of 16-bit matrices in C: their elements are converted as vectors are loaded."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import polyopt as po
from polyopt.building import compile_stages
from polyopt.frontend.syntax.annotations import ArrayType
from polyopt.ir.source import Layout
from polyopt.ir.types import DType
from polyopt.targets import Options, detect_machine
from tests.unit.emit.kernels import call
from tests.unit.halves.arrays import HALVES

CASES = [
    (dtype, width)
    for dtype, width in (
        (DType.FLOAT16, 16), (DType.FLOAT16, 32), (DType.BFLOAT16, 32), (DType.BFLOAT16, 64)
    )
    if dtype in HALVES
]  # fmt: skip


def product(a, b):
    return a @ b


@pytest.mark.toolchain
@pytest.mark.parametrize("dtype, width", CASES, ids=str)
def test_vectors_are_converted_as_they_are_loaded(dtype: DType, width: int) -> None:
    machine = replace(detect_machine(), vector_bytes=width, fma=True)
    kind = ArrayType(dtype, 2, Layout.C, (False, False))
    stages = compile_stages(product, (kind, kind), Options(), machine)
    assert stages.certificate is not None
    assert not stages.certificate.faults
    short = "f16" if dtype is DType.FLOAT16 else "bf16"
    assert f"po_load_{short}x{width // 4}(" in stages.source.text
    assert f"po_splat_{short}x{width // 4}(" in stages.source.text
    rng = np.random.default_rng(width)
    a = rng.standard_normal((37, 53)).astype(dtype.numpy)
    b = rng.standard_normal((53, 61)).astype(dtype.numpy)
    result = next(array for array in stages.loops.arrays if array.name == "result")
    out = np.zeros((37, 61), result.dtype.numpy)
    names = {array.name: out for array in stages.loops.arrays if array.name == "result"}
    names |= {"a": a, "b": b}
    sizes = {"a_0": 37, "a_1": 53, "b_0": 53, "b_1": 61}
    found = call(stages.loops, names, {p: sizes[p] for p in stages.loops.params})["result"]
    exact = a.astype(np.float64) @ b.astype(np.float64)
    rounding = 2.0**-11 if result.dtype is DType.FLOAT16 else 2.0**-20
    assert (np.abs(found - exact) <= rounding * np.abs(exact) + 1e-4).all()


def spread(a, b, c, d):
    b[:] = a[:, None]
    c[:] = a[:, None].astype(np.float32) * 2
    d[:] = a[:, None] + c


@pytest.mark.toolchain
@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_one_number_for_all_lanes(dtype: DType) -> None:
    a = np.linspace(-2, 2, 7).astype(dtype.numpy)
    mine = [np.zeros((7, 40), kind) for kind in (np.float64, np.float32, np.float64)]
    theirs = [array.copy() for array in mine]
    po.kernel(spread)(a, *mine)
    spread(a, *theirs)
    for left, right in zip(mine, theirs, strict=True):
        np.testing.assert_array_equal(left, right)
