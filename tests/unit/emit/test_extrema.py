"""Extrema of floats run in lanes: NaN, infinities and the signs of zeros are as the source says."""

from __future__ import annotations

import shutil
import subprocess
from itertools import product

import numpy as np
import pytest

import polyopt as po
from polyopt.emit.helpers import definition
from polyopt.emit.helpers.helper import Helper, HelperKind
from polyopt.ir.types import DType
from polyopt.runtime.toolchain import COMMON_FLAGS

# ruff: noqa: F821, UP037 - sizes are named by strings

pytestmark = pytest.mark.toolchain
SIZES = (0, 1, 2, 15, 16, 17, 64, 100)


def choice(x: po.f32["N"], out: po.f32[1]):
    top = out[0]
    for i in range(x.shape[0]):
        top = x[i] if x[i] > top else top
    out[0] = top


def last_choice(x: po.f32["N"], out: po.f32[1]):
    top = out[0]
    for i in range(x.shape[0]):
        top = x[i] if x[i] >= top else top
    out[0] = top


def guarded(x: po.f32["N"], out: po.f32[1]):
    low = out[0]
    for i in range(x.shape[0]):
        if x[i] * 2 < low:
            low = x[i] * 2
    out[0] = low


def guarded_element(x: po.f32["N"], out: po.f32[1]):
    for i in range(x.shape[0]):
        if out[0] < x[i]:
            out[0] = x[i]


def wide(x: po.f64["N"], out: po.f64[1]):
    for i in range(x.shape[0]):
        out[0] = min(out[0], x[i])


def _rows(count, dtype):
    """Yield rows that start with, hold and end with what the order of a choice decides about."""
    rng = np.random.default_rng(count)
    plain = rng.standard_normal(count).astype(dtype)
    yield plain
    for value in (np.nan, np.inf, -np.inf, 0.0, -0.0):
        for place in {0, count // 2, count - 1} if count else ():
            row = plain.copy()
            row[place] = value
            yield row
            yield -np.abs(row)
            yield np.abs(row)
    yield np.where(rng.random(count) < 0.5, -0.0, 0.0).astype(dtype)
    yield np.where(rng.random(count) < 0.5, -0.0, -1.0).astype(dtype)
    yield np.full(count, np.nan, dtype)


@pytest.mark.parametrize("fp", ["strict", "reassociate"])
@pytest.mark.parametrize("function", [choice, last_choice, guarded, guarded_element, wide])
def test_extrema_have_the_bits_of_the_source(function, fp):
    dtype = np.float64 if function is wide else np.float32
    fast = po.kernel(fp=fp, threads=1)(function)
    for count in SIZES:
        starts = (-np.inf, np.inf, np.nan, 0.0, -0.0, -1.0, 1.0)
        for row, start in product(_rows(count, dtype), starts):
            found, expected = np.full(1, start, dtype), np.full(1, start, dtype)
            fast(row, found)
            with np.errstate(all="ignore"):
                function(row, expected)
            np.testing.assert_array_equal(found, expected)
            if fp == "strict" and not np.isnan(expected[0]):
                assert found.tobytes() == expected.tobytes()


def rows(x: po.f32["N,M"]):
    return x.max(axis=1), x.min(axis=1, keepdims=True), np.max(x)


@pytest.mark.parametrize("count", [1, 16, 17, 100])
def test_extrema_of_numpy_keep_nan(count):
    x = np.stack(list(_rows(count, np.float32)))
    fast = po.kernel(rows)
    for value in (x, np.nan_to_num(x), np.ascontiguousarray(x[:1])):
        for found, expected in zip(fast(value), rows(value), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_a_strict_chain_of_choices_is_in_lanes():
    source = po.kernel(choice).compile(np.zeros(4, np.float32), np.zeros(1, np.float32)).source
    assert "#pragma omp simd reduction(max : " in source


def noting(x: po.f32["N"], y: po.f32["N"], out: po.f32[1]):
    for i in range(x.shape[0]):
        if x[i] > out[0]:
            out[0] = x[i]
        y[i] = out[0]


def test_a_running_maximum_stays_in_order():
    rng = np.random.default_rng(1)
    x = rng.standard_normal(50).astype(np.float32)
    found = [np.zeros(50, np.float32), np.full(1, -np.inf, np.float32)]
    expected = [array.copy() for array in found]
    po.kernel(noting)(x, *found)
    noting(x, *expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
@pytest.mark.parametrize("kind", [HelperKind.MIN, HelperKind.MAX])
def test_gcc_vectorizes_extrema_of_scalars(kind, tmp_path):
    helper = Helper(kind, DType.FLOAT64)
    loop = f"""
    void f(const double *restrict x, double *restrict y, long n)
    {{
        #pragma omp simd
        for (long i = 0; i < n; i++)
            y[i] = {helper.name}({helper.name}(x[i], x[i + 1]), x[i + 2]);
    }}"""
    path = tmp_path / "f.c"
    path.write_text("\n".join(definition(helper)) + loop)
    flags = [flag for flag in COMMON_FLAGS if flag != "-w"]
    command = ["gcc", *flags, "-fopenmp-simd", "-fopt-info-vec", "-c", str(path)]
    done = subprocess.run([*command, "-o", "/dev/null"], capture_output=True, text=True, check=True)
    assert "loop vectorized" in done.stderr + done.stdout
