"""Row pointers whose extents need a helper bring its definition along."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po


def clipped(A):
    N, M = A.shape
    inner = np.zeros((max(N - 2, 0), max(M - 1, 0)), dtype=np.int64) + A[1:-1, 1:]
    return inner


def halved(A):
    N, M = A.shape
    return A[::2, ::2] + A[: (N + 1) // 2, : (M + 1) // 2]


@pytest.mark.toolchain
@pytest.mark.parametrize("func", [clipped, halved])
@pytest.mark.parametrize("size", [0, 1, 2, 5, 9])
def test_extents_with_helpers(func, size):
    array = np.arange(size * (size + 1)).reshape(size, size + 1)
    kernel = po.kernel(func, schedule="source")
    assert np.array_equal(kernel(array), func(array))
