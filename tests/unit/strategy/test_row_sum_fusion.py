"""Sums over the same row become one loop, and what lies between them stays right."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po

# ruff: noqa: F821, UP037 - sizes are named by strings


def moments(x: po.f64["N,M"], w: po.f64["M"], out: po.f64["N"]):
    for i in range(x.shape[0]):
        first = 0.0
        for j in range(x.shape[1]):
            first += w[j] * x[i, j]
        mean = first / x.shape[1]
        second = 0.0
        for j in range(x.shape[1]):
            second += w[j] * x[i, j] * x[i, j]
        out[i] = second / x.shape[1] - mean * mean


def deviations(x: po.f64["N,M"], w: po.f64["M"], out: po.f64["N"]):
    for i in range(x.shape[0]):
        first = 0.0
        for j in range(x.shape[1]):
            first += w[j] * x[i, j]
        mean = first / x.shape[1]
        second = 0.0
        for j in range(x.shape[1]):
            second += w[j] * (x[i, j] - mean)
        out[i] = second


def apart(x: po.f64["N,M"], y: po.f64["N,M"], out: po.f64["N"]):
    for i in range(x.shape[0]):
        first = 0.0
        for j in range(x.shape[1]):
            first += x[i, j]
        mean = first / x.shape[1]
        second = 0.0
        for j in range(x.shape[1]):
            second += y[i, j]
        out[i] = second - mean


@pytest.mark.toolchain
@pytest.mark.parametrize(("function", "loops"), [(moments, 1), (deviations, 4), (apart, 2)])
def test_sums_that_read_the_same_row_are_one_loop(function, loops):
    """Those of `deviations` share weights: both loops run for groups of rows and the rest."""
    rng = np.random.default_rng(7)
    x, other = rng.random((9, 37)), rng.random(37)
    second = rng.random((9, 37)) if function is apart else other
    want, got = np.zeros(9), np.zeros(9)
    function(x, second, want)
    kernel = po.kernel(function, threads=1, fp="reassociate")
    kernel(x, second, got)
    assert np.allclose(got, want, rtol=1e-13, atol=1e-15)
    schedule = str(kernel.compile(x, second, got).schedule)
    assert schedule.count("for j =") == loops
