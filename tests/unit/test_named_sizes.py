"""Sizes by the names that annotations give them: `compile(N=4096, T=po.any)`."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po

# ruff: noqa: F821, UP037 - sizes are named by strings


def heat(u: po.f64["T+1,N"], k: float):
    for t in range(u.shape[0] - 1):
        for i in range(1, u.shape[1] - 1):
            u[t + 1, i] = u[t, i] + k * (u[t, i - 1] + u[t, i + 1] - 2.0 * u[t, i])


def _values(*shape):
    return np.random.default_rng(0).random(shape)


def _expected(u):
    heat(u := u.copy(), 0.1)
    return u


@pytest.mark.toolchain
def test_a_named_size_is_compiled_in_and_others_stay_open():
    kernel = po.kernel(heat)
    compiled = kernel.compile(N=9, T=po.any)
    assert compiled.types[0].extents == (None, 9)
    for steps in (1, 2, 5):
        u = _values(steps, 9)
        want = _expected(u)
        compiled(u, 0.1)
        np.testing.assert_array_equal(u, want)
    with pytest.raises(po.ArgumentError, match="its dimension 1 is 8 and must be 9"):
        compiled(_values(3, 8), 0.1)
    u = _values(3, 8)
    want = _expected(u)
    kernel(u, 0.1)  # of another size: compiled with sizes open
    np.testing.assert_array_equal(u, want)
    assert "2 compiled" in repr(kernel)


@pytest.mark.toolchain
def test_sums_of_named_sizes_are_known():
    compiled = po.kernel(heat).compile(T=4)
    assert compiled.types[0].extents == (5, None)
    assert po.kernel(heat).compile(T=po.any).types[0].extents == ()


@pytest.mark.parametrize("value", [-1, 3.0, "4", True, 2**60])
def test_a_size_is_a_number_or_open(value):
    with pytest.raises(po.UsageError, match="size `N` is") as caught:
        po.kernel(heat).compile(N=value)
    assert caught.value.code == "PO0222"
    assert "po.any" in str(caught.value)


def test_another_name_is_neither():
    with pytest.raises(po.ArgumentError, match="there is no size or parameter `M`"):
        po.kernel(heat).compile(M=4)


def test_a_parameter_is_not_a_size():
    for call in (
        lambda: po.kernel(heat).compile(po.any),
        lambda: po.kernel(heat).compile(k=po.any),
    ):
        with pytest.raises(po.UsageError, match=r"is po\.any") as caught:
            call()
        assert caught.value.code == "PO0222"


def test_annotations_look_like_what_was_written():
    assert repr(po.f64["T+1", 3]) == 'po.f64["T+1,3"]'
    assert repr(po.f64) == "po.f64"
    assert repr(po.any) == "po.any"
