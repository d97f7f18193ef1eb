"""Exponential and hyperbolic tangent: errors in units of the last place, special values."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po


@po.kernel(threads=1)
def both(x):
    return np.exp(x), np.tanh(x)


SPECIAL = [
    np.nan, np.inf, -np.inf, 0.0, -0.0, 88.72283, 88.7229, -87.4, -103.9, -104.1, 709.78, 709.79,
    -745.1, -745.2, -720.0, 1e30, -1e30, 1e-30, -1e-30, 1e-4, -1e-4, 0.346, -0.347, 20.0, -20.0,
]  # fmt: skip


def error(got, want):
    """Return the largest error in units of the last place of normal results."""
    rounded = want.astype(got.dtype)
    normal = np.isfinite(rounded) & (np.abs(rounded) >= np.finfo(got.dtype).tiny)
    unit = np.spacing(np.abs(rounded[normal])).astype(np.longdouble)
    return float((np.abs(got[normal] - want[normal]) / unit).max())


@pytest.mark.toolchain
@pytest.mark.parametrize("dtype, limit, tanh_limit", [(np.float32, 0.51, 0.51), (np.float64, 1, 3)])
def test_errors_and_special_values(dtype, limit, tanh_limit):
    rng = np.random.default_rng(1)
    top = np.log(np.finfo(dtype).max)
    parts = (rng.uniform(-1.05 * top, top, 40_000), rng.uniform(-1, 1, 40_000))
    small = rng.standard_normal(10_000) * 1e-3
    x = np.concatenate([*parts, small]).astype(dtype)
    exp, tanh = both(x)
    with np.errstate(all="ignore"):
        assert error(exp, np.exp(x.astype(np.longdouble))) < limit
        assert error(tanh, np.tanh(x.astype(np.longdouble))) < tanh_limit
        special = np.array(SPECIAL, dtype)
        exp, tanh = both(special)
        np.testing.assert_allclose(exp, np.exp(special), rtol=4 * np.finfo(dtype).eps, atol=5e-324)
        np.testing.assert_allclose(tanh, np.tanh(special), rtol=4 * np.finfo(dtype).eps)
        assert (np.signbit(tanh) == np.signbit(special))[1:].all()


@po.kernel(threads=1)
def cubes(x):
    return x**3


@pytest.mark.toolchain
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cubes_are_rounded_once(dtype):
    rng = np.random.default_rng(2)
    x = np.concatenate([rng.standard_normal(20_000), rng.uniform(-1e12, 1e12, 20_000)])
    x = x.astype(dtype)
    assert error(cubes(x), x.astype(np.longdouble) ** 3) < 0.501
    with np.errstate(all="ignore"):
        special = np.array([*SPECIAL, 1e200, -1e110, 1e-110, 5e102, 1e-320]).astype(dtype)
        np.testing.assert_allclose(cubes(special), np.power(special, 3), atol=5e-324)
