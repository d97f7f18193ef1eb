"""Calls whose arguments share memory compute what Python computes."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import ArgumentError

pytestmark = pytest.mark.toolchain
Views = Callable[[np.ndarray], Sequence[Any]]
FLOATS = np.random.default_rng(3)


def shift(a, b):
    for i in range(a.shape[0] - 1):
        b[i + 1] = a[i] + 1


def smooth(u, v):
    for i in range(1, u.shape[0] - 1):
        v[i] = (u[i - 1] + u[i] + u[i + 1]) / 3


def heat(A, B):
    for _ in range(3):
        B[1:-1, 1:-1] = 0.25 * (A[:-2, 1:-1] + A[2:, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:])
        A[1:-1, 1:-1] = B[1:-1, 1:-1] * 0.5


def plus(x, y, out):
    out[:] = x + 2 * y


def double(x, out):
    for i in range(min(x.shape[0], out.shape[0])):
        for j in range(x.shape[1]):
            out[i, j] = 2 * x[i, j] + 1


def without(A, r):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] -= r[j]


def returned(a, b):
    b[:] = a + 1
    return b, a


SHIFT, SMOOTH, HEAT = po.kernel(shift), po.kernel(smooth, threads=1), po.kernel(heat)
PLUS, DOUBLE, WITHOUT = po.kernel(plus), po.kernel(double), po.kernel(without, threads=1)


def kernel(function: Any, **options: Any) -> po.Kernel:
    return po.kernel(**options)(function)


def same(k: Any, memory: np.ndarray, views: Views, compiled: int | None = None) -> None:
    """Assert that all of the memory is as Python leaves it, on a first call and on a later one."""
    for turn in range(2):
        ours, python = memory.copy(order="K"), memory.copy(order="K")
        given, wanted = views(ours), views(python)
        if turn:
            assert k._fast(*given) is not NotImplemented, "the wrapper alone takes a later call"
        else:
            k(*given)
        k.py_func(*wanted)
        np.testing.assert_array_equal(ours, python)
    if compiled is not None:
        assert len(k._compiled) == compiled


def numbers(*shape: int) -> np.ndarray:
    return FLOATS.integers(0, 9, shape).astype(float)


@pytest.mark.parametrize(
    "views",
    [
        lambda A: (A, A),
        lambda A: (A[:], A[:]),
        lambda A: (A[1:], A[:-1]),
        lambda A: (A[:-1], A[1:]),
        lambda A: (A[:-3], A[3:]),
        lambda A: (A[:30], A[11:41]),
        lambda A: (A[11:41], A[:30]),
        lambda A: (A[:30], A[12:42]),
        lambda A: (A[:1], A[:1]),
        lambda A: (A[:2], A[1:3]),
        lambda A: (A[::-1], A[::-1]),
        lambda A: (A, A[::-1]),
        lambda A: (A[::2], A[::2]),
        lambda A: (A[1::2], A[::-2]),
        lambda A: (A[:0], A[:0]),
        lambda A: (A[:5], A[5:5]),
        lambda A: (A[::2], A[1::2]),
        lambda A: (A[::-2], A[-2::-2]),
        lambda A: (A[::3], A[1::3]),
    ],
)
def test_vectors(views):
    if len(views(np.zeros(50))[1]) < len(views(np.zeros(50))[0]):
        with pytest.raises(po.PolyoptError, match="PO0170"):
            SHIFT(*views(np.zeros(50)))
        return
    same(SHIFT, numbers(50), views)


def test_one_code_for_each_pattern_not_for_each_call():
    k = kernel(shift, threads=1)
    for n in (1, 2, 7, 40):
        same(k, numbers(n), lambda A: (A, A), 1)
    for begin in (9, 10, 17, 25):
        same(k, numbers(60), lambda A, s=begin: (A[:30], A[s : s + 30]), 2)
    same(k, numbers(50), lambda A: (A[:20], A[25:45]), 2)
    b, a = numbers(2, 9)  # `b` begins first, as no call before
    want = b.copy()
    shift(a, want)
    k(a, b)
    np.testing.assert_array_equal(b, want)
    assert len(k._compiled) == 3


def test_a_stencil_in_place_reads_what_it_wrote():
    for n in (0, 1, 2, 3, 4, 33):
        same(SMOOTH, numbers(n), lambda A: (A, A))
    same(SMOOTH, numbers(20), lambda A: (A[1:], A[:-1]))
    same(SMOOTH, numbers(20).astype(np.float32), lambda A: (A, A))


@pytest.mark.parametrize(
    "views",
    [
        lambda A: (A, A),
        lambda A: (A, A.T),
        lambda A: (A[:-1], A[1:]),
        lambda A: (A[:-1, 1:], A[1:, :-1]),
        lambda A: (A[:, 1:], A[:, :-1]),
        lambda A: (A[:, :4], A[:, 4:8]),
        lambda A: (A[::2], A[1::2]),
        lambda A: (A[::-1], A),
        lambda A: (A[:0], A[:0]),
    ],
)
def test_planes(views):
    same(HEAT, numbers(8, 8), views)


@pytest.mark.parametrize(
    "views",
    [
        lambda A: (A.T, A.T),
        lambda A: (A[1:-1, 1:-1].T, A[:-2, 2:].T),
        lambda A: (A[1:-1, 1:-1], A[2:, 2:]),
        lambda A: (A[:3, ::2], A[4:7, 1::2]),
        lambda A: (A[:4, ::-1], A[:4]),
        lambda A: (A[1:3, :3], A[2:3, 1:4]),
        lambda A: (A[3:4, 1:4], A[2:4, :3]),
    ],
)
def test_layouts(views):
    same(DOUBLE, numbers(8, 6), views)
    same(DOUBLE, np.asfortranarray(numbers(8, 6)), views)


def test_rows_and_columns():
    k = kernel(without, threads=1)
    for row in (1, 2, 3, 4):
        same(k, numbers(6, 5), lambda A, r=row: (A, A[r]), 1)
    same(k, numbers(6, 5), lambda A: (A, A[0]), 1)
    same(WITHOUT, numbers(6, 5), lambda A: (A, A[0]))
    same(WITHOUT, numbers(6, 5), lambda A: (A, A[-1]))
    same(WITHOUT, numbers(5, 5), lambda A: (A, A[:, 2]))
    same(WITHOUT, numbers(6, 5), lambda A: (A[1:], A[0]))


def test_three_arguments():
    same(PLUS, numbers(9), lambda A: (A, A, A))
    same(PLUS, numbers(9), lambda A: (A[:-2], A[2:], A[1:-1]))
    same(PLUS, numbers(12), lambda A: (A[:4], A[4:8], A[2:6]))
    same(PLUS, numbers(7, 7), lambda A: (A, A.T, A))
    same(PLUS, numbers(9), lambda A: (A, np.float64(3), A))


def test_reading_one_array_twice_needs_no_other_code():
    k = kernel(plus, threads=1)
    same(k, numbers(2, 9), lambda A: (A[0], A[0], A[1]), 1)
    same(k, numbers(2, 9), lambda A: (A[0, :-1], A[0, 1:], A[1, 1:]), 1)


def test_the_arguments_themselves_are_returned():
    k = kernel(returned, threads=1)
    A = np.arange(6.0)
    a, b = A[1:], A[:-1]
    first, second = k(a, b)
    assert first is b
    assert second is a
    assert A.tolist() == [2, 3, 4, 5, 6, 5]


def test_parts_of_numbers():
    def swap(re, im):
        for i in range(re.shape[0]):
            re[i], im[i] = im[i], re[i]

    k = kernel(swap, threads=1)
    z = np.array([1 + 2j, 3 + 4j])
    k(z.real, z.imag)
    assert z.tolist() == [2 + 1j, 4 + 3j]
    k(z.imag, z.real)
    assert z.tolist() == [1 + 2j, 3 + 4j]
    assert len(k._compiled) == 1


def test_apart_though_no_stride_tells():
    A = numbers(60)
    one, other = A[:40].reshape(4, 10)[:, ::3], A[1:41].reshape(4, 10)[:, ::7]
    assert np.may_share_memory(one, other)
    x, y = one[:, :2], other[:, :2]
    assert not np.shares_memory(x, y)
    k = kernel(double, threads=1)
    want = A.copy()
    double(want[:40].reshape(4, 10)[:, ::3][:, :2], want[1:41].reshape(4, 10)[:, ::7][:, :2])
    k(x, y)
    np.testing.assert_array_equal(A, want)
    assert len(k._compiled) == 1


def test_code_for_one_pattern_refuses_another():
    A, B = numbers(9), numbers(9)
    before = A.copy(), B.copy()
    k = kernel(shift, threads=1)
    shared, apart = k.compile(A, A), k.compile(A, B)
    with pytest.raises(ArgumentError, match="PO0205") as caught:
        apart(A, A)
    assert "call the kernel itself" in str(caught.value)
    for values in ((A, B), (A[1:], A[:-1]), (A[:5], A[:4])):
        with pytest.raises(po.PolyoptError) as refused:
            shared(*values)
        assert refused.value.code in ("PO0209", "PO0203")
    np.testing.assert_array_equal((A, B), before)
    shared(A, A)
    assert A.tolist() == [before[0][0] + i for i in range(9)]


@pytest.mark.parametrize(
    "views",
    [
        lambda A: (A, A.view(np.int64)),
        lambda A: (A[:10], A.view(np.complex128)),
        lambda A: (A[:10], np.lib.stride_tricks.as_strided(A, (10,), (0,))),
        lambda A: (A[::2], A[::3]),
    ],
)
def test_refused(views):
    A = numbers(30)
    before = A.copy()
    k = kernel(plus, threads=1)
    x, out = views(A)
    with pytest.raises(ArgumentError) as caught:
        k(x[: len(out)], 1.0, out[: len(x)])
    assert caught.value.code in ("PO0205", "PO0212")
    assert ".copy()" in (caught.value.hint or "")
    np.testing.assert_array_equal(A, before)


def test_through_ctypes(monkeypatch):
    monkeypatch.setenv("POLYOPT_FORCE_CTYPES", "1")
    for views in (
        lambda A: (A, A),
        lambda A: (A[1:], A[:-1]),
        lambda A: (A[:30], A[12:42]),
        lambda A: (A[::2], A[1::2]),
    ):
        same(kernel(shift, threads=1), numbers(50), views)
    lie_around = lambda A: (A[:8, 2:10], A[2:10, :8])  # noqa: E731
    same(kernel(double, threads=1), numbers(12, 12), lie_around)


def test_pickled_kernels_compile_again():
    k = pickle.loads(pickle.dumps(SHIFT))
    same(k, numbers(12), lambda A: (A, A))
