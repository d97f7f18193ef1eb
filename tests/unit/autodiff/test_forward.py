"""Tangents: against differences, and against gradients by <w, J v> = <J^T w, v>."""

from __future__ import annotations

import pickle
from typing import Any, NamedTuple

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import FrontendError, UsageError
from polyopt.ir.expr import is_function, walk
from polyopt.ir.interp import run_program
from tests.unit.autodiff.differences import STEP, copied, worst
from tests.unit.autodiff.programs import CASES, data
from tests.unit.autodiff.test_reverse import program


def directions(arguments: tuple[Any, ...], by: tuple[int, ...]) -> list[Any]:
    rng = np.random.default_rng(5)
    shapes = (np.shape(arguments[which]) for which in by)
    return [rng.uniform(-1.0, 1.0, shape) if shape else 0.75 for shape in shapes]


def interpreted(kernel: Any, *arguments: object) -> Any:
    return run_program(program(kernel, *arguments), list(arguments))


@pytest.mark.parametrize("name", CASES)
def test_tangents_are_those_of_differences(name):
    case = CASES[name]
    given, along = copied(case.arguments), directions(case.arguments, case.by)
    value, tangent = interpreted(po.jvp(case.function, case.by), *given, *along)
    for before, after in zip(case.arguments, given, strict=True):
        np.testing.assert_array_equal(before, after)
    assert worst(value, case.function(*copied(case.arguments))) < 1e-12

    def moved(step: float) -> float:
        changed = copied(case.arguments)
        for which, direction in zip(case.by, along, strict=True):
            changed[which] = changed[which] + step * direction
        return float(case.function(*changed))

    assert worst(tangent, (moved(STEP) - moved(-STEP)) / (2 * STEP)) < 1e-6


@pytest.mark.parametrize("name", CASES)
def test_tangents_agree_with_gradients(name):
    case = CASES[name]
    along = directions(case.arguments, case.by)
    given = (copied(case.arguments) for _ in range(2))
    _, tangent = interpreted(po.jvp(case.function, case.by), *next(given), *along)
    found = interpreted(po.grad(case.function, case.by), *next(given))
    gradients = found if isinstance(found, tuple) else (found,)
    dotted = sum(np.sum(one * other) for one, other in zip(gradients, along, strict=True))
    assert worst(tangent, dotted) < 1e-11


def test_a_costly_value_is_computed_once():
    def grown(x):
        y = np.empty_like(x)
        for i in range(x.shape[0]):
            y[i] = np.exp(x[i])
        return y

    found = program(po.jvp(grown), data(5), data(5))
    calls = [part for s in found.scop.statements for part in walk(s.value) if is_function(part)]
    assert len(calls) == 1


def test_tangents_of_sums_may_be_added_in_any_order():
    def total(a, b):
        return a @ b

    found = program(po.jvp(total, (0, 1)), data(3, 4), data(4, 5), data(3, 4), data(4, 5))
    sums = [s for s in found.scop.statements if s.target.array.endswith("_dot") and s.reduction]
    assert sums
    assert all(s.reduction is not None and s.reduction.reassociable for s in sums)


def newton(x, a):
    for _ in range(100):
        step = (x * x - a) / (2.0 * x)
        x = x - step
        if abs(step) < 1e-13:
            break
    return x


def test_loops_that_data_end_have_tangents():
    value, tangent = interpreted(po.jvp(newton, "a"), 1.0, 2.0, 1.0)
    assert abs(value - np.sqrt(2.0)) < 1e-12
    assert abs(tangent - 0.5 / np.sqrt(2.0)) < 1e-12


def chosen(x, limit):
    large = x[x > limit]
    return np.sum(large * large), large


def test_arrays_of_sizes_that_data_decide_have_tangents():
    x, along = data(6), data(6, seed=1)
    square, large, square_dot, large_dot = interpreted(po.jvp(chosen), x, 1.0, along)
    mask = x > 1.0
    assert mask.any()
    assert worst(large, x[mask]) < 1e-12
    assert worst(large_dot, along[mask]) < 1e-12
    assert abs(square - np.sum(x[mask] ** 2)) < 1e-12
    assert abs(square_dot - np.sum(2 * x[mask] * along[mask])) < 1e-12


def smooth(u, v, steps):
    for _ in range(steps):
        u[1:-1] = (u[:-2] * u[1:-1] + u[2:]) / 3.0
        v[0] += u[1]


@pytest.mark.toolchain
@pytest.mark.parametrize("steps", [0, 1, 4])
def test_written_arguments_are_results(steps):
    u, v, along = data(7), data(2), data(7, seed=3)
    kept = u.copy(), v.copy()
    (new_u, new_v), (u_dot, v_dot) = po.jvp(smooth, "u", of=("u", "v"))(u, v, steps, along)
    np.testing.assert_array_equal(u, kept[0])
    np.testing.assert_array_equal(v, kept[1])
    by_hand = u.copy(), v.copy()
    smooth(*by_hand, steps)
    assert worst(new_u, by_hand[0]) < 1e-12
    assert worst(new_v, by_hand[1]) < 1e-12

    u_bar, v_bar = data(7, seed=4), data(2, seed=5)
    back = po.vjp(smooth, "u", of=("u", "v"))(u, v, steps, u_bar, v_bar)
    assert abs(np.sum(u_bar * u_dot) + np.sum(v_bar * v_dot) - np.sum(back * along)) < 1e-12


