"""Derivatives of compiled graphs: those of the functions that the graphs were made of."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import UsageError


def loss(x, weights, y):
    return np.mean((np.tanh(x @ weights) - y) ** 2)


def graph():
    x, weights = po.tensor("x", po.f64["N,D"]), po.tensor("weights", po.f64["D,H"])
    return po.compile(loss(x, weights, po.tensor("y", po.f64["N,H"])))


def arrays() -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    return [rng.uniform(0.5, 1.5, shape) for shape in ((5, 3), (3, 2), (5, 2))]


@pytest.mark.toolchain
def test_gradients_and_tangents_of_graphs():
    given = arrays()
    found = po.grad(graph(), ("weights", "x"))(*given)
    wanted = po.grad(loss, ("weights", "x"))(*given)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    along = np.ones((3, 2))
    value, tangent = po.jvp(graph(), "weights")(*given, along)
    assert value == pytest.approx(loss(*given), rel=1e-12)
    assert tangent == pytest.approx(np.sum(wanted[0]), rel=1e-12)


@pytest.mark.toolchain
def test_graphs_of_many_examples():
    x, weights, y = arrays()
    stacked = np.stack([x, 2.0 * x])
    found = po.vmap(graph(), {"x": 0})(stacked, weights, y)
    np.testing.assert_allclose(found, [loss(x, weights, y), loss(2.0 * x, weights, y)], rtol=1e-12)


@pytest.mark.toolchain
def test_graphs_with_arrays_that_are_no_inputs_are_refused():
    x = po.tensor("x", po.f64["N"])
    with pytest.raises(UsageError) as caught:
        po.grad(po.compile(np.sum(x * po.lazy(np.ones(3)))), "x")
    assert caught.value.code == "PO0223"
