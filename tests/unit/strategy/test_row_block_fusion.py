"""Products around passes over whole rows are one nest over blocks of rows, without the matrix."""

from __future__ import annotations

import re

import numpy as np
import pytest

import polyopt as po

# ruff: noqa: F821, UP037 - sizes are named by strings


def full(q: po.f32["H,T,D"], k: po.f32["H,T,D"], v: po.f32["H,T,D"], out: po.f32["H,T,D"]):
    s = q @ k.transpose(0, 2, 1) * np.float32(0.125)
    p = np.exp(s - s.max(axis=-1, keepdims=True))
    p /= p.sum(axis=-1, keepdims=True)
    out[:] = p @ v


def causal(q: po.f32["H,T,D"], k: po.f32["H,T,D"], v: po.f32["H,T,D"], out: po.f32["H,T,D"]):
    steps = np.arange(q.shape[1])
    s = q @ k.transpose(0, 2, 1) * np.float32(0.125)
    s = np.where(steps[:, None] >= steps, s, np.float32(-np.inf))
    p = np.exp(s - s.max(axis=-1, keepdims=True))
    p /= p.sum(axis=-1, keepdims=True)
    out[:] = p @ v


def banded(q: po.f32["H,T,D"], k: po.f32["H,T,D"], v: po.f32["H,T,D"], out: po.f32["H,T,D"]):
    T = q.shape[1]
    i, j = np.arange(T)[:, None], np.arange(T)
    seen = (i >= j) & (i - j < 5)
    s = np.where(seen, q @ k.transpose(0, 2, 1), np.float32(-1e9))
    p = np.exp(s - s.max(axis=-1, keepdims=True))
    out[:] = (p / p.sum(axis=-1, keepdims=True)) @ v


def heads_last(q: po.f64["T,H,D"], k: po.f64["T,H,D"], v: po.f64["T,H,D"], out: po.f64["T,H,D"]):
    s = q.transpose(1, 0, 2) @ k.transpose(1, 2, 0)
    p = np.exp(s - s.max(axis=-1, keepdims=True))
    p /= p.sum(axis=-1, keepdims=True)
    out[:] = (p @ v.transpose(1, 0, 2)).transpose(1, 0, 2)


def loops(q: po.f32["H,T,D"], k: po.f32["H,T,D"], v: po.f32["H,T,D"], out: po.f32["H,T,D"]):
    H, T, D = q.shape
    s = np.empty((H, T, T), dtype=q.dtype)
    for h in range(H):
        for i in range(T):
            top = q.dtype.type(-np.inf)
            for j in range(i + 1):
                score = q.dtype.type(0)
                for d in range(D):
                    score += q[h, i, d] * k[h, j, d]
                s[h, i, j] = score * np.float32(0.125)
                top = max(top, s[h, i, j])
            total = q.dtype.type(0)
            for j in range(i + 1):
                s[h, i, j] = np.exp(s[h, i, j] - top)
                total += s[h, i, j]
            for d in range(D):
                out[h, i, d] = 0
            for j in range(i + 1):
                for d in range(D):
                    out[h, i, d] += s[h, i, j] / total * v[h, j, d]


def elementwise(x: po.f64["N,K"], w: po.f64["K,M"], u: po.f64["M,L"], out: po.f64["N,L"]):
    out[:] = np.maximum(x @ w, 0.0) @ u


FORMS = [full, causal, banded, heads_last]


def arguments(function, T, H=2, D=5):
    rng = np.random.default_rng(T)
    shape = (T, H, D) if function is heads_last else (H, T, D)
    dtype = np.float64 if function is heads_last else np.float32
    return [rng.normal(size=shape).astype(dtype) for _ in range(3)] + [
        np.full(shape, np.nan, dtype)
    ]


def nests(kernel, *values):
    """Return the outermost loops of a schedule, and the loops directly inside."""
    lines = str(kernel.schedule(*values)).splitlines()
    return [line.split(":")[0] for line in lines if re.match(r"( {2})?for ", line)]


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("function", "fp"), [(full, "reassociate"), (causal, "strict"), (heads_last, "reassociate")]
)
def test_no_matrix_of_scores_is_allocated(function, fp):
    kernel = po.kernel(function, fp=fp, threads=2)
    text = kernel.compile(*arguments(function, 6)).source
    calls = re.findall(r"po_alloc\(([^;]*)\);", str(text))
    assert calls
    assert not [call for call in calls if len(re.findall(r"\bT\b", call)) > 1]


@pytest.mark.machine
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
def test_one_nest_over_blocks_of_rows(fp):
    kernel = po.kernel(full, fp=fp, threads=2)
    outer, inner = nests(kernel, *arguments(full, 6))
    assert outer == "for i = i"
    assert "j_tile" in inner


@pytest.mark.machine
def test_loops_are_one_nest_too():
    kernel = po.kernel(loops, fp="reassociate", threads=2)
    outer = nests(kernel, *arguments(loops, 6))
    assert len(outer) == 2
    assert "i_tile" in outer[1]


@pytest.mark.machine
def test_products_with_elementwise_nests_between_stay_apart():
    kernel = po.kernel(elementwise, fp="reassociate", threads=2)
    values = np.ones((4, 3)), np.ones((3, 5)), np.ones((5, 2)), np.ones((4, 2))
    assert sum(line.startswith("for ") for line in nests(kernel, *values)) > 1


@pytest.mark.toolchain
@pytest.mark.matrix
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
@pytest.mark.parametrize("function", [*FORMS, loops])
def test_all_lengths_are_right(function, fp):
    compiled = po.kernel(function, fp=fp, threads=2).compile(*arguments(function, 6))
    for T in [1, 2, 7, 16, 31, 48, 70, 249]:
        values = arguments(function, T, H=T % 3 + 1, D=64 if T % 2 else T % 7 + 1)
        assert all(result.holds for result in compiled.compare(*values)), T
