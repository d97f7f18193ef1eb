"""Operations on numbers of 16 bits: NumPy's bits, for every number there is."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import UsageError
from polyopt.ir import types
from polyopt.ir.types import DType
from tests.unit.halves.arrays import HALVES, assert_bits, every, mixed

pytestmark = pytest.mark.toolchain


def arithmetic(a, b):
    return a + b, a - b, a * b, a / b, np.minimum(a, b), np.maximum(a, b), -a, np.abs(a)


def divisions(a, b):
    return a // b, a % b, np.sqrt(np.abs(a)), np.floor(a), np.rint(b), np.copysign(a, b)


def comparisons(a, b):
    return a < b, a <= b, a == b, a != b, np.isnan(a), np.isfinite(b), np.signbit(a)


def chained(a, b):
    c = (a + b) * a - b / 3
    return np.where(c > a, c * 0.5, np.maximum(c, b))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("function", [arithmetic, divisions, comparisons], ids=lambda f: f.__name__)
def test_operations(function: Any, dtype: DType) -> None:
    a, b = every(dtype), mixed(dtype)
    with np.errstate(all="ignore"):
        want = function(a, b)
    for number, (mine, theirs) in enumerate(zip(po.kernel(function)(a, b), want, strict=True)):
        if theirs.dtype == bool:
            np.testing.assert_array_equal(mine, theirs)
        else:
            assert_bits(mine, theirs, f"result {number}")


def test_each_operation_of_a_chain_rounds() -> None:
    a, b = every(DType.FLOAT16), mixed(DType.FLOAT16)
    with np.errstate(all="ignore"):
        assert_bits(po.kernel(chained)(a, b), chained(a, b))


def to_half(x):
    return x.astype(np.float16)


def from_half(h):
    return h.astype(np.float32), h.astype(np.float64), h.astype(np.complex64), h.astype(bool)


def wide(kind: type[np.generic]) -> np.ndarray[Any, Any]:
    """Return numbers around every border between two halves, and those beyond."""
    half = every(DType.FLOAT16).astype(np.float64)
    half = np.unique(half[np.isfinite(half)])
    middle = (half[1:] + half[:-1]) / 2
    step = np.float64(np.finfo(kind).eps) if issubclass(kind, np.floating) else 0.0
    parts = [half, middle, middle * (1 + step), middle * (1 - step)]
    if issubclass(kind, np.floating):
        parts.append(np.array([65519.99, 65520.0, 65520.01, 1e30, -1e30, np.nan, np.inf, -np.inf]))
    return np.concatenate(parts).astype(kind)


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int32, np.int64, np.int8, np.bool_])
def test_casts_to_half(kind: type[np.generic]) -> None:
    with np.errstate(all="ignore"):
        values = wide(kind)
        assert_bits(po.kernel(to_half)(values), values.astype(np.float16))


def test_casts_from_half() -> None:
    half = every(DType.FLOAT16)
    for mine, theirs in zip(po.kernel(from_half)(half), from_half(half), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def scaled(x, alpha, beta):
    return x * alpha + beta


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_numbers_as_arguments(dtype: DType) -> None:
    kind = dtype.numpy.type
    x, alpha, beta = every(dtype), kind(1.1), kind(-3e-5)
    with np.errstate(all="ignore"):
        assert_bits(po.kernel(scaled)(x, alpha, beta), scaled(x, alpha, beta))


def test_bfloat16_without_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    types._bfloat16.cache_clear()
    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(UsageError) as caught:
        _ = DType.BFLOAT16.numpy
    types._bfloat16.cache_clear()
    assert caught.value.code == "PO0226"
    assert "polyopt[halffloat]" in str(caught.value.hint)
    assert (DType.BFLOAT16.size, DType.BFLOAT16.is_half) == (2, True)


def neighbours(a, b):
    return np.nextafter(a, b), np.spacing(a), np.logaddexp(a, b), np.rad2deg(a), np.sign(b)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_functions_of_several_operations_round_once(dtype: DType) -> None:
    a = np.concatenate([every(dtype), every(dtype)])
    b = np.concatenate([mixed(dtype), -every(dtype)])
    with np.errstate(all="ignore"):
        want = neighbours(a, b)
    for number, (mine, theirs) in enumerate(zip(po.kernel(neighbours)(a, b), want, strict=True)):
        assert_bits(mine, theirs, f"result {number}")


def beside(x, n):
    return np.where(x > 0, x, 1.0), np.clip(x, 0, 1), np.clip(x, 0, None), x + 1, x * 2.5, x @ n


def test_bfloat16_has_numpys_types_beside_others() -> None:
    if DType.BFLOAT16 not in HALVES:
        pytest.skip("ml_dtypes is not installed")
    x = np.linspace(-2, 2, 9).astype(DType.BFLOAT16.numpy)
    for mine, theirs in zip(po.kernel(beside)(x, x), beside(x, x), strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_array_equal(mine.astype(np.float64), theirs.astype(np.float64))
