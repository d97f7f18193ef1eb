"""The array API's functions on lazy arrays agree with its strict reference implementation."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po

strict = pytest.importorskip("array_api_strict")

pytestmark = [pytest.mark.toolchain, pytest.mark.matrix]

_RNG = np.random.default_rng(0)
FLOATS = {name: _RNG.random((3, 4)) * 0.8 + 0.1 for name in "xy"}
INTEGERS = {name: _RNG.integers(1, 9, (3, 4)) for name in "xy"}
TRUTHS = {name: _RNG.random((3, 4)) > 0.5 for name in "xy"}
COMPLEX = {name: _RNG.random((3, 4)) + 1j * _RNG.random((3, 4)) for name in "xy"}
TYPES = {"f": po.f64, "i": po.i64, "b": po.bool_, "c": po.c128}

UNARY = """abs acos asin asinh atan atanh ceil cos cosh exp expm1 floor isfinite isinf isnan log
    log1p log2 log10 negative positive round sign signbit sin sinh square sqrt tan tanh trunc
    reciprocal"""
BINARY = """add atan2 copysign divide equal floor_divide greater greater_equal hypot less less_equal
    logaddexp maximum minimum multiply nextafter not_equal pow remainder subtract"""
OF_INTEGERS = """add subtract multiply floor_divide remainder bitwise_and bitwise_or bitwise_xor
    bitwise_left_shift bitwise_right_shift equal less maximum minimum pow"""
OPERATORS = """
x + y; x - 1.0; 2.0 * x; x / y; -x; x ** 2.0; x % y; x // y; x < y; x @ y.T; x.T; x.mT; abs(x)
x[1:, :2]; x[::-1, :]; x[0, ...]; x[None, ...]
"""
REDUCTIONS = """
xp.sum(x); xp.sum(x, axis=0); xp.sum(x, axis=-1, keepdims=True); xp.prod(x, axis=1)
xp.mean(x); xp.mean(x, axis=0); xp.var(x); xp.var(x, axis=0, correction=1.0)
xp.std(x, axis=1); xp.std(x, correction=1.0); xp.max(x); xp.min(x, axis=1)
xp.cumulative_sum(x, axis=1); xp.cumulative_prod(x, axis=0); xp.argmax(x, axis=1); xp.argmin(x)
xp.diff(x, axis=1)
"""
PRODUCTS = """
xp.matmul(x, y.T); xp.matrix_transpose(x); xp.tensordot(x, y, axes=([1], [1])); xp.vecdot(x, y)
xp.linalg.matmul(x, y.T); xp.linalg.vecdot(x, y); xp.linalg.tensordot(x, y, axes=2)
xp.linalg.vector_norm(x); xp.linalg.vector_norm(x, axis=1); xp.linalg.matrix_norm(x)
xp.linalg.diagonal(x); xp.linalg.trace(x); xp.linalg.cross(x[:, :3], y[:, :3])
xp.linalg.matrix_transpose(x); xp.linalg.solve(x[:, :3] + 3.0 * xp.eye(3), y)
xp.linalg.inv(x[:, :3] + 3.0 * xp.eye(3)); xp.linalg.det(x[:, :3])
xp.linalg.cholesky(x @ x.T + xp.eye(3))
"""
MOVED = """
xp.where(x < y, x, y); xp.clip(x, 0.3, 0.6); xp.concat((x, y), axis=0); xp.concat([x, y], axis=None)
xp.stack([x, y]); xp.expand_dims(x, axis=1); xp.squeeze(x[:1, :], axis=0); xp.flip(x)
xp.flip(x, axis=0); xp.permute_dims(x, (1, 0)); xp.reshape(x, (4, 3)); xp.reshape(x, (-1,))
xp.roll(x, 1); xp.roll(x, 1, axis=1); xp.moveaxis(x, 0, 1); xp.tile(x, (2, 1))
xp.repeat(x, 2, axis=0); xp.broadcast_to(x, (2, 3, 4)); xp.tril(x); xp.triu(x, k=1)
xp.astype(x, xp.float32); xp.take(x, xp.asarray([0, 2]), axis=1); xp.unstack(x)[1]
xp.take_along_axis(x, xp.argmax(x, axis=1, keepdims=True), axis=1); xp.sort(x, axis=1)
xp.argsort(x, axis=1); xp.searchsorted(xp.sort(x[0, :]), y[0, :]); xp.nonzero(x > 0.5)[0]
xp.meshgrid(x[0, :], y[:, 0])[0]; xp.broadcast_arrays(x, y[0, :])[1]
"""
MADE = """
xp.zeros_like(x); xp.ones_like(x); xp.full_like(x, 2.0); xp.zeros_like(xp.empty_like(x)) + x
xp.arange(4.0) + x; xp.linspace(0.0, 1.0, 4) * x; xp.eye(3) @ x; xp.zeros((3, 4)) + x
xp.ones(4) * x; xp.full((4,), 2.0) * x; xp.asarray(2.0) * x
"""


def _programs():
    def listed(text):
        return [one.strip() for line in text.splitlines() for one in line.split(";") if one.strip()]

    of_floats = [f"xp.{name}(x)" for name in UNARY.split()] + ["xp.acosh(x + 1.5)"]
    of_floats += [f"xp.{name}(x, y)" for name in BINARY.split()]
    for text in (OPERATORS, REDUCTIONS, PRODUCTS, MOVED, MADE):
        of_floats += listed(text)
    yield from ((text, FLOATS) for text in of_floats)
    for name in OF_INTEGERS.split():
        yield f"xp.{name}(x, y)", INTEGERS
    for name in ("abs", "bitwise_invert", "negative", "sign", "square", "positive"):
        yield f"xp.{name}(x)", INTEGERS
    for name in ("logical_and", "logical_or", "logical_xor", "equal", "not_equal"):
        yield f"xp.{name}(x, y)", TRUTHS
    for text in listed(
        "xp.logical_not(x); xp.all(x); xp.any(x, axis=0); xp.count_nonzero(x, axis=0)"
    ):
        yield text, TRUTHS
    for name in ("abs", "conj", "real", "imag", "exp", "sqrt", "square", "negative"):
        yield f"xp.{name}(x)", COMPLEX
    for name in ("add", "multiply", "divide"):
        yield f"xp.{name}(x, y)", COMPLEX


PROGRAMS = list(_programs())
OF_KNOWN_SIZES = (
    "tile", "reshape(x, (4", "eye", "zeros", "full", "arange", "linspace", "ones(4)", "solve",
    "inv", "det", "cholesky", "unstack", "broadcast_to", "squeeze", "expand", "cross", "permute",
)  # fmt: skip
"""Words of programs that need numbers as sizes, or whose sizes have to be equal to numbers."""


@pytest.mark.parametrize("text, data", PROGRAMS, ids=[f"{t} {d['x'].dtype}" for t, d in PROGRAMS])
def test_a_program_agrees_with_the_strict_implementation(text, data):
    own = {name: strict.asarray(array) for name, array in data.items()}
    expected = np.asarray(eval(text, {"xp": strict, **own}))
    shape = "3,4" if any(word in text for word in OF_KNOWN_SIZES) else "N,M"
    lazy = {name: po.tensor(name, TYPES[array.dtype.kind][shape]) for name, array in data.items()}
    value = eval(text, {"xp": lazy["x"].__array_namespace__(), **lazy})
    found = po.compile(value, inputs=list(lazy.values()))(*data.values())
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    assert np.allclose(found, expected, rtol=1e-12)
