"""Arrays turned, cut and put together.

In: arrays.  Out: views, or new arrays where elements are put together.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from polyopt.frontend.library.asking import refused, repeated


def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    """Turn the plane of two axes by quarters."""
    return (
        m[...]
        if k % 4 == 0
        else np.flip(np.flip(m, axes[0]), axes[1])
        if k % 4 == 2
        else np.swapaxes(np.flip(m, axes[1]), axes[0], axes[1])
        if k % 4 == 1
        else np.flip(np.swapaxes(m, axes[0], axes[1]), axes[1])
    )


def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """Put one dimension before the one at `start`."""
    one = axis + a.ndim if axis < 0 else axis
    place = start + a.ndim if start < 0 else start
    return np.moveaxis(a, one, place - 1 if one < place else place)


def flipud(m: Any) -> Any:
    """Turn the rows around."""
    return np.flip(m, 0)


def fliplr(m: Any) -> Any:
    """Turn the columns around."""
    return np.flip(m, 1)


def dstack(tup: Any) -> Any:
    """Put arrays one behind the other."""
    return np.concatenate([np.atleast_3d(a) for a in tup], axis=2)


def unstack(x: Any, /, *, axis: int = 0) -> Any:
    """Return the layers along a dimension."""
    along = np.moveaxis(x, axis, 0)
    return tuple([along[i] for i in range(along.shape[0])])


def hsplit(ary: Any, indices_or_sections: Any) -> Any:
    """Return parts side by side."""
    return np.split(ary, indices_or_sections, axis=1 if ary.ndim > 1 else 0)


def vsplit(ary: Any, indices_or_sections: Any) -> Any:
    """Return parts one below the other."""
    return (
        np.split(ary, indices_or_sections)
        if ary.ndim > 1
        else refused("np.vsplit of a vector", "use np.split")
    )


def dsplit(ary: Any, indices_or_sections: Any) -> Any:
    """Return parts one behind the other."""
    return np.split(ary, indices_or_sections, axis=2)


def tri(N: Any, M: Any = None, k: Any = 0, dtype: Any = float) -> Any:
    """Return ones at and below a diagonal."""
    return np.tril(np.ones((N, N if M is None else M), dtype=dtype), k)


def diagflat(v: Any, k: Any = 0) -> Any:
    """Return a matrix whose diagonal the elements are."""
    return np.diag(np.ravel(v), k)


def flatnonzero(a: Any) -> Any:
    """Return the places of what is not zero, in the order of memory."""
    return np.nonzero(np.ravel(a))[0]


def append(arr: Any, values: Any, axis: Any = None) -> Any:
    """The values after those of the array."""
    return (
        np.concatenate((np.ravel(np.atleast_1d(arr)), np.ravel(np.atleast_1d(values))))
        if axis is None
        else np.concatenate((arr, values), axis=axis)
    )


def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    """Every layer along the axis as often as `repeats`, one number for all or one for each."""
    return (
        repeated(a, repeats, axis)
        if isinstance(repeats, (list, tuple)) or np.ndim(repeats) == 0
        else _by_counts(np.ravel(a), repeats, 0)
        if axis is None
        else _by_counts(a, repeats, axis)
    )


def _by_counts(a: Any, repeats: Any, axis: int) -> Any:
    counts = np.broadcast_to(np.asarray(repeats), (a.shape[axis],))
    assert np.all(counts >= 0), "np.repeat of a negative number of times"
    layers = np.empty(np.sum(counts), dtype=np.int64)
    place = 0
    for i in range(a.shape[axis]):
        layers[place : place + counts[i]] = i
        place += counts[i]
    return np.take(a, layers, axis)


def matrix_transpose(x: Any, /) -> Any:
    """The last two dimensions swapped."""
    return np.swapaxes(x, -1, -2)


def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """The values put before the position `obj`."""
    end = arr.shape[0 if axis is None else axis]
    place = obj if obj >= 0 else obj + end
    if place < 0 or place > end:
        raise IndexError("np.insert: the position is outside of the array")
    return (
        np.concatenate((arr[:place], np.atleast_1d(values).astype(arr.dtype), arr[place:]))
        if np.ndim(arr) == 1
        else refused("np.insert into more than one dimension", "use np.concatenate of slices")
        if axis is None
        else _layered(np.moveaxis(arr, axis, 0), place, values, axis)
    )


def _layered(along: Any, place: Any, values: Any, axis: int) -> Any:
    layer = np.broadcast_to(values, (1, *along.shape[1:])).astype(along.dtype)
    return np.moveaxis(np.concatenate((along[:place], layer, along[place:])), 0, axis)


def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    """The array without the position `obj`."""
    return (
        _without(arr, obj)
        if np.ndim(arr) == 1
        else refused("np.delete from more than one dimension", "use np.concatenate of slices")
        if axis is None
        else np.moveaxis(_without(np.moveaxis(arr, axis, 0), obj), 0, axis)
    )


def _without(arr: Any, obj: Any) -> Any:
    place = obj if obj >= 0 else obj + arr.shape[0]
    if place < 0 or place >= arr.shape[0]:
        raise IndexError("np.delete: the position is outside of the array")
    return np.concatenate((arr[:place], arr[place + 1 :]))


def unravel_index(indices: Any, shape: Any, order: str = "C") -> Any:
    """The subscripts of a position in the order of memory."""
    places = indices + np.int64(0)
    if np.any(places < 0) or np.any(places >= math.prod(shape)):
        raise ValueError("np.unravel_index: a position is outside of the array")
    return tuple([places // math.prod(shape[d + 1 :]) % shape[d] for d in range(len(shape))])


def diag_indices(n: Any, ndim: int = 2) -> Any:
    """The subscripts of a diagonal."""
    return (np.arange(n),) * ndim


def triu_indices(n: Any, k: Any = 0, m: Any = None) -> Any:
    """Return the subscripts of the elements at and above a diagonal."""
    return np.nonzero(np.triu(np.ones((n, n if m is None else m), dtype=bool), k))


def tril_indices(n: Any, k: Any = 0, m: Any = None) -> Any:
    """Return the subscripts of the elements at and below a diagonal."""
    return np.nonzero(np.tril(np.ones((n, n if m is None else m), dtype=bool), k))


def isin(element: Any, test_elements: Any, *, invert: bool = False) -> Any:
    """Whether each element is among the others."""
    others = np.ravel(np.asarray(test_elements))
    found = np.any(np.asarray(element)[..., None] == others, axis=-1)
    return np.asarray(~found if invert else found)


def putmask(a: Any, mask: Any, values: Any) -> None:
    """Write the values where the mask holds."""
    np.copyto(a, values, casting="unsafe", where=mask)
