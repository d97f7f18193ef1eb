"""Single NumPy functions against NumPy, at sizes 0, 1 and odd."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import numpy as np
import pytest

from polyopt.frontend.numpy.table import FUNCTIONS, METHODS, functions, method_rule
from polyopt.frontend.numpy.table_rules import OnMasked, Written
from tests.unit.frontend.harness import agree


def running(A):
    return np.cumsum(A[:, 0]), np.cumsum(A, axis=0), A.cumsum(axis=1), np.cumprod(A, axis=-1)


def extremes(A):
    return np.argmax(A, axis=0), A.argmin(axis=1), np.argmax(A), np.argmin(A, axis=1, keepdims=True)


def joined(A):
    return (
        np.concatenate((A, A[1:] * 2)),
        np.concatenate([A, A], axis=1),
        np.stack((A, A + 1)),
        np.stack((A, A), axis=-1),
        np.vstack((A[0], A)),
        np.hstack((A, A)),
        np.column_stack((A[:, 0], A)),
    )


def padded(A):
    return (
        np.pad(A, 1),
        np.pad(A, ((1, 2), (0, 1)), mode="constant", constant_values=7.0),
        np.pad(A, 2, mode="edge"),
        np.pad(A[:, 0], (2, 1)),
    )


def moved(A):
    return np.roll(A, 1, axis=0), np.roll(A, (-1, 1), axis=(0, 1)), np.roll(A[0], 1)


def turned(A):
    return (
        np.flip(A),
        np.flip(A, axis=1),
        np.flipud(A),
        np.fliplr(A),
        np.transpose(A),
        np.swapaxes(A, 0, 1),
        np.moveaxis(A, 0, 1),
        np.expand_dims(A, 1),
        np.squeeze(A[None], axis=0),
        np.broadcast_to(A[0], A.shape),
    )


def picked(A):
    return (
        np.diag(A),
        np.diag(A[0]),
        np.trace(A),
        np.tril(A),
        np.triu(A, 1),
        np.tril(A, -1),
        np.diagonal(A),
        A.diagonal(),
        A.trace(),
    )


def contracted(A):
    return (
        np.einsum("ij,jk->ik", A, A.T),
        np.einsum("ij,ij->", A, A),
        np.einsum("ij->ji", A),
        np.einsum("ij,ij->i", A, A),
        np.tensordot(A, A, axes=([0], [0])),
        np.tensordot(A, A, axes=2),
        np.dot(A, A.T),
        np.inner(A, A),
        np.vdot(A[0], A[0]),
        np.outer(A[0], A[:, 0]),
    )


def norms(A):
    return np.linalg.norm(A), np.linalg.norm(A[0]), np.linalg.norm(A, axis=1), np.ptp(A, axis=0)


def counted(A):
    return (
        np.count_nonzero(A > 0),
        np.count_nonzero(A, axis=1),
        np.any(A > 1),
        np.all(A < 9, axis=0),
    )


def spread(A):
    return np.diff(A), np.diff(A, axis=0), np.repeat(A[:, 0], 3), np.repeat(A, 2, axis=1)


def gridded(A):
    X, Y = np.meshgrid(A[0], A[:, 0])
    P, Q = np.meshgrid(A[0], A[:, 0], indexing="ij")
    return X + Y, P - Q


def elementary(A):
    B = np.abs(A) + 0.1
    return (
        np.sqrt(B),
        np.cbrt(A),
        np.exp(A),
        np.exp2(A),
        np.expm1(A),
        np.log(B),
        np.log2(B),
        np.log10(B),
        np.log1p(B),
        np.sin(A),
        np.cos(A),
        np.tan(A),
        np.arcsin(A / 9),
        np.arccos(A / 9),
        np.arctan(A),
        np.sinh(A),
        np.cosh(A),
        np.tanh(A),
        np.arcsinh(A),
        np.arccosh(B + 1),
        np.arctanh(A / 9),
        np.arctan2(A, B),
        np.hypot(A, B),
        np.copysign(A, -B),
        np.fmod(A, B),
        np.power(B, 1.5),
        B**-1,
        np.square(A),
        np.reciprocal(B),
        np.deg2rad(A),
        np.degrees(A),
        np.heaviside(A, 0.5),
        np.logaddexp(A, B),
        np.fmax(A, B),
        np.fmin(A, B),
        np.float_power(B, 2),
        np.remainder(A, B),
    )


def predicates(A):
    B = A / (A - A[0, 0])
    return (
        np.isnan(B),
        np.isinf(B),
        np.isfinite(B),
        np.signbit(A),
        np.logical_and(A > 0, A < 1),
        np.logical_or(A > 0, A < -1),
        np.logical_not(A > 0),
        np.logical_xor(A > 0, A > 1),
        np.nan_to_num(B),
        np.maximum(B, 0),
        np.minimum(B, 0),
        np.sign(B),
        np.fmax(B, 1.0),
    )


def made(A):
    n, m = A.shape
    return (
        np.zeros_like(A),
        np.ones((n, 2)),
        np.full_like(A, 2.5),
        np.full((2, m), 3),
        np.identity(n),
        np.eye(n, m),
        np.arange(1, n),
        np.arange(n, 0, -2),
        np.linspace(0, 1, m),
        np.array([1, 2.5, 3]),
        np.array([[1, 2], [3, 4]], dtype=np.float32),
        A.astype(np.float32),
        np.copy(A),
        np.zeros(n, bool),
    )


def masked(A):
    A[A > 1] = 1.0
    A[A < 0] *= -0.5
    A[A[:, 0] > 0.5] = 0.25
    return A.sum()


def masked_values(A):
    B = A.copy()
    m = A > 0
    B[m] = A[m] ** 2 + 1
    B[B < 0.5] += A[B < 0.5]
    B[~m] = np.exp(B[~m])
    big = A[A > 0.1] * 2
    return (
        B,
        A[m].sum(),
        A[m].mean(),
        np.sum(A[m] * B[m]),
        A[m].size,
        big.prod(),
        len(A[m]),
        np.any(A[m] > 1),
    )


def filled(A):
    A[0].fill(2.0)
    np.multiply(A, 2, out=A)
    np.add(A[1:], A[:-1], out=A[1:])
    B = np.empty((A.shape[0], A.shape[0]))
    np.dot(A, A.T, out=B)
    return B


def integers(A):
    K = (A * 3).astype(np.int32)
    return (
        K // 2,
        K % 3,
        K << 1,
        K >> 1,
        ~K,
        K & 3,
        K | 4,
        K ^ 1,
        np.sign(K),
        -K,
        np.abs(K),
        K.sum(),
        K.max(),
        K.mean(),
        K / 2,
        K**2,
        K // K,
        K % K,
        np.clip(K, -1, 1),
        np.cumsum(K, axis=0),
        K.prod(),
        K.argmax(),
    )


def complexes(A):
    Z = A + 1j * A[::-1]
    return (
        Z.conj(),
        Z.real,
        Z.imag,
        np.abs(Z),
        Z.sum(),
        Z @ Z.T,
        np.exp(Z),
        Z * 2,
        Z / (Z + 9),
        np.conj(Z).T,
    )


KERNELS = [
    running, extremes, joined, padded, moved, turned, picked, contracted, norms, counted, spread,
    gridded, elementary, predicates, made, masked, masked_values, filled, integers, complexes,
]  # fmt: skip
NEED_ELEMENTS = {
    extremes,
    joined,
    moved,
    norms,
    predicates,
    filled,
    integers,
    picked,
    padded,
    contracted,
    gridded,
    turned,
}


@pytest.mark.parametrize("size", [0, 1, 2, 5])
@pytest.mark.parametrize("func", KERNELS, ids=lambda f: f.__name__)
def test_function_equals_numpy(func: Callable[..., object], size: int) -> None:
    if size == 0 and func in NEED_ELEMENTS:
        pytest.skip("NumPy refuses this size")
    agree(func, np.random.default_rng(size).standard_normal((size, size + 1)))


def is_rule(found: object) -> bool:
    return isinstance(found, OnMasked | Written) or inspect.isfunction(found)


def test_tables_name_real_functions() -> None:
    for name in functions():
        function: object = np
        for part in name.split("."):
            function = getattr(function, part)
        assert callable(function)
        assert is_rule(FUNCTIONS[name].rule)
    for name in METHODS:
        assert callable(getattr(np.ndarray, name))
        assert is_rule(method_rule(name))
