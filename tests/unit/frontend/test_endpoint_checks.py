"""Subscripts that change evenly in a loop are checked at its ends; errors are those of Python."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import PolyoptError
from polyopt.ir.program import all_parts
from polyopt.ir.scop import Role, Scop
from tests.unit.frontend.harness import compiled, run_program
from tests.unit.frontend.test_repeated_checks import checks, numbers

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def windows(start, x, y, m):
    for k in range(start.shape[0]):
        s = start[k]
        for j in range(m):
            y[k, j] = x[s + j] * 2.0


def under_a_condition(start, x, y, m):
    for k in range(start.shape[0]):
        for j in range(m):
            if j > 1:
                y[k, j] += x[start[k] - 2 * j]


def scattered(start, x, y, m):
    for k in range(start.shape[0]):
        for i in range(2):
            for j in range(0, m, 3):
                y[start[k] + i + j] += x[k, j]


def downwards(start, x, y, m):
    for k in range(start.shape[0]):
        for j in range(m - 1, 0, -2):
            y[k, j] = x[start[k] - j]


def changed_inside(start, x, y, m):
    for k in range(start.shape[0]):
        for j in range(m - 1, -1, -1):
            start[k] = start[k] + 1
            y[k, j] = x[start[k] + j]


def left_early(start, x, y, m):
    for k in range(start.shape[0]):
        for j in range(m):
            if x[start[k] + j] > 14.0:
                break
            y[k, j] = x[start[k] + j]


def doubled(start, x, y, m):
    """The distance is one of Python's integers, of which nothing is known."""
    far = 1
    for _ in range(3):
        far = far * 2 + int(start[1])
        for j in range(m):
            y[0, j] += x[far + j]


PROGRAMS = [doubled, windows, under_a_condition, scattered, downwards, changed_inside, left_early]
STARTS = (-(2**63), -27, -21, -20, -19, -7, -6, -5, -1, 0, 1, 6, 12, 13, 14, 15, 19, 20, 31,
          2**62, 2**63 - 1)  # fmt: skip


def starts(function: Callable[..., object]) -> tuple[int, ...]:
    """Return subscripts to begin with; Python's integers have more than 64 bits."""
    return tuple(n for n in STARTS if function is not doubled or abs(n) < 2**60)


def arguments(function: Callable[..., object], start: int, m: int) -> tuple[object, ...]:
    first = np.array([3, start, 15 if function is under_a_condition else -4])
    if function is scattered:
        return first, np.arange(60.0).reshape(3, 20), np.zeros(20), m
    return first, np.arange(20.0), np.zeros((3, 10)), m


@pytest.mark.parametrize(("function", "depth"), [(windows, 1), (scattered, 1), (downwards, 1)])
def test_one_check_for_a_loop(function, depth):
    found = checks(compiled(function, *arguments(function, 0, 5)))
    assert [len(statement.iters) for statement in found] == [depth]
    assert [numbers(statement) for statement in found] == [depth]


def test_an_overflow_is_tested_at_the_ends():
    program = compiled(doubled, *arguments(doubled, 0, 5))
    scops = [part for part in all_parts(program.parts) if isinstance(part, Scop)]
    noted = [
        s
        for part in scops
        for s in part.statements
        if part.array(s.target.array).role is Role.FAULT
    ]
    assert noted
    assert all(len(statement.iters) == 1 for statement in noted)


@pytest.mark.parametrize("function", [changed_inside, under_a_condition])
def test_others_are_checked_in_each_iteration(function):
    found = checks(compiled(function, *arguments(function, 0, 5)))
    assert found
    assert all(len(statement.iters) == 2 for statement in found)


@pytest.mark.parametrize("function", PROGRAMS)
@pytest.mark.parametrize("m", [0, 1, 2, 7])
def test_errors_are_pythons(function, m):
    program = compiled(function, *arguments(function, 0, m))
    for start in starts(function):
        args, ours = (arguments(function, start, m) for _ in range(2))
        try:
            function(*args)
        except IndexError:
            with pytest.raises(PolyoptError) as caught:
                run_program(program, ours)
            assert caught.value.code == "PO0231"
        else:
            run_program(program, ours)
            np.testing.assert_array_equal(ours[2], args[2])


@pytest.mark.toolchain
@pytest.mark.parametrize("function", PROGRAMS)
def test_kernels_raise_where_python_does(function):
    """The loops are versioned on these subscripts."""
    kernel = po.kernel(function, fp="reassociate")
    for start in starts(function):
        args, ours = (arguments(function, start, 7) for _ in range(2))
        try:
            function(*args)
        except IndexError:
            with pytest.raises(PolyoptError) as caught:
                kernel(*ours)
            assert caught.value.code == "PO0231"
        else:
            kernel(*ours)
            np.testing.assert_array_equal(ours[2], args[2])


def filtered(img, weights, out, w: int, r: int):
    """Its schedule is skewed: conditions on products are compared in another basis."""
    for i in range(img.shape[0] // w - 2 * r):
        for j in range(w - 2 * r):
            total = 0.0
            for p in range(2 * r + 1):
                for q in range(2 * r + 1):
                    total += img[(i + p) * w + j + q] * weights[p * (2 * r + 1) + q]
            out[i * (w - 2 * r) + j] = total


@pytest.mark.machine
def test_checks_of_products_are_proven_in_skewed_loops():
    rng = np.random.default_rng(0)
    img, weights = rng.random(9 * 11), rng.random(25)
    found, expected = np.zeros(5 * 7), np.zeros(5 * 7)
    filtered(img, weights, expected, 11, 2)
    po.kernel(filtered)(img, weights, found, 11, 2)
    np.testing.assert_allclose(found, expected)
    with pytest.raises(IndexError):
        po.kernel(filtered)(img, weights[:-1], found, 11, 2)