@pytest.mark.toolchain
def test_what_is_not_written_has_a_tangent_too():
    u, along = data(7), data(7, seed=3)

    (new, w, v), (u_dot, w_dot, v_dot) = po.jvp(beside, "u", of=("u", "w", "v"))(
        u, data(3), data(2), along
    )
    np.testing.assert_array_equal(new, u)
    np.testing.assert_array_equal(u_dot, along)
    np.testing.assert_array_equal(w, data(3))
    np.testing.assert_array_equal(w_dot, np.zeros(3))
    assert worst(v_dot, [along[0] * u[1] + u[0] * along[1], 0.0]) < 1e-12
    assert worst(v, [u[0] * u[1], data(2)[1]]) < 1e-12


def beside(u, w, v):
    v[0] = u[0] * u[1]
    return w


class Layer(NamedTuple):
    weights: np.ndarray
    count: int
    bias: np.ndarray


def predicted(layer, x):
    return np.tanh(x @ layer.weights + layer.bias) * layer.count


@pytest.mark.toolchain
def test_tangents_have_the_structure_of_the_argument():
    layer, x = Layer(data(3, 2), 2, data(2)), data(4, 3)
    along = Layer(data(3, 2, seed=1), 0, data(2, seed=2))
    value, tangent = po.jvp(predicted)(layer, x, along)
    assert worst(value, predicted(layer, x)) < 1e-12

    def moved(step):
        changed = (one + step * other for one, other in zip(layer, along, strict=True))
        return predicted(Layer(*changed), x)

    assert worst(tangent, (moved(STEP) - moved(-STEP)) / (2 * STEP)) < 1e-8
    gradient = po.vjp(predicted)(layer, x, np.ones((4, 2)))  # None for what is no float
    assert po.jvp(predicted)(layer, x, gradient)[1].shape == (4, 2)


@pytest.mark.toolchain
def test_kernels_may_ask_for_tangents():
    def residual(x):
        return x * x * x - np.array([1.0, 8.0, 27.0])

    @po.kernel
    def solved(x, steps):
        for _ in range(steps):
            value, slope = po.jvp(residual)(x, np.ones(3))
            x = x - value / slope
        return x

    assert worst(solved(np.array([0.5, 1.5, 2.5]), 30), [1.0, 2.0, 3.0]) < 1e-12


@pytest.mark.toolchain
def test_a_jacobian_times_a_gradient():
    """Forward over reverse: the Hessian times a vector."""

    def quartic(x):
        return np.sum(x**4) + x[0] * x[1]

    x, along = data(4), data(4, seed=1)
    gradient, product = po.jvp(po.grad(quartic))(x, along)
    hessian = np.diag(12.0 * x**2)
    hessian[0, 1] = hessian[1, 0] = 1.0
    assert worst(gradient, 4 * x**3 + np.array([x[1], x[0], 0.0, 0.0])) < 1e-12
    assert worst(product, hessian @ along) < 1e-12


@pytest.mark.matrix
@pytest.mark.toolchain
@pytest.mark.parametrize("name", CASES)
def test_compiled_tangents_agree_with_compiled_gradients(name):
    case = CASES[name]
    along = directions(case.arguments, case.by)
    _, tangent = po.jvp(case.function, case.by)(*copied(case.arguments), *along)
    gradients = po.grad(case.function, case.by)(*copied(case.arguments))
    dotted = sum(np.sum(one * other) for one, other in zip(gradients, along, strict=True))
    assert worst(tangent, dotted) < 1e-11


@pytest.mark.toolchain
def test_float32_stays_float32():
    case = CASES["layernorm"]
    given = [x.astype(np.float32) for x in (*case.arguments, *directions(case.arguments, case.by))]
    value, tangent = po.jvp(case.function, case.by)(*given)
    assert value.dtype == tangent.dtype == np.float32


@pytest.mark.toolchain
def test_a_pickled_tangent_is_the_same():
    again = pickle.loads(pickle.dumps(po.jvp(newton, ("x", "a"))))
    assert again(1.0, 2.0, 0.0, 1.0) == po.jvp(newton, ("x", "a"))(1.0, 2.0, 0.0, 1.0)


def test_what_has_no_tangent():
    with pytest.raises(UsageError) as caught:
        po.jvp(newton, "y")
    assert caught.value.code == "PO0229"
    with pytest.raises(FrontendError) as refused:
        po.jvp(determinant)(np.eye(3), np.eye(3))
    assert refused.value.code == "PO0183"
    with pytest.raises(FrontendError) as refused:
        po.jvp(predicted)(Layer(data(3, 2), 2, data(2)), data(4, 3), data(3, 2))
    assert refused.value.code == "PO0184"

    @po.kernel
    def without(x):
        return po.jvp(squares)(x)

    with pytest.raises(FrontendError) as refused:
        without(data(3))
    assert refused.value.code == "PO0184"


def determinant(m):
    return np.linalg.det(m)


def squares(x):
    return x * x
