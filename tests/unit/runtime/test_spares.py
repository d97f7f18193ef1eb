"""Memory of results that are gone is used again, and never while anything still sees it."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import polyopt as po
from polyopt.runtime.spares import LEAST, PAGE, SPARES, Spares

FLOAT = np.dtype(np.float64)
MANY = LEAST // 8


def address(array):
    return array.__array_interface__["data"][0]


def test_memory_is_used_again_when_the_array_is_gone():
    spares = Spares()
    first = spares.empty((MANY,), FLOAT)
    place = address(first)
    assert place % PAGE == 0
    assert (first.flags.writeable, first.flags.c_contiguous) == (True, True)
    del first
    assert spares.kept == LEAST
    second = spares.empty((2, MANY // 2), FLOAT)
    assert (address(second), spares.kept) == (place, 0)


@pytest.mark.parametrize("part", [lambda a: a[3:5], lambda a: a.T, memoryview])
def test_memory_that_something_sees_is_kept_apart(part):
    spares = Spares()
    array = spares.empty((MANY,), FLOAT)
    seen = part(array)
    array[:] = 1.0
    del array
    gc.collect()
    other = spares.empty((MANY,), FLOAT)
    other[:] = 2.0
    assert spares.kept == 0
    assert np.asarray(seen)[0] == 1.0


def test_the_longest_unused_goes_first():
    spares = Spares(2 * LEAST + 8)
    arrays = [spares.empty((MANY,), FLOAT) for _ in range(2)]
    places = [address(array) for array in arrays]
    arrays.pop(0)
    arrays.pop(0)
    assert spares.kept == 2 * LEAST
    longer = spares.empty((MANY + 1,), FLOAT)
    del longer
    assert spares.kept == 2 * LEAST + 8
    assert address(spares.empty((MANY,), FLOAT)) == places[1]


@pytest.mark.parametrize("shape", [(), (3,), (0, MANY), (MANY * 10_000,)])
def test_small_and_huge_arrays_are_not_kept(shape):
    spares = Spares()
    array = spares.empty(shape, FLOAT)
    assert array.shape == shape
    assert array.base is None


@po.kernel(threads=1)
def doubled(x):
    return 2.0 * x


@po.kernel(threads=1)
def positive(x):
    return x[x > 0.0]


@pytest.mark.toolchain
def test_calls_use_the_memory_of_results_that_are_gone():
    x = np.arange(float(MANY + 24))
    first = doubled(x)
    place = address(first)
    second = doubled(first)
    assert address(second) != place
    np.testing.assert_array_equal(second, 4 * x)
    del first
    third = doubled(second)
    assert address(third) == place
    np.testing.assert_array_equal(third, 8 * x)


@pytest.mark.toolchain
def test_what_is_cut_to_its_length_has_memory_of_its_own():
    found = positive(np.arange(-10.0, MANY))
    np.testing.assert_array_equal(found, np.arange(1.0, MANY))
    assert found.base is None
    assert SPARES.kept <= 1 << 27
