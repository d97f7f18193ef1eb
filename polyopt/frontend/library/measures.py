"""Averages with weights, covariances, norms, and running sums that pass over NaN.

In: arrays.  Out: numbers, or arrays with fewer dimensions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polyopt.frontend.library.asking import refused


def average(a: Any, axis: Any = None, weights: Any = None, *, keepdims: bool = False) -> Any:
    """The mean, every element counted as often as its weight says."""
    return (
        np.mean(a, axis=axis, keepdims=keepdims)
        if weights is None
        else _weighted(a, axis, _along(a, axis, weights), keepdims)
    )


def _along(a: Any, axis: Any, weights: Any) -> Any:
    """Weights of one dimension belong to the axis."""
    return (
        weights
        if np.ndim(a) == np.ndim(weights)
        else np.expand_dims(weights, tuple([d for d in range(np.ndim(a)) if d != axis % a.ndim]))
    )


def _weighted(a: Any, axis: Any, weights: Any, keepdims: bool) -> Any:
    kind = (
        np.result_type(a.dtype, weights.dtype, np.float64)
        if a.dtype.kind in "biu"
        else np.result_type(a.dtype, weights.dtype)
    )
    total = np.sum(np.multiply(a, weights, dtype=kind), axis=axis, keepdims=keepdims)
    shape = np.broadcast_to(weights, a.shape)
    whole = np.sum(shape, axis=axis, dtype=kind, keepdims=keepdims)
    if np.any(whole == 0):
        raise ZeroDivisionError("np.average: the weights sum to zero")
    return total / whole


def cov(m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None) -> Any:
    """The covariance of the rows (or columns, without `rowvar`)."""
    kind = np.result_type(m.dtype, np.float64)
    given = m if m.dtype == kind else m.astype(kind)
    first = np.atleast_2d(given) if rowvar or np.ndim(m) == 1 else np.transpose(given)
    rows = first if y is None else np.concatenate((first, _rows(y, rowvar)), axis=0)
    less = (0 if bias else 1) if ddof is None else ddof
    count = max(rows.shape[1] - less, 0)
    away = rows - np.mean(rows, axis=1, keepdims=True)
    product = away @ np.conjugate(away.T) / count
    return product[0, 0, ...] if np.ndim(m) == 1 and y is None else np.squeeze(product)


def _rows(y: Any, rowvar: bool) -> Any:
    return np.atleast_2d(y) if rowvar or np.ndim(y) == 1 else np.transpose(y)


def corrcoef(x: Any, y: Any = None, rowvar: bool = True) -> Any:
    """The covariance divided by both standard deviations."""
    return _one_row(cov(x)) if np.ndim(x) == 1 and y is None else _correlations(cov(x, y, rowvar))


def _one_row(c: Any) -> Any:
    return c / c


def _correlations(c: Any) -> Any:
    spread = np.sqrt(np.real(np.diag(c)))
    return np.clip(c / spread[:, None] / spread[None, :], -1, 1)


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The norm of a vector or matrix, or of those along `axis`."""
    real = x if x.dtype.kind in "fc" else x.astype(np.float64)
    return (
        _root_of_squares(real, axis, keepdims)
        if ord is None
        else vector_norm(real, axis=axis, keepdims=keepdims, ord=ord)
        if (np.ndim(axis) == 0 and axis is not None) or (axis is None and x.ndim == 1)
        else _matrix(real, ord, (0, 1) if axis is None else axis, keepdims)
    )


def _root_of_squares(x: Any, axis: Any, keepdims: bool) -> Any:
    return np.sqrt(np.sum(_squares(x), axis=axis, keepdims=keepdims))


def _squares(x: Any) -> Any:
    return np.real(x) ** 2 + np.imag(x) ** 2 if x.dtype.kind == "c" else x * x


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """The norm over some axes, as if they were one."""
    size = np.abs(x)
    return (
        np.max(size, axis=axis, keepdims=keepdims)
        if ord == np.inf
        else np.min(size, axis=axis, keepdims=keepdims)
        if ord == -np.inf
        else np.sum((x != 0).astype(size.dtype), axis=axis, keepdims=keepdims)
        if ord == 0
        else np.sum(size, axis=axis, keepdims=keepdims)
        if ord == 1
        else _root_of_squares(x, axis, keepdims)
        if ord == 2
        else np.sum(size**ord, axis=axis, keepdims=keepdims) ** (1 / ord)
    )


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """The norm of matrices in the last two dimensions."""
    return _matrix(x, ord, (-2, -1), keepdims)


def _matrix(x: Any, ord: Any, axes: Any, keepdims: bool) -> Any:
    return (
        _root_of_squares(x, axes, keepdims)
        if ord == "fro" or ord == "f"
        else _extreme(np.abs(x), ord, axes[0], axes[1], keepdims)
        if ord == 1 or ord == -1
        else _extreme(np.abs(x), ord, axes[1], axes[0], keepdims)
        if ord == np.inf or ord == -np.inf
        else refused("this order needs singular values", "take np.linalg.svd outside")
    )


def _extreme(size: Any, ord: Any, first: Any, second: Any, keepdims: bool) -> Any:
    sums = np.sum(size, axis=first, keepdims=True)
    best = (np.max if ord > 0 else np.min)(sums, axis=second, keepdims=True)
    return best if keepdims else np.squeeze(best, axis=(first, second))


def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """The largest element less the smallest one."""
    largest = np.max(a, axis=axis, keepdims=keepdims)
    return np.subtract(largest, np.min(a, axis=axis, keepdims=keepdims), out=out)


def trace(
    a: Any, offset: Any = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
) -> Any:
    """The sum of a diagonal."""
    return np.sum(np.diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype, out=out)


def matrix_trace(x: Any, /, *, offset: Any = 0, dtype: Any = None) -> Any:
    """The sum of the diagonal of the last two dimensions."""
    return np.sum(np.diagonal(x, offset, -2, -1), axis=-1, dtype=dtype)


def matrix_diagonal(x: Any, /, *, offset: Any = 0) -> Any:
    """The diagonal of the last two dimensions."""
    return np.diagonal(x, offset, -2, -1)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The product of vectors along a dimension, the first one conjugated."""
    return np.vecdot(np.moveaxis(x1, axis, -1), np.moveaxis(x2, axis, -1))


def nancumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """The running sum, NaN counted as zero."""
    return np.cumsum(_filled(a, 0), axis=axis, dtype=dtype, out=out)


def nancumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """The running product, NaN counted as one."""
    return np.cumprod(_filled(a, 1), axis=axis, dtype=dtype, out=out)


def _filled(a: Any, value: Any) -> Any:
    return np.where(np.isnan(a), value, a) if a.dtype.kind in "fc" else a


def nanargmax(a: Any, axis: Any = None) -> Any:
    """The place of the largest number."""
    return np.argmax(_filled(a, -np.inf), axis=axis)


def nanargmin(a: Any, axis: Any = None) -> Any:
    """The place of the smallest number."""
    return np.argmin(_filled(a, np.inf), axis=axis)


def cumulative_sum(x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """The running sum; a vector needs no axis."""
    return np.cumsum(x, axis=axis, dtype=dtype, out=out)


def cumulative_prod(x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """The running product; a vector needs no axis."""
    return np.cumprod(x, axis=axis, dtype=dtype, out=out)
