"""`reshape` and `ravel` are views where NumPy's are, of arrays without and with gaps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import FrontendError


def one_row(b):
    v = b.reshape(-1)
    v[0] = 5


def rows(b):
    v = b.reshape((len(b), 1))
    v[1, 0] = 5


def split(b):
    v = b.reshape((2, 3))
    v[1, 1] = 5


def flat(b):
    v = b.ravel()
    v[1] = 5


def every_other(b):
    v = b[::2].reshape((3, 1))
    v[1] = 5


def every_other_flat(b):
    v = b[::2].ravel()
    v[1] = 5


def back(b):
    v = b[::-1].reshape((2, 3))
    v[0] = 5


def merged(m):
    v = m.reshape(-1)
    v[3] = 5


def merged_part(m):
    v = m[1:].reshape(-1)
    v[3] = 5


def merged_with_gaps(m):
    v = m[:, 1:].reshape(-1)
    v[3] = 5


def merged_flat(m):
    v = m[1:].ravel()
    v[3] = 5


def transposed(m):
    v = m.T.reshape(-1)
    v[3] = 5


def transposed_columns(m):
    v = m.T.reshape((-1,), order="F")
    v[3] = 5


def columns_flat(m):
    v = m.T.ravel(order="F")
    v[3] = 5


def other_way_round(m):
    v = m[::-1, ::-1].reshape(-1)
    v[3] = 5


def rows_the_other_way_round(m):
    v = m[::-1].reshape(-1)
    v[3] = 5


def every_other_column(m):
    v = m[:, ::2].reshape(-1)
    v[3] = 5


def pairs_flat(b):
    v = b.reshape((-1, 2)).ravel()
    v[1] = 5


def row_flat(m):
    v = m[1].ravel()
    v[1] = 5


def row_in_order(m):
    v = np.ascontiguousarray(m[1])
    v[1] = 5


def one_column(m):
    v = m[:, 1].reshape((1, 3))
    v[0, 2] = 5


def blocks(t):
    v = t.reshape((t.shape[0] * t.shape[1], t.shape[2]))
    v[3] = 5


def blocks_with_gaps(t):
    v = t[:, :, 1:].reshape((t.shape[0] * t.shape[1], t.shape[2] - 1))
    v[3] = 5


def blocks_apart(t):
    v = t[:, 1:].reshape((t.shape[0] * (t.shape[1] - 1), t.shape[2]))
    v[3] = 5


VECTORS = (one_row, rows, split, flat, every_other, every_other_flat, back)
MERGED = (merged, merged_part, merged_with_gaps, transposed_columns)
MATRICES = (merged_flat, transposed, columns_flat, one_column)
WHOLE = (*MERGED, *MATRICES, other_way_round, rows_the_other_way_round, row_flat, row_in_order)
BLOCKS = (blocks, blocks_apart)


def vector(step: int) -> np.ndarray:
    return np.arange(12.0)[::step][:6]


CASES = [
    *((f, lambda step=step: vector(step)) for f in VECTORS for step in (1, 2, -1, -2)),
    (pairs_flat, lambda: vector(1)),
    *((f, lambda: np.arange(15.0).reshape(3, 5)) for f in WHOLE),
    *((f, lambda: np.arange(18.0).reshape(3, 6)[:, :5]) for f in (row_flat, row_in_order)),
    *(
        (f, lambda: np.asfortranarray(np.arange(15.0).reshape(3, 5)))
        for f in MATRICES
        if f is not transposed
    ),
    *((f, lambda: np.arange(24.0).reshape(2, 3, 4)) for f in (*BLOCKS, blocks_with_gaps)),
]


def ravelled_with_gaps(m):
    v = m[:, 1:].ravel()
    v[0] = 5


def all_columns_but_one(m):
    v = m[:, 1:].reshape(-1)
    v[0] = 5


UNITS = [(4, 2), (1, 5), (2, 3), (1, 2), (2, 2)]


@pytest.mark.toolchain
@pytest.mark.parametrize("function", [ravelled_with_gaps, all_columns_but_one])
def test_dimensions_of_extent_one_have_no_gaps(function: Callable[..., Any]) -> None:
    kernel = po.kernel(function)
    for shape in (*UNITS, *UNITS):
        ours, theirs = np.ones(shape), np.ones(shape)
        kernel(ours)
        function(theirs)
        np.testing.assert_array_equal(ours, theirs, err_msg=str(shape))


@pytest.mark.toolchain
@pytest.mark.parametrize("function, make", CASES)
def test_what_is_written_through_a_view_is_seen(
    function: Callable[..., Any], make: Callable[[], np.ndarray]
) -> None:
    ours, theirs = make(), make()
    po.kernel(function)(ours)
    function(theirs)
    np.testing.assert_array_equal(ours, theirs)


BOXES = np.arange(24.0).reshape(2, 3, 4)
TELLING = [  # arrays of which NumPy makes views, in whose types is not told from others
    *((f, np.arange(18.0).reshape(3, 6)[:, ::2]) for f in MERGED),
    *((f, np.arange(15.0).reshape(3, 5)[::-1, ::-1]) for f in MERGED),
    *((f, np.asfortranarray(np.arange(15.0).reshape(3, 5))) for f in MERGED),
    *((f, np.arange(9.0).reshape(3, 3)[::-1, ::-1]) for f in (row_flat, row_in_order)),
    *((f, BOXES[::-1, ::-1, ::-1]) for f in BLOCKS),
    (every_other_column, np.arange(18.0).reshape(3, 6)),
    (pairs_flat, vector(2)),
]


@pytest.mark.toolchain
@pytest.mark.parametrize("function, array", TELLING)
def test_writes_that_only_strides_or_sizes_tell_are_refused(
    function: Callable[..., Any], array: np.ndarray
) -> None:
    with pytest.raises(FrontendError, match="PO0160"):
        po.kernel(function).compile(array)


def read_only_so_far(m):
    s = m.reshape(-1).sum() + m[:, ::2].reshape(-1)[1]
    m[0, 0] = s
    return s


@pytest.mark.toolchain
def test_reshaped_arrays_that_are_only_read_have_any_strides() -> None:
    m = np.arange(18.0).reshape(3, 6)
    for make in (lambda: m.copy(), lambda: np.asfortranarray(m), lambda: m.copy()[::-1, ::-2]):
        ours, theirs = make(), make()
        assert po.kernel(read_only_so_far)(ours) == read_only_so_far(theirs)
        np.testing.assert_array_equal(ours, theirs)
