"""Complex numbers in kernels: what NumPy computes, to the last bit where it is arithmetic."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import polyopt as po
from tests.gpu.runtime.needs import opencl_or_skip

DEVICES = [("cuda", "emulated"), pytest.param("opencl", None, marks=pytest.mark.machine)]
TYPES = [np.complex64, np.complex128]


def arithmetic(a, b, c, s, out, flags, r):
    for i in range(a.shape[0]):
        out[0, i] = a[i] * b[i] + s
        out[1, i] = a[i] / b[i]
        out[2, i] = -a[i] + np.conj(b[i]) * (2 - 1j)
        out[3, i] = a[i].real - 1j * b[i].imag
        out[4, i] = np.where(r[i] > 0.5, a[i], b[i])
        out[5, i] += c[i]
        out[6, i] = a[i] * r[i] + 3
        flags[0, i] = a[i] == b[i]
        flags[1, i] = a[i] != s
        flags[2, i] = np.isnan(a[i])
        flags[3, i] = np.isfinite(a[i] / c[i])
        r[i] = np.abs(a[i]) + b[i].imag


def functions(z, out):
    for i in range(z.shape[0]):
        out[0, i] = np.exp(z[i])
        out[1, i] = np.log(z[i])
        out[2, i] = np.sqrt(z[i])
        out[3, i] = np.sinh(z[i])
        out[4, i] = np.cosh(z[i])
        out[5, i] = np.tanh(z[i])
        out[6, i] = np.sin(z[i])
        out[7, i] = np.cos(z[i])
        out[8, i] = np.tan(z[i])
        out[9, i] = z[i] ** (1.5 - 0.5j)
        out[10, i] = np.arcsin(z[i])
        out[11, i] = np.arccos(z[i])
        out[12, i] = np.arctan(z[i])
        out[13, i] = np.arcsinh(z[i])
        out[14, i] = np.arccosh(z[i])
        out[15, i] = np.arctanh(z[i])


def product(A, B):
    return A @ B


def casts(z, n, wide, flags):
    wide[:] = z
    z[:] = n
    flags[:] = z.astype(np.bool_)


def numbers(shape: Any, dtype: Any, seed: int = 1) -> Any:
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)


def kernel(function: Any, target: str, device: str | None) -> po.Kernel[Any]:
    if target == "opencl":
        opencl_or_skip()
    return po.kernel(target=target, device=device)(function)


@pytest.mark.toolchain
@pytest.mark.parametrize("target, device", DEVICES)
@pytest.mark.parametrize("dtype", TYPES)
def test_arithmetic(dtype: Any, target: str, device: str | None) -> None:
    a, b, c, out = (numbers(shape, dtype, k) for k, shape in enumerate((21, 21, 21, (7, 21))))
    a[3], a[4], b[6], c[5] = b[3], np.nan, 0, 0
    a[7], a[8], b[9], b[10] = 1.5 - 2j, 1.5, a[9].real, 1j * a[10].imag
    flags, r = np.zeros((4, 21), np.bool_), np.linspace(0, 1, 21).astype(dtype(0).real.dtype)
    mine = [a, b, c, dtype(1.5 - 2j), out, flags, r]
    theirs = copy.deepcopy(mine)
    kernel(arithmetic, target, device)(*mine)
    with np.errstate(all="ignore"):
        arithmetic(*theirs)
    for left, right in zip(mine[:-1], theirs[:-1], strict=True):
        assert np.array_equal(left, right, equal_nan=True)
    np.testing.assert_allclose(r, theirs[-1], atol=4 * np.finfo(dtype).eps)


@pytest.mark.toolchain
@pytest.mark.parametrize("target, device", DEVICES)
@pytest.mark.parametrize("dtype", TYPES)
def test_functions(dtype: Any, target: str, device: str | None) -> None:
    parts = np.array(
        [0, 1, -1, 1e-3, 0.6, -0.8, 30, -88.9, 1e-40, 1e38, np.inf], dtype(0).real.dtype
    )
    z = np.empty((parts.size, parts.size), dtype)
    z.real, z.imag = parts[:, None], parts
    z = z.ravel()
    mine = np.zeros((16, z.size), dtype)
    theirs = mine.copy()
    kernel(functions, target, device)(z, mine)
    with np.errstate(all="ignore"):
        functions(z, theirs)
        near = np.abs(mine - theirs) <= 8 * np.finfo(dtype).eps * np.abs(theirs)
    for part in ("real", "imag"):
        left, right = getattr(mine, part), getattr(theirs, part)
        near |= (left == right) | (np.isnan(left) & np.isnan(right))
    assert near.all(), [(row, z[i], mine[row, i], theirs[row, i]) for row, i in np.argwhere(~near)]


@pytest.mark.toolchain
@pytest.mark.parametrize("target, device", DEVICES)
@pytest.mark.parametrize("dtype", TYPES)
def test_tiles(dtype: Any, target: str, device: str | None) -> None:
    A, B = numbers((9, 17), dtype), numbers((17, 10), dtype, 2)
    found = kernel(product, target, device)(A, B)
    np.testing.assert_allclose(found, A @ B, rtol=1000 * np.finfo(dtype).eps)


@pytest.mark.toolchain
@pytest.mark.parametrize("target, device", DEVICES)
def test_casts(target: str, device: str | None) -> None:
    z, n = numbers(5, np.complex64), np.array([0, 1, -2, 2**24 + 1, 7])
    mine = [z, n, np.zeros(5, np.complex128), np.zeros(5, np.bool_)]
    theirs = copy.deepcopy(mine)
    kernel(casts, target, device)(*mine)
    casts(*theirs)
    for left, right in zip(mine, theirs, strict=True):
        assert np.array_equal(left, right)
