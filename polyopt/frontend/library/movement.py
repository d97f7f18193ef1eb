"""Arrays turned and appended to.

In: arrays.  Out: views, or new arrays where elements are put together.
"""

from __future__ import annotations

from typing import Any

import numpy as np


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


def append(arr: Any, values: Any, axis: Any = None) -> Any:
    """The values after those of the array."""
    return (
        np.concatenate((np.ravel(np.atleast_1d(arr)), np.ravel(np.atleast_1d(values))))
        if axis is None
        else np.concatenate((arr, values), axis=axis)
    )


def matrix_transpose(x: Any, /) -> Any:
    """The last two dimensions swapped."""
    return np.swapaxes(x, -1, -2)
