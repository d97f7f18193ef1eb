"""The statements of gradients: right when interpreted, and no more of them than needed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt.frontend import build
from polyopt.ir.expr import Const, Iter, Load, walk
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
