"""Truth values of arrays are bytes in C: their loops have vectors, and NumPy's values."""

from __future__ import annotations

import platform
import shutil
import subprocess

import numpy as np
import pytest

import polyopt as po
from polyopt.runtime.toolchain import COMMON_FLAGS

pytestmark = pytest.mark.toolchain

SIZES = (0, 1, 5, 70, 1000)


def picked(mask, x, y):
    for i in range(y.shape[0]):
        if mask[i]:
            y[i] += x[i]


def counted(mask, x, y):
    total = 0
    for i in range(y.shape[0]):
        total += mask[i]
    return total


def joined(mask, x, y):
    return mask & (x > y), mask | ~(x > y), mask ^ (x > y), np.where(mask, x, y), mask * x


def noted(mask, x, y, flag: bool):
    for i in range(y.shape[0]):
        mask[i] = flag and not (mask[i] and x[i] > y[i])
    return np.any(mask), np.all(mask), mask.sum(), mask.astype(np.float32)


def arguments(n):
    rng = np.random.default_rng(n)
    return rng.random(n) > 0.5, rng.normal(size=n), rng.normal(size=n)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
@pytest.mark.parametrize("function", [picked, counted], ids=lambda f: f.__name__)
def test_gcc_vectorizes_loops_over_truth_values(function, tmp_path):
    path = tmp_path / "f.c"
    path.write_text(po.kernel(function, threads=1).compile(*arguments(5)).c)
    flags = [flag for flag in COMMON_FLAGS if flag != "-w"]
    wide = ["-march=x86-64-v3"] if platform.machine() == "x86_64" else []
    command = ["gcc", *flags, *wide, "-fopenmp-simd", "-fopt-info-vec", "-c", str(path)]
    done = subprocess.run([*command, "-o", "/dev/null"], capture_output=True, text=True, check=True)
    assert "loop vectorized" in done.stderr + done.stdout


@pytest.mark.parametrize("function", [picked, counted, joined], ids=lambda f: f.__name__)
def test_values_are_those_of_numpy(function):
    kernel = po.kernel(function)
    for n in SIZES:
        found, expected = arguments(n), arguments(n)
        assert_equal((kernel(*found), found), (function(*expected), expected))


def test_flags_and_arrays_meet():
    kernel = po.kernel(noted)
    for n in SIZES:
        for flag in (False, True):
            found, expected = arguments(n), arguments(n)
            assert_equal((kernel(*found, flag), found), (noted(*expected, flag), expected))


def assert_equal(found, expected):
    if isinstance(expected, tuple):
        for one, other in zip(found, expected, strict=True):
            assert_equal(one, other)
    elif expected is not None:
        assert np.asarray(found).dtype == np.asarray(expected).dtype
        np.testing.assert_array_equal(found, expected)
