"""The statements of gradients: right when interpreted, and no more of them than needed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt.frontend import build
from polyopt.ir.expr import Const, Iter, Load, Unary, walk
from polyopt.ir.interp import run_program
from polyopt.ir.program import Program
from polyopt.ir.scop import Statement
from polyopt.specialize import Parameters, types_of
from tests.unit.autodiff.differences import copied, differences, worst
from tests.unit.autodiff.programs import CASES, data


def program(kernel: Any, *arguments: object) -> Program:
    function = kernel.py_func
    return build(function, types_of(Parameters.of(function), arguments, frozenset()))


def adjoints(found: Program) -> Iterator[Statement]:
    return (s for s in found.scop.statements if s.target.array.endswith("_bar"))


def accumulates(statement: Statement) -> bool:
    return any(part == statement.target for part in walk(statement.value))


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_of_differences(name):
    case = CASES[name]
    given = copied(case.arguments)
    found = run_program(program(po.grad(case.function, case.by), *given), given)
    for before, after in zip(case.arguments, given, strict=True):
        np.testing.assert_array_equal(before, after)
    gradients = found if isinstance(found, tuple) else (found,)
    for which, gradient in zip(case.by, gradients, strict=True):
        wanted = differences(case.function, case.arguments, which)
        assert worst(gradient, wanted) < 1e-6, which


def blur(a, b):
    for i in range(1, a.shape[0] - 1):
        b[i] = 0.25 * (a[i - 1] + 2.0 * a[i] + a[i + 1])


@pytest.mark.parametrize("form", ["blur", "convolution"])
def test_shifted_reads_become_gathers(form):
    """Adjoints are written at the loops' own variables, so that iterations do not collide."""
    if form == "blur":
        found = program(po.vjp(blur, of="b"), data(9), data(9), data(9))
    else:
        case = CASES["convolution"]
        found = program(po.grad(case.function), *case.arguments)
    sums = [s for s in adjoints(found) if accumulates(s)]
    assert sums
    for statement in sums:
        assert all(isinstance(index, Iter) for index in statement.target.index)


def test_the_first_of_several_sums_defines_an_adjoint():
    def twice(x):
        return np.sum(x * 2.0) + np.sum(x * x)

    of_x = [s for s in adjoints(program(po.grad(twice), data(5))) if s.target.array == "x_bar"]
    assert [accumulates(s) for s in of_x] == [False, True]
    assert not any(isinstance(s.value, Const) for s in of_x)


def test_an_adjoint_that_is_not_wholly_defined_starts_as_zero():
    def inner(x):
        return np.sum(x[1:] * x[1:])

    of_x = [s for s in adjoints(program(po.grad(inner), data(5))) if s.target.array == "x_bar"]
    assert isinstance(of_x[0].value, Const)


def saved(found: Program) -> list[str]:
    return [array.name for array in found.arrays if "_was" in array.name]


def test_extrema_need_no_earlier_values():
    def largest(x):
        return np.max(x) * 3.0

    assert saved(program(po.grad(largest), data(5))) == []


def test_a_product_needs_its_operands_only():
    def product(c, a, b, scale):
        c[:] = scale * (a @ b) + 0.5 * c

    given = (data(3, 4), data(3, 5), data(5, 4), 1.5, data(3, 4))
    assert saved(program(po.vjp(product, ("a", "b"), of="c"), *given)) == []
    # the factor's derivative is of the product before it is scaled
    assert saved(program(po.vjp(product, "c", of="c"), *given)) == []


def test_values_that_no_derivative_uses_are_not_computed():
    def linear(x, w):
        return np.sum(np.sin(w)) + np.sum(x * w)

    found = program(po.grad(linear), data(5), data(5))
    read = {
        part.array
        for s in found.scop.statements
        for part in walk(s.value)
        if isinstance(part, Load)
    }
    assert "x" not in read
    assert all(s.target.array.endswith("_bar") for s in found.scop.statements)


def test_a_write_that_no_derivative_reads_is_not_computed():
    def reused(x):
        y = np.sin(x)
        total = np.sum(y * y)
        y[:] = y + 3.0
        return total + np.sum(y)

    found = program(po.grad(reused), data(5))
    values = [part for s in found.scop.statements for part in walk(s.value)]
    assert not any(isinstance(part, Const) and part.value == 3.0 for part in values)


