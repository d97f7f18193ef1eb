"""Numbers of 16 bits in kernels: NumPy's bits, and products that are summed in float32."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt.ir.types import DType
from tests.gpu.runtime.needs import opencl_or_skip
from tests.unit.halves.arrays import HALVES, assert_bits, every, mixed

pytestmark = pytest.mark.toolchain

OPENCL = pytest.param("opencl", None, marks=pytest.mark.machine)
FAST = [("cuda", "emulated-fast"), OPENCL]


def operations(a, b, s, out, flags, wide):
    out[0] = (a + b) * a - b / s
    out[1] = np.minimum(a, b)
    out[2] = np.sqrt(np.abs(a))
    out[3] = np.maximum(a * b, a)
    out[4] = a
    flags[:] = a < b
    wide[:] = a


def narrowed(wide, single, count, out):
    out[0] = wide
    out[1] = single
    out[2] = count


def product(A, x):
    return A @ x


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def kernel(function: Any, target: str, device: str | None) -> po.Kernel[Any]:
    if target == "opencl":
        opencl_or_skip()
    return po.kernel(target=target, device=device)(function)


def run_operations(target: str, device: str | None, dtype: DType, step: int) -> None:
    a, b = every(dtype)[::step].copy(), mixed(dtype)[::step].copy()
    s = dtype.numpy.type(3)

    def results() -> tuple[Any, ...]:
        out = np.zeros((5, a.size), dtype.numpy)
        return out, np.zeros(a.size, np.bool_), np.zeros(a.size, np.float32)

    mine, theirs = results(), results()
    kernel(operations, target, device)(a, b, s, *mine)
    with np.errstate(all="ignore"):
        operations(a, b, s, *theirs)
    for row in range(5):
        assert_bits(mine[0][row], theirs[0][row], f"row {row}")
    np.testing.assert_array_equal(mine[1], theirs[1])
    np.testing.assert_array_equal(mine[2], theirs[2])


@pytest.mark.parametrize("target, device", FAST)
@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_operations_on_all_numbers(dtype: DType, target: str, device: str | None) -> None:
    run_operations(target, device, dtype, 1)


def test_operations_under_the_checks_of_the_emulator() -> None:
    run_operations("cuda", "emulated", DType.FLOAT16, 131)


@pytest.mark.parametrize("target, device", FAST)
def test_casts(target: str, device: str | None) -> None:
    half = every(DType.FLOAT16).astype(np.float64)
    half = half[np.isfinite(half)]
    wide = np.concatenate([half * (1 + 2.0**-11), half * (1 + 2.0**-11 + 2.0**-40), [np.nan]])
    single = wide.astype(np.float32)
    count = np.arange(wide.size) * 7 - 60000
    mine, theirs = (np.zeros((3, wide.size), np.float16) for _ in range(2))
    kernel(narrowed, target, device)(wide, single, count, mine)
    with np.errstate(all="ignore"):
        narrowed(wide, single, count, theirs)
    for row in range(3):
        assert_bits(mine[row], theirs[row], f"row {row}")


@pytest.mark.parametrize("target, device", [("cuda", "emulated"), OPENCL])
def test_products(target: str, device: str | None) -> None:
    rng = np.random.default_rng(3)
    A, B = (rng.standard_normal(shape).astype(np.float16) for shape in ((19, 33), (33,)))
    found = kernel(product, target, device)(A, B)
    exact = A.astype(np.float64) @ B.astype(np.float64)
    assert found.dtype == np.float16
    np.testing.assert_allclose(found.astype(np.float64), exact, rtol=2.0**-11 * 1.01, atol=1e-4)


@pytest.mark.parametrize("target, device", FAST)
def test_rows(target: str, device: str | None) -> None:
    x = np.random.default_rng(4).standard_normal((6, 40)).astype(np.float16)
    found = kernel(softmax, target, device)(x)
    np.testing.assert_allclose(found.astype(np.float64), softmax(x), rtol=4 * 2.0**-11)


def test_the_devices_own_instructions_convert() -> None:
    compiled = po.kernel(target="cuda", device="emulated")(product)
    text = compiled.compile(po.f16["N,K"], po.f16["K"]).source
    assert "const unsigned short *__restrict__ A" in text
    assert 'asm("cvt.rn.f16.f32' in text
