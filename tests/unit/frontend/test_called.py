"""Functions that the kernel calls back into NumPy for give NumPy's results."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import FrontendError
from polyopt.frontend import build
from polyopt.frontend.numpy.callback_table import LIBRARY, resolve
from polyopt.ir.program import Invoke, all_parts
from tests.unit.frontend.harness import agree, compiled, equal_to_python, type_of

RNG = np.random.default_rng(0)
A, B, V, R = (
    RNG.random((4, 4)) + 4 * np.eye(4),
    RNG.random((4, 3)),
    RNG.random(4),
    RNG.random((5, 3)),
)
S, C = A @ A.T, A + 1j * RNG.random((4, 4))


def f_solve(A, v):
    return np.linalg.solve(A, v)


def f_solve2(A, B):
    return np.linalg.solve(A, B) @ B.T


def f_inv(A):
    return np.linalg.inv(A) * 2


def f_invf(A):
    return np.linalg.inv(A.T)


def f_det(A):
    return np.linalg.det(A) + 1


def f_slog(A):
    return np.linalg.slogdet(A)[1]


def f_chol(A):
    return np.linalg.cholesky(A)


def f_qr(A):
    return np.linalg.qr(A)[0]


def f_svd(A):
    return np.linalg.svd(A, full_matrices=False)[1]


def f_svdf(A):
    return np.linalg.svd(A)[0].shape


def f_eigh(A):
    return np.linalg.eigh(A)[0]


def f_eigc(A):
    return np.linalg.eig(A)[0]


def f_pinv(A):
    return np.linalg.pinv(A)


def f_rank(A):
    return np.linalg.matrix_rank(A)


def f_fft(x):
    return np.fft.fft(x)


def f_rfft(x):
    return np.abs(np.fft.rfft(x)) ** 2


def f_irfft(x):
    return np.fft.irfft(np.fft.rfft(x))


def f_fft2(x):
    return np.fft.ifft2(np.fft.fft2(x)).real


def f_fftn8(x):
    return np.fft.fft(x, 8, axis=0)


def f_sort(x):
    return np.sort(x)


def f_argsort(x):
    return x[np.argsort(x)]


def f_argsortm(x):
    return x.argsort()


def f_sort0(x):
    return np.sort(x, axis=0)[::-1]


def f_median(x):
    return np.median(x)


def f_median1(x):
    return np.median(x, axis=1)


def f_pct(x):
    return np.percentile(x, 30)


def f_pcts(x):
    return np.percentile(x, [25, 50, 75], axis=0)


def f_hist(x):
    return np.histogram(x, bins=5)[0]


def f_hist2(x, e):
    return np.histogram(x, bins=e)


def f_ss(x, y):
    return np.searchsorted(np.sort(x), y)


def f_interp(x, xp, fp):
    return np.interp(x, xp, fp)


def f_lexsort(x, y):
    return np.lexsort((x, y))


def f_part(x):
    return np.partition(x, 2)


def f_polyfit(x, y):
    return np.polyfit(x, y, 2)


def f_i0(x):
    return np.i0(x)


def f_cond(x):
    return np.linalg.cond(x)


def f_dig(x, b):
    return np.digitize(x, b)


def sorted_in_place(a):
    a.sort()
    a[0] += 1


def under_a_condition(a, f):
    y = np.zeros(a.shape[0])
    if f[0] > 0:
        y[:] = np.linalg.inv(a)[0]
    return y


def in_a_loop(T):
    out = np.zeros(T.shape)
    for i in range(T.shape[0]):
        out[i] = np.linalg.inv(T[i])
    return out


def several(A, b):
    q, r = np.linalg.qr(A)
    w, v = np.linalg.eigh(A @ A.T)
    return r.T @ r, w, np.linalg.solve(A, b) @ b


def least_squares(A, b):
    x, residuals, rank, s = np.linalg.lstsq(A, b, rcond=None)
    return x, residuals, rank, s


def percentile(x, q):
    return np.percentile(x, q)


def all_sorted(A):
    return np.sort(A, axis=None)[::-1], np.sort(A.ravel())[:3]


def interpolated(x, xp, fp, y):
    for i in range(len(x)):
        y[i] = np.interp(x[i], xp, fp)


def frequencies(x):
    n = x.shape[0]
    return np.fft.fftshift(np.fft.fftfreq(n, 0.1)), np.fft.ifftshift(x), np.fft.rfftfreq(n)


CASES: tuple[tuple[Any, ...], ...] = (
    (f_solve, A, V),
    (f_solve2, A, B),
    (f_inv, A),
    (f_invf, A.astype(np.float32)),
    (f_det, A),
    (f_slog, A),
    (f_chol, S),
    (f_qr, R),
    (f_svd, R),
    (f_svdf, R),
    (f_eigh, S),
    (f_eigc, C),
    (f_pinv, R),
    (f_rank, R),
    (f_fft, V),
    (f_rfft, V),
    (f_irfft, V),
    (f_fft2, A),
    (f_fftn8, A),
    (f_sort, A),
    (f_argsort, V),
    (f_argsortm, V),
    (f_sort0, A),
    (f_median, A),
    (f_median1, A),
    (f_pct, A),
    (f_pcts, A),
    (f_hist, V),
    (f_hist2, V, np.array([0, 0.3, 0.6, 1])),
    (f_ss, V, RNG.random(7)),
    (f_interp, RNG.random(7), np.sort(RNG.random(5)), RNG.random(5)),
    (f_lexsort, V, np.array([1.0, 1, 0, 0])),
    (f_part, V),
    (f_polyfit, RNG.random(9), RNG.random(9)),
    (f_i0, V),
    (f_cond, A),
    (f_dig, V, np.array([0.2, 0.5, 0.8])),
    (sorted_in_place, V.copy()),
    (under_a_condition, A, np.ones(1)),
    (under_a_condition, np.zeros((3, 3)), -np.ones(1)),
    (in_a_loop, np.stack([A, A * 2, A + 1])),
    (several, A, V),
    (least_squares, R, RNG.random(5)),
    (least_squares, R.T.copy(), RNG.random((3, 2))),
    (least_squares, np.ones((4, 2)), RNG.random(4)),
    (percentile, V, 30.0),
    (percentile, V.astype(np.float32), 50),
    (all_sorted, R),
    (interpolated, RNG.random(3), np.arange(3.0), np.arange(3.0), np.zeros(3)),
    (frequencies, RNG.random(7)),
    (frequencies, RNG.random(8)),
)


@pytest.mark.parametrize(("func", "args"), [(f, a) for f, *a in CASES])
def test_call_equals_numpy(func: Callable[..., object], args: list[Any]) -> None:
    agree(func, *args)


@pytest.mark.toolchain
@pytest.mark.parametrize("func", [several, under_a_condition, in_a_loop])
def test_calls_from_c(func: Callable[..., object]) -> None:
    for args in (args for f, *args in CASES if f is func):
        mine, theirs = copy.deepcopy(args), copy.deepcopy(args)
        found, want = po.kernel(func)(*mine), func(*theirs)
        equal_to_python(compiled(func, *args), args, (found, mine), (want, theirs))


@pytest.mark.toolchain
def test_an_exception_of_the_library_is_passed_on() -> None:
    with pytest.raises(np.linalg.LinAlgError):
        po.kernel(f_inv)(np.zeros((3, 3)))


@pytest.mark.toolchain
def test_a_call_nobody_needs_is_made_since_it_may_raise() -> None:
    def calls(func: Callable[..., object]) -> int:
        return sum(isinstance(part, Invoke) for part in all_parts(compiled(func, A).parts))

    assert (calls(unused), calls(f_inv)) == (1, 1)
    with pytest.raises(np.linalg.LinAlgError):
        po.kernel(unused)(np.zeros((3, 3)))


def unused(A):
    B = np.linalg.inv(A)
    B[0] = 1
    return A * 2


def real_eigenvalues(a):
    return np.linalg.eig(a)[0]


def unknown_axis(a):
    return np.sort(a, axis=3)


def random_numbers(a):
    return a + np.random.rand(4)


@pytest.mark.parametrize(
    ("func", "code"),
    [(real_eigenvalues, "PO0151"), (unknown_axis, "PO0151"), (random_numbers, "PO0150")],
)
def test_refusals(func: Callable[..., object], code: str) -> None:
    with pytest.raises(FrontendError) as caught:
        build(func, (type_of(A),))
    assert caught.value.code == code
    assert caught.value.hint


def test_the_table_names_functions() -> None:
    names = [name for name in LIBRARY if name.startswith("numpy.")]
    assert all(callable(resolve(name)) for name in names)
