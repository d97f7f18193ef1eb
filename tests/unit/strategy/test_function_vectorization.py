"""Functions of sums: groups of rows, their sums first, then the functions in lanes."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.ir.loops import LoopKind
from polyopt.machine import Machine
from polyopt.schedule.reductions import reassociated
from polyopt.schedule.tree import bands
from polyopt.strategy import auto_schedule
from tests.unit.proof.edits import program_of

# ruff: noqa: F821, UP037 - sizes are named by strings

WIDE = Machine(cores=2, vector_bytes=64)


def logits(X: po.f64["N,D"], w: po.f64["D"]):
    return 1.0 / (1.0 + np.exp(-((X * w[0]).sum(axis=-1))))


def halves(X: po.f32["N,D"], w: po.f32["D"]):
    return np.tanh((X * w[0]).sum(axis=-1))


def gamma(X: po.f64["N,M,K"], w: po.f64["K"]):
    return np.clip((X * w[0]).sum(axis=-1), 0.0, 1.0) ** 0.45


def logs(X: po.f64["N,D"], w: po.f64["D"]):
    return np.log(np.exp(X).sum(axis=1)) + w[0]


def roots(X: po.f64["N,D"], w: po.f64["D"]):
    return np.sqrt(X @ w)


def rows(X: po.f64["N,D"], w: po.f64["D"]):
    return np.exp(X) / (np.log(np.exp(X).sum(axis=1)) + w[0])[:, None]


def whole(X: po.f64["N,D"], w: po.f64["D"]):
    return np.exp((X @ w).sum())


FUNCTIONS = (logits, halves, gamma, logs)
OTHERS = (roots, rows, whole)


def text(function, machine=WIDE):
    return auto_schedule(program_of(function).scop, machine).text


@pytest.mark.parametrize(
    ("function", "group"), [(logits, 4), (halves, 8), (gamma, 4)], ids=["f64", "f32", "rows"]
)
def test_a_group_fills_a_vector_of_32_bytes(function, group):
    assert f"tile(L0, {group});" in text(function) or f"tile(L0.inner, {group});" in text(function)
    narrow = text(function, Machine(cores=2, vector_bytes=16))
    assert "tile(L0, 4);" in narrow or "tile(L0.inner, 4);" in narrow


@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions_have_lanes_and_groups_are_shared_out(function):
    schedule = auto_schedule(program_of(function).scop, WIDE)
    kinds = {band.label: [member.kind for member in band.members] for band in bands(schedule.tree)}
    last = max(label for label in kinds if label[-1].isdigit() and ".point." in label)
    assert kinds[last] == [LoopKind.VECTOR]
    assert any(LoopKind.PARALLEL in found for found in kinds.values())


@pytest.mark.parametrize("function", OTHERS)
def test_what_is_left(function):
    """Roots, which cost little; rows that are used again; one result."""
    assert "distribute" not in text(function)


def power(A: po.f64["N,N"], x: po.f64["N"], y: po.f64["N"], found: po.f64["T"]):
    """A is read elsewhere, and each step begins with the results of the one before."""
    for t in range(found.shape[0]):
        total = 0.0
        for i in range(A.shape[0]):
            acc = A[i, i]
            for j in range(A.shape[0]):
                acc += A[i, j] * x[j]
            y[i] = acc
            total += acc * acc
        for i in range(A.shape[0]):
            x[i] = y[i] / (1.0 + total)
        found[t] = total


def triangular(A: po.f64["N,N"], x: po.f64["N"], y: po.f64["N"], found: po.f64["T"]):
    for t in range(found.shape[0]):
        total = 0.0
        for i in range(A.shape[0]):
            acc = A[i, i]
            for j in range(i):
                acc += A[i, j] * x[j]
            y[i] = acc
            total += acc * acc
        for i in range(A.shape[0]):
            x[i] = y[i] / (1.0 + total)
        found[t] = total


def squares(A: po.f64["N,N"], x: po.f64["N"], y: po.f64["N"], found: po.f64["T"]):
    for t in range(found.shape[0]):
        total = 0.0
        for i in range(A.shape[0]):
            acc = A[i, i]
            for j in range(A.shape[0]):
                acc += A[i, j] * A[i, j]
            y[i] = acc * x[i]
            total += acc * acc
        for i in range(A.shape[0]):
            x[i] = y[i] / (1.0 + total)
        found[t] = total


def groups(function):
    program = reassociated(program_of(function), choices=True)
    return [s for s in auto_schedule(program.scop, WIDE).text.split(";") if "distribute" in s]


def test_rows_that_share_terms_are_grouped():
    assert len(groups(power)) == 1


@pytest.mark.parametrize("function", [triangular, squares])
def test_rows_of_their_own_are_not(function):
    """Sums of different lengths; sums that share no operand."""
    assert not groups(function)


def smoothed(image, w, gain, rows, out):
    """Windows along rows, then along columns: neighbours read neighbours for each term."""
    H, W = image.shape
    K = w.shape[0]
    for i in range(H):
        for j in range(W - K + 1):
            acc = 0.0
            for k in range(K):
                acc += w[k] * image[i, j + k]
            rows[i, j] = acc * gain
    for i in range(H - K + 1):
        for j in range(W - K + 1):
            acc = 0.0
            for k in range(K):
                acc += w[k] * rows[i + k, j]
            out[i, j] = acc - gain


def windows_of(h, w, k):
    rng = np.random.default_rng(3)
    rows, out = np.zeros((h, w - k + 1)), np.zeros((h - k + 1, w - k + 1))
    return rng.random((h, w)), rng.random(k), 0.75, rows, out


@pytest.mark.toolchain
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
def test_windows_have_lanes_across_iterations(fp):
    """In both modes, as each sum keeps its order."""
    kernel = po.kernel(smoothed, threads=2, fp=fp).compile(*windows_of(9, 70, 5))
    lines = kernel.source
    for label in ("L0", "L2"):
        part = f"{label}.inner.point.1"
        assert f"unroll({part}.inner.tile[0])" in lines
        assert f"vectorize({part}.inner.point[0])" in lines
        assert f"vectorize({part}[0])" not in lines
        assert f"vectorize({label}.inner.point.rest[0])" in lines  # what whole groups leave over


@pytest.mark.toolchain
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
def test_values_of_windows(fp):
    kernel = po.kernel(smoothed, threads=2, fp=fp)
    for h, w, k in ((9, 70, 5), (4, 36, 4), (3, 3, 1), (5, 40, 0)):
        found, want = windows_of(h, w, k), windows_of(h, w, k)
        kernel(*found)
        smoothed(*want)
        for one, other in zip(found[3:], want[3:], strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12 if fp == "reassociate" else 0)


@pytest.mark.toolchain
@pytest.mark.parametrize("n", [0, 1, 7, 8, 29])
def test_groups_of_rows(n):
    rng = np.random.default_rng(n)
    A, x, y, found = rng.random((n, n)), rng.random(n), np.zeros(n), np.zeros(3)
    want = A.copy(), x.copy(), y.copy(), found.copy()
    po.kernel(power, threads=2, fp="reassociate")(A, x, y, found)
    power(*want)
    for one, other in zip((A, x, y, found), want, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.toolchain
@pytest.mark.parametrize("function", [*FUNCTIONS, *OTHERS])
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
def test_results(function, fp):
    """The same as NumPy's, at sizes that groups do not divide, and without any row."""
    kernel = po.kernel(function, threads=2, fp=fp)
    rng = np.random.default_rng(1)
    kind = np.float32 if function is halves else np.float64
    for n, d in ((1, 1), (3, 5), (8, 3), (9, 16), (37, 7), (0, 4), (50, 70)):
        shape = (3, n, d) if function is gamma else (n, d)
        X, w = rng.uniform(0, 1, shape).astype(kind), rng.uniform(0, 1, d).astype(kind)
        want = function(X, w)
        np.testing.assert_allclose(kernel(X, w), want, rtol=1e-5 if kind is np.float32 else 1e-12)
