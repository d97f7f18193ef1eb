"""Gradients of programs of many kinds, against central differences."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import FrontendError, UsageError
from tests.unit.autodiff.differences import copied, differences, worst
from tests.unit.autodiff.programs import CASES, data, double_buffer, nonlinear_steps, ties


@pytest.mark.matrix
@pytest.mark.toolchain
@pytest.mark.parametrize("name", CASES)
def test_compiled_gradients_are_those_of_differences(name):
    case = CASES[name]
    before = copied(case.arguments)
    found = po.grad(case.function, case.by)(*case.arguments)
    for old, now in zip(before, case.arguments, strict=True):
        np.testing.assert_array_equal(old, now)
    for which, gradient in zip(case.by, found, strict=True):
        wanted = differences(case.function, case.arguments, which)
        assert worst(gradient, wanted) < 1e-6, which


@pytest.mark.toolchain
@pytest.mark.matrix(5)
@pytest.mark.parametrize("fp", ["reassociate", "fast"])
@pytest.mark.parametrize("name", ["layernorm", "nonlinear_steps", "attention"])
def test_gradients_in_other_modes(name, fp):
    case = CASES[name]
    strict = po.grad(case.function, case.by)(*copied(case.arguments))
    found = po.grad(case.function, case.by, fp=fp)(*copied(case.arguments))
    for one, other in zip(strict, found, strict=True):
        assert worst(other, one) < 1e-9


def loss(weights, x, y):
    return np.mean((np.tanh(x @ weights) - y) ** 2)


def smooth(u, steps):
    for _ in range(steps):
        u[1:-1] = (u[:-2] + u[1:-1] * u[1:-1] + u[2:]) / 3.0


@pytest.mark.toolchain
def test_one_parameter_gives_a_gradient_and_several_a_tuple():
    given = (data(3), data(5, 3), data(5))
    wanted = [differences(loss, given, which) for which in (0, 1)]
    assert worst(po.grad(loss)(*given), wanted[0]) < 1e-8
    assert worst(po.grad(loss, "x")(*given), wanted[1]) < 1e-8
    (only,) = po.grad(loss, ("weights",))(*given)
    assert worst(only, wanted[0]) < 1e-8
    value, (one, two) = po.value_and_grad(loss, (0, "x"))(*given)
    assert abs(value - loss(*given)) < 1e-12
    assert worst(one, wanted[0]) < 1e-8
    assert worst(two, wanted[1]) < 1e-8


@pytest.mark.toolchain
def test_annotations_hold_for_the_derivative():
    def squares(x, y):
        return np.sum((x - y) ** 2)

    squares.__annotations__ = {"x": 'po.f64["N"]', "y": po.f64["N"], "return": "po.f64"}

    gradient = po.grad(squares, wrt="y")
    assert gradient.py_func.__annotations__ == {"x": po.f64["N"], "y": po.f64["N"]}
    assert np.array_equal(gradient(np.ones(3), np.zeros(3)), np.full(3, -2.0))
    with pytest.raises(po.ArgumentError, match="PO0207"):
        gradient(np.ones(3, np.float32), np.zeros(3))


def test_arguments_may_be_keywords_and_defaults():
    def scaled(x, factor=3.0, *, power=2.0):
        return factor * np.sum(x**power)

    x = data(4)
    assert worst(po.grad(scaled)(x), 6.0 * x) < 1e-12
    assert worst(po.grad(scaled)(x, power=1.0), np.full(4, 3.0)) < 1e-12
    assert worst(po.grad(scaled, "factor")(x=x), np.sum(x * x)) < 1e-12


@pytest.mark.toolchain
def test_one_array_for_two_parameters():
    def dot(a, b):
        return np.sum(a * b * b)

    x = data(4)
    one, two = po.grad(dot, (0, 1))(x, x)
    assert worst(one, x * x) < 1e-12
    assert worst(two, 2 * x * x) < 1e-12


@pytest.mark.toolchain
@pytest.mark.parametrize("steps", [0, 1, 4])
def test_contents_of_written_arguments_are_results(steps):
    u, bar = data(7), data(7, seed=3)
    before = u.copy()
    found = po.vjp(smooth, "u", of="u")(u, steps, bar)
    np.testing.assert_array_equal(u, before)

    def weighted(v, _steps):
        smooth(v, steps)
        return float(np.sum(v * bar))

    assert worst(found, differences(weighted, (u, steps), 0)) < 1e-7


@pytest.mark.toolchain
def test_several_results_have_an_adjoint_each():
    def both(x):
        return x * x, np.sum(x)

    x, bar = data(4), data(4, seed=1)
    assert worst(po.vjp(both)(x, (bar, 2.0)), 2 * x * bar + 2.0) < 1e-12


class Layer(NamedTuple):
    weights: np.ndarray
    bias: np.ndarray


@dataclass
class Model:
    first: Layer
    scale: float
    name: int


def predicted(model, x):
    return np.sum(np.tanh(x @ model.first.weights + model.first.bias) ** 2) * model.scale


@pytest.mark.toolchain
def test_structures_give_gradients_in_the_same_structure():
    model = Model(Layer(data(3, 2), data(2)), 1.5, 7)
    x = data(4, 3)
    found = po.grad(predicted)(model, x)
    assert isinstance(found, Model)
    assert isinstance(found.first, Layer)
    assert found.name is None

    def of(weights):
        return predicted(Model(Layer(weights, model.first.bias), 1.5, 7), x)

    assert worst(found.first.weights, differences(of, (model.first.weights,), 0)) < 1e-8
    assert abs(found.scale - predicted(model, x) / 1.5) < 1e-12


def layers(parameters, x):
    for weights, bias in parameters:
        x = np.tanh(x @ weights + bias)
    return np.sum(x)


def named(parameters, x):
    return np.sum(np.tanh(x @ parameters["weights"] + parameters["bias"]))


@pytest.mark.toolchain
def test_lists_and_dicts_of_parameters():
    x = data(4, 3)
    parameters = [(data(3, 3, seed=1), data(3)), (data(3, 2), data(2))]
    found = po.grad(layers)(parameters, x)
    assert [tuple(part.shape for part in pair) for pair in found] == [
        ((3, 3), (3,)),
        ((3, 2), (2,)),
    ]

    def of(bias):
        return layers([parameters[0], (parameters[1][0], bias)], x)

    assert worst(found[1][1], differences(of, (parameters[1][1],), 0)) < 1e-8
    whole = {"weights": parameters[0][0], "bias": parameters[0][1]}
    found = po.grad(named)(whole, x)
    assert (
        worst(found["bias"], differences(lambda b: named({**whole, "bias": b}, x), (data(3),), 0))
        < 1e-8
    )


@pytest.mark.toolchain
def test_kernels_may_ask_for_gradients():
    @po.kernel
    def train(weights, x, y, steps, rate):
        for _ in range(steps):
            weights -= rate * po.grad(loss)(weights, x, y)
        return loss(weights, x, y)

    x, weights = data(50, 3, low=-1.0), np.zeros(3)
    y = np.tanh(x @ np.array([1.0, -0.5, 0.25]))
    by_hand = weights.copy()
    for _ in range(20):
        by_hand -= 0.5 * po.grad(loss)(by_hand, x, y)
    left = train(weights, x, y, 20, 0.5)
    np.testing.assert_allclose(weights, by_hand, rtol=1e-12)
    assert abs(left - loss(weights, x, y)) < 1e-12


slopes = po.grad(predicted)


@pytest.mark.toolchain
def test_kernels_get_gradients_from_kernels_in_the_same_structure():
    @po.kernel
    def moved(model, x):
        found = slopes(model, x)
        return model.first.weights - found.first.weights, found.scale

    model = Model(Layer(data(3, 2), data(2)), 1.5, 7)
    x = data(4, 3)
    found = po.grad(predicted)(model, x)
    weights, scale = moved(model, x)
    assert worst(weights, model.first.weights - found.first.weights) < 1e-12
    assert abs(scale - found.scale) < 1e-12


@pytest.mark.toolchain
def test_second_derivatives():
    def cubes(x):
        return np.sum(x**3) + x[0] * x[1]

    def slope(x):
        return np.sum(po.grad(cubes)(x) * np.array([1.0, 0.0, 2.0]))

    x = data(3)
    wanted = np.array([6 * x[0], 1.0, 12 * x[2]])
    assert worst(po.grad(slope)(x), wanted) < 1e-12


@pytest.mark.toolchain
@pytest.mark.parametrize("size", [0, 1, 2, 3])
def test_small_sizes(size):
    u = data(size)
    found = po.grad(nonlinear_steps)(u, 2)
    assert worst(found, differences(nonlinear_steps, (u, 2), 0)) < 1e-7


@pytest.mark.toolchain
def test_float32_stays_float32():
    case = CASES["layernorm"]
    given = tuple(x.astype(np.float32) for x in case.arguments)
    found = po.grad(case.function, case.by)(*given)
    wanted = po.grad(case.function, case.by)(*case.arguments)
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == np.float32
        assert worst(one, other) < 1e-3


@pytest.mark.toolchain
def test_sides_that_are_not_chosen_do_not_matter():
    def entropy(x):
        return -np.sum(np.where(x > 0.0, x * np.log(x), 0.0))

    x = np.array([0.0, 0.5, 1.0])
    found = po.grad(entropy)(x)
    np.testing.assert_allclose(found, [0.0, -np.log(0.5) - 1.0, -1.0], rtol=1e-12)


@pytest.mark.toolchain
def test_ties_share_the_gradient():
    x = np.array([1.0, 3.0, 2.0, 3.0])
    found = po.grad(ties)(x)
    np.testing.assert_allclose(found, [0.5, 1.5, 0.0, 1.5])
    empty = po.grad(running_maximum)(np.array([5.0, 1.0]))
    np.testing.assert_allclose(empty, [1.0, 0.0])


def running_maximum(x):
    best = x[0]
    for i in range(1, x.shape[0]):
        best = max(best, x[i])
    return best


@pytest.mark.toolchain
def test_calls_whose_values_do_not_depend_on_the_parameter_stay():
    def scaled(x, m):
        return np.sum(x * x) * np.linalg.det(m)

    x, m = data(3), np.eye(3) * 2.0
    assert worst(po.grad(scaled)(x, m), 16.0 * x) < 1e-12
    with pytest.raises(FrontendError) as caught:
        po.grad(scaled, "m")(x, m)
    assert caught.value.code == "PO0183"


def sorted_weights(x, z):
    z[:] = z * 2.0
    found = np.sort(z)
    return np.sum(x * x * found)


def in_order(x, z):
    places = np.argsort(x * z)
    return np.sum(x[places] ** 2 * np.arange(x.shape[0]))


def sorted_in_turn(x, z):
    s = 0.0
    for i in range(3):
        found = np.sort(z * (i - 1.0)).copy()
        s += np.sum(x * x * found)
    return s


def some_of_them(x, z):
    z[0] = 3.0
    y = x[: int(z[0])] * 2.0
    return np.sum(y * y)


@pytest.mark.toolchain
@pytest.mark.parametrize("function", [sorted_weights, in_order, sorted_in_turn, some_of_them])
def test_what_calls_and_sizes_read_is_computed(function):
    arguments = data(6, seed=2), data(6, seed=3) - 1.0
    kept = [x.copy() for x in arguments]
    value, found = po.value_and_grad(function)(*arguments)
    also, slope = po.jvp(function)(*arguments, np.ones(6))
    assert [*map(np.array_equal, arguments, kept)] == [True, True]
    assert worst(found, differences(function, arguments, 0)) < 1e-7
    assert abs(slope - np.sum(found)) < 1e-9
    assert value == also == function(*kept)


def test_results_that_a_loop_computes_anew_have_to_be_copied():
    def weighted(x, z):
        s = 0.0
        for i in range(3):
            found = np.sort(z * (i - 1.0))
            s += np.sum(x * x * found)
        return s

    with pytest.raises(FrontendError) as caught:
        po.grad(weighted)(data(3), data(3))
    assert caught.value.code == "PO0183"
    assert caught.value.hint is not None
    assert ".copy()" in caught.value.hint


def test_linear_steps_save_nothing():
    stages = po.vjp(double_linear, (0, 1), of=("a", "b")).compile(
        data(8), data(8), 3, data(8), data(8)
    )
    saved = [array.name for array in stages.program.arrays if "_was" in array.name]
    assert saved == []
    case = CASES["double_buffer"]
    stages = po.grad(double_buffer, (0, 1)).compile(*case.arguments)
    assert any("_was" in array.name for array in stages.program.arrays)


def double_linear(a, b, steps):
    for _ in range(steps):
        for i in range(1, a.shape[0] - 1):
            b[i] = 0.33 * (a[i - 1] + a[i] + a[i + 1])
        for i in range(1, a.shape[0] - 1):
            a[i] = 0.33 * (b[i - 1] + b[i] + b[i + 1])


@pytest.mark.toolchain
def test_a_derivative_is_pickled_by_its_function():
    again = pickle.loads(pickle.dumps(po.grad(loss, "x")))
    given = (data(3), data(5, 3), data(5))
    np.testing.assert_array_equal(again(*given), po.grad(loss, "x")(*given))


def test_parameters_that_do_not_exist():
    with pytest.raises(UsageError) as caught:
        po.grad(loss, 3)
    assert caught.value.code == "PO0229"
    assert "weights, x, y" in str(caught.value)


def test_a_function_without_a_text():
    with pytest.raises(FrontendError) as caught:
        po.grad(lambda x: np.sum(x * x))(data(3))
    assert caught.value.code == "PO0102"


def test_derivatives_do_not_run_as_python(monkeypatch):
    monkeypatch.setenv("POLYOPT_DISABLE", "1")
    with pytest.raises(UsageError) as caught:
        po.grad(loss)(data(3), data(5, 3), data(5))
    assert caught.value.code == "PO0229"


@pytest.mark.toolchain
@pytest.mark.parametrize("power", [0, 1, 3, 0.0, 2.0, np.array([0.0, 2.0, 3.0])])
def test_powers_of_zero(power):
    def powers(x, power):
        return np.sum(x**power)

    x = np.array([0.0, -4.0, 2.0])
    wanted = power * x ** np.maximum(power - 1, 0)
    assert np.array_equal(po.grad(powers)(x, power), wanted)
    assert po.jvp(powers)(x, power, np.ones(3))[1] == np.sum(wanted)
