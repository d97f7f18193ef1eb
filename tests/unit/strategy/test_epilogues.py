"""What begins a product's results and what uses them, in the blocks of the product."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.emit.lower import lower
from polyopt.emit.regions import thread_arrays
from polyopt.ir.expr import Const
from polyopt.machine import Machine
from polyopt.strategy import auto_schedule
from tests.unit.proof.edits import program_of

# ruff: noqa: F821, UP037 - sizes are named by strings
TWO = Machine(cores=2)


def product(x: po.f64["N,K"], w: po.f64["K,M"]):
    return x @ w


def layer(x: po.f64["N,K"], w: po.f64["K,M"], b: po.f64["M"]):
    return np.maximum(x @ w + b, 0.0)


def residual(x: po.f64["N,K"], w: po.f64["K,M"], r: po.f64["N,M"]):
    return r + 0.5 * (x @ w)


def several(x: po.f64["N,K"], w: po.f64["K,M"], r: po.f64["N,M"]):
    r *= 0.5
    r += x @ w
    r[:] = np.where(r > 0, r, 0.1 * r)


def batches(x: po.f64["B,N,K"], w: po.f64["B,K,M"], r: po.f64["B,N,M"]):
    y = x @ w
    return np.tanh(y) * r + y


def loops(x: po.f64["N,K"], w: po.f64["K,M"], c: po.f64["N,M"], d: po.f64["N,M"]):
    for i in range(x.shape[0]):
        for j in range(w.shape[1]):
            c[i, j] = 1.0
            for k in range(x.shape[1]):
                c[i, j] += x[i, k] * w[k, j]
    for i in range(x.shape[0]):
        for j in range(w.shape[1]):
            d[i, j] = c[i, j] * c[i, j]


def turned(x: po.f64["N,K"], w: po.f64["K,N"]):
    y = x @ w
    return y + y.T


def rows(x: po.f64["N,K"], w: po.f64["K,M"]):
    y = x @ w
    return y - y.max(axis=1)[:, None]


def joint(function):
    """Return how many nests were taken into the blocks of products."""
    schedule = auto_schedule(program_of(function).scop, TWO)
    steps = [str(step) for step in schedule.trace]
    return sum(step.startswith("fuse(") and step.endswith(".tile, 2)") for step in steps)


@pytest.mark.parametrize(
    ("function", "count"),
    [(product, 1), (layer, 2), (residual, 2), (several, 4), (batches, 2), (loops, 2)],
)
def test_adjacent_nests_run_block_by_block(function, count):
    assert joint(function) == count


@pytest.mark.parametrize("function", [turned, rows])
def test_only_the_start_does(function):
    """The other triangle belongs to other blocks, and a row's maximum to all blocks of the row."""
    assert joint(function) == 1


@pytest.mark.parametrize("function", [layer, residual])
def test_a_thread_has_one_block_of_products(function):
    program = program_of(function)
    body = lower(auto_schedule(program.scop, TWO), program, by_thread=True).body
    (array,) = thread_arrays(body)
    assert all(isinstance(extent, Const) for extent in array.shape)


def arguments(function, n, k, m):
    rng = np.random.default_rng(n + m)
    x, w, r = rng.normal(size=(n, k)), rng.normal(size=(k, m)), rng.normal(size=(n, m))
    if function is batches:
        return [np.stack([one, one[::-1]]) for one in (x, w, r)]
    if function is turned:
        return [x, rng.normal(size=(k, n))]
    more = {layer: [r[0] if n else np.zeros(m)], loops: [r, r.copy()], rows: [], product: []}
    return [x, w, *more.get(function, [r])]


SIZES = ((1, 1, 1), (0, 3, 4), (3, 0, 4), (8, 4, 24), (250, 3, 97), (501, 20, 193), (7, 400, 9))


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("function", "threads"),
    [
        *((function, 2) for function in (product, layer, residual, several, batches)),
        *((function, 2) for function in (loops, turned, rows)),
        *((function, 1) for function in (layer, several, turned)),
    ],
)
def test_results(function, threads):
    kernel = po.kernel(function, threads=threads)
    for sizes in SIZES:
        if function is not loops or np.prod(sizes) <= 1e5:  # those are long in Python
            assert_results(function, kernel, sizes)


def assert_results(function, kernel, sizes):
    want, got = arguments(function, *sizes), arguments(function, *sizes)
    expected, found = function(*want), kernel(*got)
    for one, two in zip([*want, expected], [*got, found], strict=True):
        if one is not None:
            np.testing.assert_allclose(two, one, rtol=1e-10, atol=1e-10)
