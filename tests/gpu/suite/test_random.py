"""Random numbers on devices: the bits that NumPy and C have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polyopt as po
from tests.gpu.runtime.needs import opencl_or_skip
from tests.semantics import random_programs as programs

KEY = np.uint64(0x9E3779B97F4A7C15)
DEVICES = [("cuda", "emulated"), pytest.param("opencl", None, marks=pytest.mark.machine)]


def kernel(function: Any, target: str, device: str | None, fp: str = "strict") -> po.Kernel[Any]:
    if target == "opencl":
        opencl_or_skip()
    return po.kernel(target=target, device=device, fp=fp)(function)


@pytest.mark.toolchain
@pytest.mark.parametrize("target, device", DEVICES)
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
def test_numbers_are_the_same_on_devices(target: str, device: str | None, fp: str) -> None:
    drawn = kernel(programs.numbers, target, device, fp)
    for shape in ((1, 1), (3, 5), (9, 70)):
        made, known = drawn(KEY, np.zeros(shape)), programs.numbers(KEY, np.zeros(shape))
        for got, want in zip(made, known, strict=True):
            assert got.dtype == want.dtype
            assert np.array_equal(got, want)


@pytest.mark.toolchain
@pytest.mark.parametrize("target, device", DEVICES)
def test_dropout_is_the_same_on_devices(target: str, device: str | None) -> None:
    x = np.random.default_rng(3).normal(size=(9, 13))
    dropped = kernel(programs.dropout, target, device)(KEY, x, 0.3)
    assert np.array_equal(dropped, programs.dropout(KEY, x, 0.3))
