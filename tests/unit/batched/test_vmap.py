"""Functions of many examples: what a loop over them and `np.stack` give."""

from __future__ import annotations

import pickle
from typing import Any, NamedTuple

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import FrontendError, PolyoptError, UsageError
from polyopt.ir.interp import run_program
from tests.unit.autodiff.differences import worst
from tests.unit.autodiff.programs import CASES, data
from tests.unit.autodiff.test_reverse import program


def looped(function: Any, *arguments: Any, axes: tuple[int | None, ...]) -> Any:
    """Return what Python gives, example by example."""
    counts = [x.shape[axis] for x, axis in zip(arguments, axes, strict=True) if axis is not None]
    rows = []
    for n in range(counts[0]):
        given = [
            x if axis is None else np.take(x, n, axis)
            for x, axis in zip(arguments, axes, strict=True)
        ]
        rows.append(function(*given))
    if isinstance(rows[0], tuple):
        return tuple(np.stack(parts) for parts in zip(*rows, strict=True))
    return np.stack(rows)


def interpreted(kernel: Any, *arguments: object) -> Any:
    return run_program(program(kernel, *arguments), list(arguments))


def layer(x, weights):
    hidden = np.tanh(x @ weights)
    return hidden / np.sum(hidden)


@pytest.mark.parametrize("axes", [(0, None), (1, None), (-1, None), (0, 0), (0, -1), (None, 1)])
def test_examples_lie_along_any_axis(axes):
    shapes = {(0, None): ((5, 3), (3, 4)), (1, None): ((3, 5), (3, 4)), (0, 0): ((5, 3), (5, 3, 4))}
    shapes |= {(-1, None): ((3, 5), (3, 4)), (0, -1): ((5, 3), (3, 4, 5))}
    shapes |= {(None, 1): ((3,), (3, 5, 4))}
    given = [data(*shape) for shape in shapes[axes]]
    wanted = looped(layer, *given, axes=axes)
    assert worst(interpreted(po.vmap(layer, axes), *given), wanted) < 1e-12
    moved = interpreted(po.vmap(layer, axes, out_axes=-1), *given)
    assert worst(moved, wanted.T) < 1e-12


@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_any_number_of_examples(count):
    x = data(count, 3)
    assert worst(interpreted(po.vmap(np_square), x), x * x + 1.0) < 1e-12
    total = interpreted(po.vmap(total_of), x)
    assert total.shape == (count,)
    assert worst(total, x.sum(axis=1)) < 1e-12


def np_square(x):
    y = x * x
    y += 1.0
    return y


def total_of(x):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i]
    return s


def powers(x, n, scale=2.0):
    for _ in range(n):
        x = x * scale
    return x, np.sum(x), n


def test_numbers_are_shared_and_results_may_be_several():
    x = data(4, 3)
    arrays, sums, numbers = interpreted(po.vmap(powers), x, 3, 2.0)
    assert worst(arrays, 8.0 * x) < 1e-12
    assert worst(sums, 8.0 * x.sum(axis=1)) < 1e-12
    np.testing.assert_array_equal(numbers, [3, 3, 3, 3])
    assert numbers.dtype == np.int64
    turned, *_ = interpreted(po.vmap(powers, out_axes=(1, 0, 0)), x, 3, 2.0)
    assert worst(turned, 8.0 * x.T) < 1e-12


def collatz(start, most):
    n, steps = start, 0
    while n != 1 and steps < most:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def test_control_flow_of_each_example_is_its_own():
    starts = np.arange(1, 30)
    wanted = [collatz(int(n), 1000) for n in starts]
    np.testing.assert_array_equal(interpreted(po.vmap(collatz), starts, 1000), wanted)


def signed(x):
    if x[0] > 1.0:
        return x * 2.0
    return -x


def test_branches_of_each_example_are_its_own():
    x = data(6, 3)
    assert (x[:, 0] > 1.0).any()
    assert (x[:, 0] <= 1.0).any()
    assert worst(interpreted(po.vmap(signed), x), looped(signed, x, axes=(0,))) < 1e-12


def doubled(x, y):
    y[:] = 2.0 * x
    y[0] += x[1]


def test_written_arguments_are_those_of_each_example():
    x, y = data(4, 3), np.zeros((3, 4))
    assert interpreted(po.vmap(doubled, (0, 1)), x, y) is None
    wanted = 2.0 * x
    wanted[:, 0] += x[:, 1]
    assert worst(y.T, wanted) < 1e-12


@pytest.mark.parametrize("name", CASES)
def test_gradients_of_each_example(name):
    """Every argument to differentiate by gets examples, half of them scaled."""
    case = CASES[name]
    scales = np.array([1.0, 1.01, 0.99])
    given, axes = list(case.arguments), [None] * len(case.arguments)
    for which in case.by:
        value = np.asarray(given[which], dtype=float)
        given[which] = np.stack([scale * value for scale in scales])
        axes[which] = 0
    found = interpreted(po.vmap(po.grad(case.function, case.by), axes), *given)
    listed = found if isinstance(found, tuple) else (found,)
    for n in range(3):
        own = [x if axis is None else x[n] for x, axis in zip(given, axes, strict=True)]
        own = [float(x) if np.ndim(x) == 0 and isinstance(x, np.generic) else x for x in own]
        one = interpreted(po.grad(case.function, case.by), *own)
        for rows, wanted in zip(listed, one if isinstance(one, tuple) else (one,), strict=True):
            assert worst(rows[n], wanted) < 1e-11


