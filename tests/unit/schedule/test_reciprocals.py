"""Quotients by what a loop shares: products with a reciprocal, right for every divisor."""

from __future__ import annotations

import math

import numpy as np
import pytest

import polyopt as po
from tests.texts import bare

# ruff: noqa: F821, UP037 - sizes are named by strings


def by_row(y: po.f64["N,M"], x: po.f64["N,M"], total: po.f64["N"]):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] / total[i]


def by_row_single(y: po.f32["N,M"], x: po.f32["N,M"], total: po.f32["N"]):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] / total[i]


def by_column(y: po.f64["N,M"], x: po.f64["N,M"], total: po.f64["M"]):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] / total[j]


def by_number(x: po.f64["N"]):
    return x / 3.0


def by_size(x: po.f64["N"]):
    return x / x.shape[0]


def by_power(x: po.f64["N"], base: float, step: int):
    return x / (1.0 - base**step)


def by_own_row(x: po.f64["N,M"]):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            x[i, j] = x[i, j] / x[i, 0]


def of_first(x: po.f64["N"]):
    for i in range(x.shape[0]):
        x[i] = x[i] * np.exp(x[0])


def c_text(function, fp: str) -> str:
    """Return the text behind the helpers."""
    source = po.kernel(function, fp=fp, threads=1).compile().source
    return bare(source[source.index("int polyopt_" + function.__name__) :])


def values(dtype: type) -> np.ndarray:
    """Numbers of every size: zeros, the smallest, the largest, infinities, NaN."""
    info = np.finfo(dtype)
    sizes = [
        *(0.0, float(info.smallest_subnormal), 3 * float(info.smallest_subnormal)),
        *(float(info.tiny), 1.5 * float(info.tiny), 4.7 * float(info.tiny), 1e-20, 1.0, 3.0, 7e9),
        *(float(info.max) / 16, float(info.max) / 3, float(info.max), math.inf, math.nan),
    ]
    return np.array([*sizes, *(-size for size in sizes)], dtype)


@pytest.mark.toolchain
@pytest.mark.parametrize(("function", "dtype"), [(by_row, np.float64), (by_row_single, np.float32)])
def test_every_divisor_gives_the_quotient(function, dtype):
    numbers = values(dtype)
    x = np.repeat(numbers[None, :], len(numbers), axis=0)
    y = np.empty_like(x)
    po.kernel(function, fp="reassociate")(y, x, numbers)
    with np.errstate(all="ignore"):
        expected = x / numbers[:, None]
        apart = np.abs(y - expected)
        room = 2 * np.spacing(np.abs(expected))
    is_same = (y == expected) | (np.isnan(y) & np.isnan(expected))
    is_near = np.isfinite(expected) & np.isfinite(y) & (apart <= room)
    assert (is_same | is_near).all()
    assert (np.signbit(y) == np.signbit(expected))[expected == 0].all()


@pytest.mark.toolchain
def test_a_shared_divisor_is_divided_by_once():
    assert "po_reciprocal_f64(total[i])" in c_text(by_row, fp="reassociate")
    assert "1.0 / 3.0" in c_text(by_number, fp="reassociate")
    assert "1.0 / (double)" in c_text(by_size, fp="reassociate")


@pytest.mark.toolchain
@pytest.mark.parametrize("function", [by_column, by_own_row])
def test_a_divisor_that_changes_in_the_loop_is_divided_by(function):
    text = c_text(function, fp="reassociate")
    assert "reciprocal" not in text
    assert " / " in text


@pytest.mark.toolchain
def test_strict_divides():
    for function in (by_row, by_number, by_size, by_power):
        assert "reciprocal" not in c_text(function, fp="strict")
        assert "1.0 /" not in c_text(function, fp="strict")


@pytest.mark.toolchain
def test_functions_of_arguments_stand_before_the_loops():
    for mode in ("strict", "reassociate"):
        text = c_text(by_power, fp=mode)
        assert text.index("1.0 - pow(base, ") < text.index("for (")


@pytest.mark.toolchain
def test_functions_of_elements_stay_where_they_are():
    first = np.arange(1.0, 9.0) / 8
    want, got = first.copy(), first.copy()
    of_first(want)
    for mode in ("strict", "reassociate"):
        assert "number" not in c_text(of_first, fp=mode)
    po.kernel(of_first)(got)
    np.testing.assert_allclose(got, want, rtol=1e-14)


@pytest.mark.toolchain
def test_the_numerics_say_what_a_product_with_a_reciprocal_is():
    found = po.kernel(by_number, fp="reassociate").compile().numerics
    assert "division" in str(found.to_record())
    assert "division" not in str(po.kernel(by_number, fp="strict").compile().numerics.to_record())


def cells(x: po.f64["N"], size: float, y: po.i64["N"]):
    for i in range(x.shape[0]):
        y[i] = int(x[i] / size)


def cells_of_shares(x: po.f64["N"], size: float, share: po.f64["N"], y: po.i64["N"]):
    for i in range(x.shape[0]):
        share[i] = x[i] / size
    for i in range(x.shape[0]):
        y[i] = np.floor(2.0 * share[i])


@pytest.mark.toolchain
@pytest.mark.parametrize("fp", ["reassociate", "fast"])
def test_what_is_rounded_to_integers_is_divided_exactly(fp):
    x, y = np.arange(200.0), np.zeros(200, np.int64)
    kernel, of_shares = po.kernel(cells, fp=fp), po.kernel(cells_of_shares, fp=fp)
    for size in (3.0, 49.0, 0.1, 98.0):
        kernel(x, size, y)
        assert np.array_equal(y, (x / size).astype(np.int64))
        of_shares(x, size, np.zeros(200), y)
        assert np.array_equal(y, np.floor(2.0 * (x / size)))
