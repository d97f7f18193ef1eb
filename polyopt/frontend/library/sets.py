"""Different elements of arrays: unique, and what is asked of two sets.

In: arrays.  Out: sorted arrays of elements that differ.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def _first(ordered: Any, equal_nan: bool) -> Any:
    """Which elements of a sorted array differ from the one before."""
    flags = np.ones(ordered.shape[0], dtype=np.bool_)
    flags[1:] = ordered[1:] != ordered[:-1]
    if equal_nan and np.issubdtype(ordered.dtype, np.inexact):
        flags[1:] &= (ordered[1:] == ordered[1:]) | (ordered[:-1] == ordered[:-1])
    return flags


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    equal_nan: bool = True,
) -> Any:
    """The elements that differ, sorted."""
    return (
        _unique_with(ar, return_index, return_inverse, return_counts, axis, equal_nan)
        if return_index or return_inverse or return_counts
        else _unique(np.ravel(ar) if axis is None else ar, equal_nan)
    )


def _among(element: Any, others: Any) -> Any:
    """Whether each element is one of others; NaN, which equals nothing, is none."""
    ordered = np.sort(np.ravel(others))
    first, end = np.searchsorted(ordered, element), np.searchsorted(ordered, element, side="right")
    return (first < end) & (element == element)


def intersect1d(ar1: Any, ar2: Any) -> Any:
    """The elements of both, sorted."""
    both = np.sort(np.concatenate((unique(ar1), unique(ar2))))
    return both[:-1][both[1:] == both[:-1]]


def setdiff1d(ar1: Any, ar2: Any) -> Any:
    """The elements of the first that are none of the second, sorted."""
    one = unique(ar1)
    return one[~_among(one, ar2)]


def union1d(ar1: Any, ar2: Any) -> Any:
    """The elements of either, sorted."""
    return unique(np.concatenate((np.ravel(ar1), np.ravel(ar2))))


def ravel_multi_index(multi_index: Any, dims: Any) -> Any:
    """The number in C order of the elements at these positions."""
    total: Any = 0
    for place, extent in zip(multi_index, dims):  # noqa: B905  the compiler reads this
        if np.any(place < 0) or np.any(place >= extent):
            raise ValueError("np.ravel_multi_index: a subscript is outside of the array")
        total = total * extent + place
    return total


def _unique(flat: Any, equal_nan: bool) -> Any:
    ordered = np.sort(flat)
    return ordered[_first(ordered, equal_nan)]


def _unique_with(
    ar: Any, index: bool, inverse: bool, counts: bool, axis: Any, equal_nan: bool
) -> Any:
    flat = np.ravel(ar) if axis is None else ar
    order = np.argsort(flat, kind="stable")
    ordered = flat[order]
    flags = _first(ordered, equal_nan)
    values = ordered[flags]
    result: Any = (values,)
    if index:
        result = (*result, order[flags])
    if inverse:
        where = np.empty(flat.shape[0], dtype=np.int64)
        where[order] = np.cumsum(flags) - 1
        result = (*result, np.reshape(where, ar.shape))
    if counts:
        starts = np.flatnonzero(flags)
        ends = np.empty(starts.shape[0], dtype=np.int64)
        ends[:-1] = starts[1:]
        ends[-1:] = flat.shape[0]
        result = (*result, ends - starts)
    return result
