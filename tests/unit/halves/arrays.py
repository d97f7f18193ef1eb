"""Numbers of 16 bits: all of them, and the comparison of bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyopt.ir.types import DType
from tests.dtypes import DTYPES

HALVES = tuple(dtype for dtype in DTYPES if dtype.is_half)


def every(dtype: DType) -> NDArray[Any]:
    """Return the numbers of all 65,536 patterns."""
    return np.arange(1 << 16, dtype=np.uint16).view(dtype.numpy)


def mixed(dtype: DType) -> NDArray[Any]:
    """Return the same numbers in an order of their own."""
    return np.random.default_rng(1).permutation(every(dtype))


def assert_bits(got: NDArray[Any], want: NDArray[Any], what: str = "") -> None:
    """Compare bits; any NaN equals any NaN."""
    assert got.dtype == want.dtype, what
    with np.errstate(invalid="ignore"):
        are_numbers = ~(np.isnan(got) & np.isnan(want))
    ours, theirs = (x.view(np.uint16)[are_numbers] for x in (got, want))
    wrong = np.flatnonzero(ours != theirs)
    assert not wrong.size, f"{what}: {ours[wrong[:3]]} instead of {theirs[wrong[:3]]}"
