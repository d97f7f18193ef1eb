"""Compare computed arrays with expected ones.

In: arrays by name.  Out: the largest error relative to the largest expected element.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[Any]]


def relative_error(got: Arrays, want: Arrays) -> float:
    """Return the largest error over all arrays; infinite where NaN, inf or the shape differ."""
    return max((_error(got[name], expected) for name, expected in want.items()), default=0.0)


def same_bits(got: Arrays, want: Arrays) -> bool:
    """Return whether all arrays are equal bit by bit, zeros of either sign included."""
    return all(
        got[name].dtype == expected.dtype
        and got[name].shape == expected.shape
        and got[name].tobytes() == expected.tobytes()
        for name, expected in want.items()
    )


def _error(got: NDArray[Any], want: NDArray[Any]) -> float:
    if got.shape != want.shape or got.dtype != want.dtype:
        return float("inf")
    if want.size == 0:
        return 0.0
    if want.dtype.kind in "iub":
        return 0.0 if np.array_equal(got, want) else float("inf")
    finite = np.isfinite(want)
    if not np.array_equal(finite, np.isfinite(got)):
        return float("inf")
    if not np.array_equal(got[~finite], want[~finite], equal_nan=True):
        return float("inf")
    scale = np.max(np.abs(want[finite]), initial=0.0)
    error = np.max(np.abs(got[finite] - want[finite]), initial=0.0)
    return float(error / scale) if scale > 0 else float(error)
