"""Differences, integrals, polynomials, products of vectors and matrices, least squares.

In: arrays, spacings, coefficients.  Out: arrays in the type NumPy gives them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polyopt.frontend.library.asking import refused, require_extent


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral by the trapezoidal rule."""
    along = np.moveaxis(y, axis, -1)
    gaps = (
        dx
        if x is None
        else np.diff(x)
        if np.ndim(x) == 1
        else np.diff(np.moveaxis(x, axis, -1), axis=-1)
    )
    return np.sum(gaps * (along[..., 1:] + along[..., :-1]) / 2.0, axis=-1)


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Central differences inside, one-sided ones at the ends."""
    axes = tuple(range(f.ndim)) if axis is None else axis if np.ndim(axis) else (axis,)
    gaps = (1.0,) * len(axes) if len(varargs) == 0 else varargs
    all_gaps = gaps * len(axes) if len(gaps) == 1 else gaps
    found = tuple([_slope(f, all_gaps[k], axes[k], edge_order) for k in range(len(axes))])
    return found[0] if len(found) == 1 else found


def _slope(f: Any, gap: Any, axis: int, edge_order: int) -> Any:
    kind = f.dtype if f.dtype.kind in "fc" else np.float64
    out = np.empty(f.shape, dtype=kind)
    into = np.moveaxis(out, axis, 0)
    along = np.moveaxis(f if f.dtype.kind in "fcV" else f.astype(kind), axis, 0)
    if np.ndim(gap) == 0:
        _even(into, along, gap, edge_order)
    else:
        _uneven(into, along, np.diff(gap), edge_order)
    return out


def _even(into: Any, f: Any, dx: Any, edge_order: int) -> None:
    into[1:-1] = (f[2:] - f[:-2]) / (2.0 * dx)
    if edge_order == 1:
        into[0] = (f[1] - f[0]) / dx
        into[-1] = (f[-1] - f[-2]) / dx
    else:
        into[0] = -1.5 / dx * f[0] + 2.0 / dx * f[1] + -0.5 / dx * f[2]
        into[-1] = 0.5 / dx * f[-3] + -2.0 / dx * f[-2] + 1.5 / dx * f[-1]


def _uneven(into: Any, f: Any, gaps: Any, edge_order: int) -> None:
    wide = np.expand_dims(gaps, tuple(range(1, f.ndim))) if f.ndim > 1 else gaps
    before = wide[:-1]
    after = wide[1:]
    into[1:-1] = (
        -after / (before * (before + after)) * f[:-2]
        + (after - before) / (before * after) * f[1:-1]
        + before / (after * (before + after)) * f[2:]
    )
    if edge_order == 1:
        into[0] = (f[1] - f[0]) / gaps[0]
        into[-1] = (f[-1] - f[-2]) / gaps[-1]
    else:
        one = gaps[0]
        two = gaps[1]
        into[0] = (
            -(2.0 * one + two) / (one * (one + two)) * f[0]
            + (one + two) / (one * two) * f[1]
            + -one / (two * (one + two)) * f[2]
        )
        last = gaps[-1]
        but_last = gaps[-2]
        into[-1] = (
            last / (but_last * (but_last + last)) * f[-3]
            + -(last + but_last) / (but_last * last) * f[-2]
            + (2.0 * last + but_last) / (last * (but_last + last)) * f[-1]
        )


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """The differences of neighbours, with values put before and after."""
    inner = np.diff(np.ravel(ary))
    ended = inner if to_end is None else np.concatenate((inner, np.atleast_1d(to_end)))
    return ended if to_begin is None else np.concatenate((np.atleast_1d(to_begin), ended))


def polyval(p: Any, x: Any) -> Any:
    """The value of a polynomial, its highest coefficient first."""
    return _at_arrays(np.asarray(p), x) if np.ndim(x) else _at_number(np.asarray(p), x)


def _at_arrays(p: Any, x: Any) -> Any:
    y = np.zeros(np.shape(x), np.result_type(x, p))
    for k in range(p.shape[0]):
        y[...] = y * x + p[k]
    return y


def _at_number(p: Any, x: Any) -> Any:
    y = 0 * x
    for k in range(p.shape[0]):
        y = y * x + p[k]
    return y


def polymul(a1: Any, a2: Any) -> Any:
    """The coefficients of a product."""
    return np.convolve(a1, a2)


def polyder(p: Any, m: int = 1) -> Any:
    """The coefficients of the derivative."""
    return p if m == 0 else _derivative(p) if m == 1 else _derivative(_derivative(p))


def _derivative(p: Any) -> Any:
    return p[:-1] * np.arange(p.shape[0] - 1, 0, -1)


def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """The coefficients of the integral; `k` is what it begins with."""
    start = np.zeros(1) if k is None else np.atleast_1d(k)
    once = np.concatenate((p / np.arange(p.shape[0], 0, -1), start))
    return p if m == 0 else once if m == 1 else refused("np.polyint of higher order", "repeat it")


def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    """The powers of every element, one a row."""
    columns = x.shape[0] if N is None else N
    out = np.empty((x.shape[0], columns), dtype=np.result_type(x.dtype, np.int64))
    way = out if increasing else out[:, ::-1]
    way[:, 0:1] = 1
    for k in range(1, columns):
        way[:, k] = way[:, k - 1] * x
    return out


def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None
) -> Any:
    """The vector product of vectors with three components."""
    left = require_extent(np.moveaxis(a, axisa if axis is None else axis, -1), -1, 3)
    right = require_extent(np.moveaxis(b, axisb if axis is None else axis, -1), -1, 3)
    parts = (
        left[..., 1] * right[..., 2] - left[..., 2] * right[..., 1],
        left[..., 2] * right[..., 0] - left[..., 0] * right[..., 2],
        left[..., 0] * right[..., 1] - left[..., 1] * right[..., 0],
    )
    return np.stack(parts, axis=axisc if axis is None else axis)


def kron(a: Any, b: Any) -> Any:
    """The Kronecker product of arrays with equal numbers of dimensions, two at most."""
    return (
        np.reshape(a[:, None] * b[None, :], (a.shape[0] * b.shape[0],))
        if a.ndim == 1
        else np.reshape(
            a[:, None, :, None] * b[None, :, None, :],
            (a.shape[0] * b.shape[0], a.shape[1] * b.shape[1]),
        )
    )


def multi_dot(arrays: Any, *, out: Any = None) -> Any:
    """The product of several matrices, from left to right."""
    return (
        np.dot(arrays[0], arrays[1], out=out)
        if len(arrays) == 2
        else np.dot(_product(arrays[:-1]), arrays[-1], out=out)
    )


def _product(arrays: Any) -> Any:
    result = arrays[0]
    for other in arrays[1:]:
        result = np.dot(result, other)
    return result


def matrix_power(a: Any, n: int) -> Any:
    """The matrix multiplied `n` times with itself."""
    result = np.eye(a.shape[-1], dtype=a.dtype) if n == 0 else a
    for _ in tuple(range(1, n)):
        result = result @ a
    return result


def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """The solutions of least norm, the residuals, the rank and the singular values."""
    u, s, vt = np.linalg.svd(a, full_matrices=False)
    m, n = a.shape
    least = np.finfo(s.dtype).eps * max(m, n) if rcond is None else rcond
    keep = s > least * np.max(s)
    rank = np.sum(keep)
    y = np.conj(np.transpose(u)) @ b
    inverse = np.where(keep, 1 / np.where(keep, s, 1), 0).astype(s.dtype)
    x = np.conj(np.transpose(vt)) @ (inverse * y if np.ndim(b) == 1 else inverse[:, None] * y)
    r = np.atleast_1d(np.sum(np.abs(b - a @ x) ** 2, axis=0))
    determined = np.full(r.shape[0], (m > n) & (rank == n))
    return x, r[determined], np.int32(rank), s
