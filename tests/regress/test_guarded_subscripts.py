"""Subscripts in operands that Python does not evaluate: their variables are set all the same.

Storage that nobody has written holds a number outside of every array here.
"""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.frontend.integers.affine_integers import FALSE
from polyopt.ir.expr import walk
from polyopt.pipeline import compile_program
from polyopt.targets import Options
from tests.machines import NARROW
from tests.unit.frontend.harness import agree, compiled


def test_second_operand_of_or() -> None:
    def program(a, x):
        n = a.shape[0]
        r = 0
        if x or a[0 % n]:
            r = 1
        return r

    for x in (7.0, 0.0):
        agree(program, np.array([8]), x)


def test_condition_under_a_condition() -> None:
    def program(a, c):
        v = 3.0
        if a[1, 1]:
            pass
        else:
            v = c[1, 2] if c[0 % c.shape[0], 0] else 0.25
        return v

    for a in (np.zeros((2, 2)), np.ones((2, 2))):
        agree(program, a, np.ones((4, 3)))


def test_check_under_a_condition() -> None:
    def program(a, n, x):
        v = n
        for i in range(2):
            for j in range(1):
                if n <= x:
                    v += int(a[j, i % a.shape[1]])
        return v

    for x in (2.0, 4.0):
        agree(program, np.ones((4, 3)), 3, x)


def test_subscript_made_under_a_condition() -> None:
    def program(a, k, x):
        r = 0.0
        if x > 0:
            at = k[0] % 4
            r = 2.0 if a[at] > 1 else a[at]
        return r

    for x in (-1.0, 1.0):
        agree(program, np.arange(4.0), np.array([7]), x)


def test_checks_of_numbers_that_are_stored_under_a_condition() -> None:
    def program(a, c):
        k = a[0]
        if c[0] > 5:
            a[k] -= c[2]

    agree(program, np.array([2**30], np.int32), np.array([-1, 2, 3]))
    agree(program, np.array([0], np.int32), np.array([7, 2, 3]))


def test_checks_in_loops_under_a_condition() -> None:
    def program(a, at, c):
        for i in range(len(at)):
            if c[i] > 0:
                a[at[i]] = a[at[i]] * c[i]

    for sign in (-1, 1):
        at = np.array([3, 1]) if sign > 0 else np.array([2**40, -(2**40)])
        agree(program, np.arange(4, dtype=np.int16), at, np.full(2, sign * 3))


@pytest.mark.toolchain
def test_a_truth_value_found_by_the_kernel_decides_with_a_size() -> None:
    def program(a, n):
        v = a[0, 1 % a.shape[1]] >= 1.0
        if n > 0 or v:
            pass

    with pytest.raises(po.PolyoptError) as error:
        po.kernel(program)(np.zeros((0, 2)), 4)
    assert isinstance(error.value, IndexError)


def marked(rows, links, level, depth):
    for i in range(rows.shape[0]):
        if rows[i]:
            for j in range(links.shape[1]):
                if links[i, j] and level[j] < 0:
                    level[j] = depth


def test_parts_that_never_run_are_no_statements() -> None:
    given = np.zeros(3, bool), np.zeros((3, 4), bool), np.zeros(4, int), 1
    program = compiled(marked, *given)
    guards = [s.guard for s in program.scop.statements if s.guard is not None]
    assert guards
    assert not any(part == FALSE for guard in guards for part in walk(guard))


def packed_triangle(p, x, y):
    for i in range(x.shape[0]):
        for j in range(i + 1):
            y[i] += p[i * (i + 1) // 2 + j] * x[j]


def test_checks_of_products_are_proven_as_the_passes_leave_them() -> None:
    program = compiled(packed_triangle, np.zeros(6), np.zeros(3), np.zeros(3))
    assert compile_program(program, Options(), NARROW).dropped == ()


def under_a_mask(mask, x, y):
    for i in range(mask.shape[0]):
        for j in range(mask.shape[1]):
            if mask[i, j] and x[i, j] > 0.0:
                y[i, j] += x[i, j]


def test_dimensions_that_a_loop_walks_over_are_checked_by_the_call() -> None:
    """No element is checked where data decides which ones are read, and no loop is cut."""
    found = compiled(under_a_mask, np.ones((4, 3), bool), np.ones((4, 3)), np.ones((4, 3)))
    assert not found.signature.faults
    assert len(found.scop.statements) == 1


@pytest.mark.toolchain
@pytest.mark.parametrize("shape", [(4, 3), (3, 3), (4, 2), (0, 3), (5, 6)])
@pytest.mark.parametrize("reach", [0, 2, 3])
def test_arrays_that_end_before_the_loop_are_read_where_data_leads(shape, reach) -> None:
    """Calls whose arrays are too short for the loop have code that checks each element."""
    mask, x, y = np.zeros((4, 3), bool), np.ones(shape), np.ones((4, 3))
    mask[:reach, :reach] = True
    expected = y.copy()
    kernel = po.kernel(under_a_mask)
    try:
        under_a_mask(mask, x, expected)
    except IndexError:
        with pytest.raises(po.PolyoptError, match=r"out of bounds|would leave"):
            kernel(mask, x, y)
        return
    kernel(mask, x, y)
    np.testing.assert_array_equal(y, expected)
