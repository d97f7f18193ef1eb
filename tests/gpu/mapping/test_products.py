"""Products with whole tiles: same results, within a thread's registers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import polyopt as po
from polyopt.runtime.device.resources import resources_of
from polyopt.runtime.store import Store
from tests.gpu.runtime.needs import needs_nvcc


def product(A, B):
    return A @ B


def layer(A, B, b):
    return np.maximum(A @ B + b, 0)


def lower_half(A, C):
    for i in range(A.shape[0]):
        C[i, : i + 1] = 0.5 * C[i, : i + 1] + A[: i + 1] @ A[i]


def small(*shape: int, dtype: type = np.float32) -> np.ndarray:
    rng = np.random.default_rng(shape[0])
    return rng.integers(-4, 5, shape).astype(dtype)


@pytest.mark.toolchain
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_whole_and_partial_tiles(dtype: type):
    kernel = po.kernel(target="cuda", device="emulated-fast")(layer)
    for n, k, m in ((128, 16, 128), (130, 35, 140), (129, 1, 264), (1, 40, 3), (5, 0, 6)):
        A, B, b = small(n, k, dtype=dtype), small(k, m, dtype=dtype), small(m, dtype=dtype)
        assert np.array_equal(kernel(A, B, b), layer(A, B, b))


@pytest.mark.toolchain
def test_triangles():
    kernel = po.kernel(target="cuda", device="emulated-fast")(lower_half)
    for n, k in ((150, 20), (128, 16), (3, 2)):
        A, C = small(n, k), small(n, n)
        expected = C.copy()
        lower_half(A, expected)
        kernel(A, C)
        assert np.array_equal(C, expected)


@needs_nvcc
@pytest.mark.machine
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_two_blocks_have_room_in_the_registers(dtype: type, tmp_path: Path):
    kernel = po.kernel(target="cuda", device="emulated-fast")(product)
    source = kernel.compile(small(2, 2, dtype=dtype), small(2, 2, dtype=dtype)).source
    store = Store(tmp_path)
    (taken,) = resources_of(source, ("product_0",), architectures=("sm_80",), store=store)
    assert (taken.resources.registers or 0) <= 128
    assert taken.spills == 0