def test_what_is_overwritten_and_used_is_saved_once():
    def powers(x, steps):
        y = x.copy()
        for _ in range(steps):
            y[:] = y * y
        return np.sum(y)

    assert len(saved(program(po.grad(powers), data(5), 3))) == 1


def spread_of(x):
    return np.sum((x - np.mean(x, axis=1, keepdims=True)) ** 2 * np.arange(3.0))


def test_sums_that_were_there_before_are_differentiated():
    def both(x):
        mean = np.mean(x, axis=1)
        return po.grad(spread_of)(x), mean, np.mean(x, axis=1)

    x = data(4, 3)
    slope, first, last = run_program(program(po.kernel(both), x), [x])
    assert worst(slope, differences(spread_of, (x,), 0)) < 1e-8
    assert worst(first, x.mean(axis=1)) < 1e-12
    assert worst(last, x.mean(axis=1)) < 1e-12


def test_a_name_of_an_argument_may_be_bound_again():
    def steps(x, start):
        h = start
        for t in range(x.shape[0]):
            h = np.tanh(x[t] + h)
        return np.sum(h)

    given = data(3, 4), data(4)
    found = run_program(program(po.grad(steps, (0, 1)), *given), list(given))
    for which in (0, 1):
        assert worst(found[which], differences(steps, given, which)) < 1e-8
    tangent = run_program(program(po.jvp(steps, 1), *given, data(4)), [*given, data(4)])[1]
    assert abs(tangent - np.sum(found[1] * data(4))) < 1e-12


def rows(a, b, out):
    for i in range(a.shape[0]):
        t = a[: i + 1] @ b[i]
        out[i, : i + 1] = t


def test_temporaries_do_not_order_loops():
    """Each row's temporary has adjoints of its own, so that loops need not run in reverse."""
    given = data(5, 3), data(5, 3), data(5, 5)
    found = program(po.vjp(rows, (0, 1), of="out"), *given, data(5, 5))
    sums = [s for s in found.scop.statements if s.target.array in ("a_bar", "b_bar")]
    assert sums
    assert not any(isinstance(part, Unary) for s in sums for part in s.order)
    (shape,) = {len(x.shape) for x in found.arrays if x.name.startswith(("t_bar", "tmp_bar"))}
    assert shape == 2


def scaled(a, b):
    for i in range(1, a.shape[0]):
        t = a[i - 1] * b
        a[i] = a[i] + np.sum(t) * t


def test_a_first_sum_defines_an_adjoint_in_every_iteration():
    given = data(5, 3), data(3)
    found = program(po.vjp(scaled, (0, 1), of="a"), *given, data(5, 3))
    of_t = [s for s in found.scop.statements if s.target.array.startswith("t_bar")]
    assert of_t
    assert not any(isinstance(s.value, Const) for s in of_t)
    assert not accumulates(of_t[0])


def test_weights_of_windows_are_read_along_the_target():
    case = CASES["channels"]
    found = program(po.grad(case.function, (0, 1)), *case.arguments)
    (copy,) = [s for s in found.scop.statements if s.target.array == "weights_turned"]
    assert isinstance(copy.value, Load)
    assert copy.value.array == "weights"
    sums = [s for s in adjoints(found) if s.target.array == "image_bar" and accumulates(s)]
    assert "weights_turned" in {
        part.array for s in sums for part in walk(s.value) if isinstance(part, Load)
    }

    def product(a, b):
        return np.sum(np.tanh(a @ b))

    matrices = program(po.grad(product, (0, 1)), data(3, 4), data(4, 5))
    assert not [array.name for array in matrices.arrays if array.name.endswith("_turned")]


def test_terms_that_never_meet_stay_where_they_are():
    found = program(po.grad(CASES["pooled"].function), data(7, 3))
    sums = [s for s in adjoints(found) if s.target.array == "x_bar" and accumulates(s)]
    assert sums
    assert not any(isinstance(s.target.index[0], Iter) for s in sums)


def patches(a, b):
    total = np.zeros_like(a[1:])
    for p in range(2):
        patch = a[p : a.shape[0] - 1 + p] @ b
        total += patch
    return np.sum(np.tanh(total))


def test_temporaries_have_no_more_dimensions_than_what_was_there():
    found = program(po.grad(patches, (0, 1)), data(5, 3), data(3, 3))
    assert max(len(array.shape) for array in found.arrays) == 2
