"""Arguments as they lie in memory: C and Fortran order, steps, backwards, repeated, empty, 0-d."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from tests.unit.frontend.harness import same


@po.kernel
def update(a, b):
    c = a * 2 + b
    b[...] = c - a
    return c.sum(axis=0), c.T, b.max(), a[::-1]


BASE = np.random.default_rng(8).normal(size=(8, 10))
LAYOUTS = {
    "rows": lambda x: x[:4, :5].copy(),
    "columns": lambda x: np.asfortranarray(x[:4, :5]),
    "steps": lambda x: x.copy()[::2, ::2],
    "backwards": lambda x: x.copy()[3::-1, 4::-1],
    "transposed": lambda x: x.copy()[:5, :4].T,
    "repeated": lambda x: np.broadcast_to(x[0, :5], (4, 5)),
}


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("rows", "rows"),
        ("columns", "steps"),
        ("repeated", "backwards"),
        ("backwards", "columns"),
        ("steps", "transposed"),
    ],
)
def test_layouts(left, right):
    a, b = LAYOUTS[left](BASE), LAYOUTS[right](BASE)
    whole, expected = b, b.copy()
    same(update(a, b), update.py_func(a, expected))
    same(whole, expected)


@pytest.mark.toolchain
def test_empty_and_single():
    for shape in ((1, 1), (1, 3), (2, 0)):
        a, b = np.ones(shape), np.full(shape, 2.0)
        if 0 in shape:
            with pytest.raises(po.PolyoptError) as refused:
                update(a, b)
            assert refused.value.code == "PO0172"
            continue
        expected = b.copy()
        same(update(a, b), update.py_func(a, expected))
        same(b, expected)


@pytest.mark.toolchain
def test_views_that_overlap():
    @po.kernel
    def shifted(a, b):
        return a + b

    x = np.arange(10.0)
    same(shifted(x[:-1], x[1:]), x[:-1] + x[1:])
    same(shifted(x[::-1], x), x[::-1] + x)
    same(shifted(np.array(3.0), np.array(4.0)), np.float64(7.0))
