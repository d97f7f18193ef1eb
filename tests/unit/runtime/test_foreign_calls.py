"""Calls through ctypes: what the call before has checked is not checked again, all else is."""

from __future__ import annotations

import math

import numpy as np
import pytest

import polyopt as po
from polyopt.runtime import foreign

pytestmark = pytest.mark.toolchain


def scale(a, b, k):
    for i in range(a.shape[0]):
        a[i] = k * b[i]
    return a


@pytest.fixture
def kernel(monkeypatch, tmp_path):
    monkeypatch.setenv("POLYOPT_FORCE_CTYPES", "1")
    monkeypatch.setenv("POLYOPT_CACHE_DIR", str(tmp_path))
    return po.kernel(scale)


def test_a_call_like_the_one_before_is_not_checked_again(kernel, monkeypatch):
    a, b = np.zeros(5), np.arange(5.0)
    kernel(a, b, 2.0)  # compiles
    kernel(a, b, 2.0)

    def fail(*_):
        raise AssertionError("checked")

    monkeypatch.setattr(foreign, "check_call", fail)
    b += 1.0  # values may change, the places stay
    assert kernel(a, b, 2.0) is a
    np.testing.assert_array_equal(a, 2.0 * b)
    with pytest.raises(AssertionError, match="checked"):
        kernel(a, b, 3.0)


def test_what_changed_since_is_seen(kernel):
    a, b = np.zeros(6), np.arange(6.0)
    kernel(a, b, 2.0)
    kernel(a, b, 2.0)
    other = np.zeros(6)
    kernel(other, b, 2.0)
    np.testing.assert_array_equal(other, 2.0 * b)
    a.setflags(write=False)
    kernel(other, b, 2.0)
    with pytest.raises(po.ArgumentError, match="read-only"):
        kernel(a, b, 2.0)
    a.setflags(write=True)
    with pytest.raises(po.ArgumentError):
        kernel(a, b[:4], 2.0)
    kernel(a[:4], b[:4], -1.0)
    np.testing.assert_array_equal(a[:4], -b[:4])
    kernel(a[::2], b[::2], 5.0)
    np.testing.assert_array_equal(a[::2], 5.0 * b[::2])


def test_zeros_keep_their_sign(kernel):
    a, b = np.zeros(3), np.ones(3)
    kernel(a, b, 0.0)
    kernel(a, b, 0.0)
    assert math.copysign(1.0, a[0]) == 1.0
    kernel(a, b, -0.0)
    assert math.copysign(1.0, a[0]) == -1.0