def loss(weights, x, y):
    return np.mean((np.tanh(x @ weights) - y) ** 2)


@pytest.mark.toolchain
def test_per_example_gradients_are_those_of_a_loop():
    weights, x, y = data(3, 2), data(6, 5, 3), data(6, 5, 2)
    found = po.vmap(po.grad(loss), in_axes=(None, 0, 0))(weights, x, y)
    single = po.grad(loss)
    assert worst(found, np.stack([single(weights, x[n], y[n]) for n in range(6)])) < 1e-12
    values, gradients = po.vmap(po.value_and_grad(loss, ("weights", "x")), {"x": 0, "y": 0})(
        weights, x, y
    )
    assert worst(values, [loss(weights, x[n], y[n]) for n in range(6)]) < 1e-12
    assert worst(gradients[0], found) < 1e-12
    assert gradients[1].shape == x.shape


class Layer(NamedTuple):
    weights: np.ndarray
    bias: np.ndarray


def structured(layer, x):
    return np.sum(np.tanh(x @ layer.weights + layer.bias))


@pytest.mark.toolchain
def test_structures_of_examples():
    stack, x = Layer(data(4, 3, 2), data(4, 2)), data(4, 3)
    found = po.vmap(structured)(stack, x)
    wanted = [structured(Layer(stack.weights[n], stack.bias[n]), x[n]) for n in range(4)]
    assert worst(found, wanted) < 1e-12
    gradient = po.vmap(po.grad(structured))(stack, x)
    assert isinstance(gradient, Layer)
    one = po.grad(structured)(Layer(stack.weights[1], stack.bias[1]), x[1])
    assert worst(gradient.weights[1], one.weights) < 1e-12
    assert worst(gradient.bias[1], one.bias) < 1e-12


@pytest.mark.toolchain
def test_kernels_may_map_and_be_differentiated():
    def energy(weights, x):
        return np.sum(po.vmap(layer, in_axes=(0, None))(x, weights) ** 2)

    weights, x = data(3, 4), data(5, 3)
    wanted = sum(np.sum(layer(row, weights) ** 2) for row in x)
    assert abs(po.kernel(energy, schedule="source")(weights, x) - wanted) < 1e-12

    def by_hand(weights, x):
        total = 0.0
        for n in range(x.shape[0]):
            total += np.sum(layer(x[n], weights) ** 2)
        return total

    mapped, other = (po.grad(f, schedule="source")(weights, x) for f in (energy, by_hand))
    assert worst(mapped, other) < 1e-12


@pytest.mark.toolchain
def test_mapping_twice():
    def distance(a, b):
        return np.sqrt(np.sum((a - b) ** 2))

    a, b = data(4, 3), data(5, 3, seed=1)
    table = po.vmap(po.vmap(distance, (None, 0)), (0, None))(a, b)
    assert worst(table, np.sqrt(((a[:, None] - b[None]) ** 2).sum(axis=2))) < 1e-12


@pytest.mark.toolchain
def test_the_loop_over_examples_is_parallel():
    text = po.vmap(layer, (0, None), threads=2).compile(data(64, 30), data(30, 40)).source
    assert "omp parallel for" in text or "parallel" in text


@pytest.mark.toolchain
def test_a_pickled_map_is_the_same():
    again = pickle.loads(pickle.dumps(po.vmap(layer, (0, None))))
    given = data(5, 3), data(3, 4)
    np.testing.assert_array_equal(again(*given), po.vmap(layer, (0, None))(*given))
    assert po.vmap(layer, (0, None)).with_options(threads=1)(*given).shape == (5, 4)


def refused(kind: type[PolyoptError], make: Any, *given: object) -> str:
    with pytest.raises(kind) as caught:
        make()(*given)
    return caught.value.code


def test_axes_that_do_not_fit():
    x, weights = data(5, 3), data(3, 4)
    assert refused(UsageError, lambda: po.vmap(layer, (0,))) == "PO0230"
    assert refused(UsageError, lambda: po.vmap(layer, {"y": 0})) == "PO0230"
    assert refused(UsageError, lambda: po.vmap(layer, "x")) == "PO0230"
    assert refused(UsageError, lambda: po.vmap(layer, (0, "y"))) == "PO0230"
    assert refused(UsageError, lambda: po.vmap(3)) == "PO0223"
    assert refused(FrontendError, lambda: po.vmap(layer, (2, None)), x, weights) == "PO0153"
    assert refused(FrontendError, lambda: po.vmap(powers, (0, 0, None)), x, 3, 1.0) == "PO0153"
    assert refused(FrontendError, lambda: po.vmap(layer, None), x[0], weights) == "PO0186"
    assert refused(FrontendError, lambda: po.vmap(layer, 0, (0, 0)), x, weights) == "PO0186"
    assert refused(FrontendError, lambda: po.vmap(powers, out_axes=(0, 0)), x, 3) == "PO0186"


@pytest.mark.toolchain
def test_different_numbers_of_examples():
    with pytest.raises(PolyoptError) as caught:
        po.vmap(layer)(data(5, 3), data(4, 3, 2))
    assert "5" in str(caught.value)
    assert "4" in str(caught.value)


def test_a_map_does_not_run_as_python(monkeypatch):
    monkeypatch.setenv("POLYOPT_DISABLE", "1")
    assert refused(UsageError, lambda: po.vmap(layer), data(5, 3), data(5, 3, 2)) == "PO0229"
