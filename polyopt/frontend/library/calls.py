"""Functions that call functions: fromfunction, piecewise.

In: functions of the user, conditions.  Out: what they give for every element.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polyopt.frontend.library.asking import refused


def fromfunction(function: Any, shape: Any, *, dtype: Any = float) -> Any:
    """Call the function with the subscripts of every element."""
    places = np.indices(shape, dtype=dtype)
    return function(*[places[d] for d in range(len(shape))])


def piecewise(x: Any, condlist: Any, funclist: Any) -> Any:
    """The function, or constant, of the last condition that holds."""
    values = [(f(x) if callable(f) else f) for f in funclist]
    default = values[len(condlist)] if len(values) > len(condlist) else 0
    chosen = np.select(condlist[::-1], values[: len(condlist)][::-1], default)
    return chosen.astype(x.dtype)


def apply_along_axis(func1d: Any, axis: int, arr: Any) -> Any:
    """Call the function with every vector along an axis of a matrix."""
    return (
        func1d(arr)
        if arr.ndim == 1
        else _of_rows(func1d, np.moveaxis(arr, axis, -1), axis)
        if arr.ndim == 2
        else refused("np.apply_along_axis of more than two dimensions", "loop over the others")
    )


def _of_rows(func1d: Any, rows: Any, axis: int) -> Any:
    found = np.array([func1d(rows[i]) for i in range(rows.shape[0])])
    return found if found.ndim == 1 else np.moveaxis(found, -1, axis)


def vectorized(function: Any, *args: Any) -> Any:
    """Call the function with every element."""
    return (
        function(*args)
        if all(np.ndim(a) == 0 for a in args)
        else _of_elements(function, np.broadcast_arrays(*args) if len(args) > 1 else args)
    )


def _of_elements(function: Any, args: Any) -> Any:
    flat = [np.ravel(a) for a in args]
    found = np.array([function(*[a[i] for a in flat]) for i in range(flat[0].shape[0])])
    return np.reshape(found, args[0].shape)
