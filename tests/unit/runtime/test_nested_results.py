"""What a kernel returns in tuples and lists, through both ways of calling."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po

pytestmark = pytest.mark.toolchain


def nested(a, k):
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i]
    return total, [a * k, (a, None, [total + 1.0])], (k,)


def listed(a, k):
    return [a + k, a - k]


def left_early(a, k):
    for i in range(a.shape[0]):
        if a[i] > k:
            return a, [i, a * k]
    return a, [-1, a + k]


def by_branch(a, k):
    if k > 0.0:
        return a, (k, a + k)
    return a, (k, a - k)


@pytest.fixture(params=["wrapper", "ctypes"])
def way(request, monkeypatch, tmp_path):
    if request.param == "ctypes":
        monkeypatch.setenv("POLYOPT_FORCE_CTYPES", "1")
    monkeypatch.setenv("POLYOPT_CACHE_DIR", str(tmp_path))


def same(found, expected):
    assert type(found) is type(expected) or not isinstance(expected, tuple | list)
    if isinstance(expected, tuple | list):
        assert len(found) == len(expected)
        for mine, other in zip(found, expected, strict=True):
            same(mine, other)
    elif expected is None:
        assert found is None
    else:
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("function", [nested, listed, by_branch, left_early])
@pytest.mark.usefixtures("way")
def test_results_come_as_in_python(function):
    kernel, a = po.kernel(function), np.arange(5.0)
    for k in (2.0, -2.0):
        for _ in range(2):  # the first call compiles
            same(kernel(a, k), function(a, k))


@pytest.mark.usefixtures("way")
def test_arguments_are_returned_themselves():
    a = np.arange(5.0)
    assert po.kernel(nested)(a, 2.0)[1][1][0] is a


@pytest.mark.parametrize("function", [nested, listed, by_branch, left_early])
def test_comparisons_with_python_know_them(function):
    compiled = po.kernel(function).compile(np.arange(5.0), 2.0)
    found = compiled.verify(5)
    assert found.samples > found.refused + found.raised
    assert found.ok
