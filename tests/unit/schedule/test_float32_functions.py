"""Functions of float32 numbers between conversions are computed in float32, and only those."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import polyopt as po

# ruff: noqa: F821, UP037 - sizes are named by strings


def straight(x: po.f32["N"], y: po.f32["N"]):
    for i in range(x.shape[0]):
        y[i] = math.exp(x[i])


def by_a_temporary(x: po.f32["N"], y: po.f32["N"]):
    for i in range(x.shape[0]):
        t = math.exp(-x[i])
        y[i] = x[i] * t


def nested(x: po.f32["N"], y: po.f32["N"]):
    for i in range(x.shape[0]):
        y[i] = x[i] / math.sqrt(x[i]) + math.tanh(x[i] * math.log(x[i] + x.dtype.type(1)))


def of_an_array(x: po.f32["N"], y: po.f32["N"]):
    y[:] = np.log(x.astype(np.float64)).astype(np.float32)


def used_in_double(x: po.f32["N"], y: po.f32["N"]):
    for i in range(x.shape[0]):
        y[i] = 1.0 / (1.0 + math.exp(-x[i]))


def read_both_ways(x: po.f32["N"], y: po.f32["N"]):
    total = 0.0
    for i in range(x.shape[0]):
        t = math.exp(-x[i])
        y[i] = x[i] * t
        total += t
    return total


def read_as_a_number(x: po.f32["N"], y: po.f32["N"]):
    for i in range(x.shape[0]):
        t = math.exp(x[i])
        y[i] = int(t)


def made_in_double(x: po.f64["N"], y: po.f32["N"]):
    for i in range(x.shape[0]):
        y[i] = math.exp(x[i])


NARROWED = [straight, by_a_temporary, nested, of_an_array]
LEFT = [used_in_double, read_both_ways, read_as_a_number, made_in_double]


def arguments(function):
    dtype = np.float64 if function is made_in_double else np.float32
    x = np.random.default_rng(0).uniform(0.1, 8, 1003).astype(dtype)
    return x, np.zeros(1003, np.float32)


def calls_doubles(function, fp: str) -> bool:
    source = po.kernel(function, fp=fp, threads=1).compile().source
    return re.search(r"po_(exp|log|tanh)_f64\((?!double x\))", source) is not None


@pytest.mark.toolchain
@pytest.mark.parametrize("function", NARROWED)
def test_what_becomes_float32_is_computed_in_float32(function):
    assert not calls_doubles(function, "reassociate")
    assert calls_doubles(function, "strict")


@pytest.mark.toolchain
@pytest.mark.parametrize("function", LEFT)
def test_what_is_used_in_float64_stays(function):
    assert calls_doubles(function, "reassociate")


@pytest.mark.toolchain
@pytest.mark.parametrize("function", [*NARROWED, *LEFT])
def test_results_are_within_their_bounds(function):
    args = arguments(function)
    compiled = po.kernel(function, fp="reassociate", threads=1).compile(*args)
    for comparison in compiled.compare(*args):
        assert comparison.holds


@pytest.mark.toolchain
def test_ends_of_the_range_are_those_of_float64():
    x = np.array([-200, -104, -90, 88, 89, 1000, np.inf, -np.inf, np.nan], np.float32)
    y = np.zeros_like(x)
    po.kernel(straight, fp="reassociate")(x, y)
    with np.errstate(over="ignore"):
        want = np.exp(x.astype(np.float64)).astype(np.float32)
    np.testing.assert_allclose(y, want, rtol=2e-7, atol=2e-45)
