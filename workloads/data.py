"""Seeded data for workloads whose published form has none.

In: a seed and a shape.  Out: arrays that are the same at every call.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

Shape = int | tuple[int, ...]


def normal(seed: int, shape: Shape, dtype: DTypeLike, scale: float = 1.0) -> NDArray[Any]:
    """Return normally distributed numbers of the given deviation."""
    return (scale * np.random.default_rng(seed).standard_normal(shape)).astype(dtype)


def positive(seed: int, shape: Shape, dtype: DTypeLike) -> NDArray[Any]:
    """Return numbers from 0.5 to 1.5."""
    return np.random.default_rng(seed).uniform(0.5, 1.5, shape).astype(dtype)


def integers(seed: int, limit: int, shape: Shape) -> NDArray[np.int64]:
    """Return integers from 0 to below `limit`, which is at least 1."""
    return np.random.default_rng(seed).integers(0, max(limit, 1), shape)
