"""Checks at run time are made where their values are new; errors are those of Python."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from polyopt.errors import PolyoptError
from polyopt.ir.program import Program
from polyopt.ir.scop import Role, Scop, Statement
from tests.unit.frontend.harness import agree, compiled, run_program

IMAGE = np.arange(12.0).reshape(3, 4)


def bilinear(img, row, col, out):
    for i in range(out.shape[0]):
        y = row[i]
        for j in range(out.shape[1]):
            x = col[j]
            out[i, j] = img[y, x] + img[y, x + 1] - img[y, x] + img[y + 1, x]


def changing(x, idx, out):
    """The subscript of the second read is another one."""
    for i in range(len(idx)):
        out[i] = x[idx[i]]
        idx[i] = idx[i] + 1
        out[i] += x[idx[i]]


def inside(x, idx, out):
    """The inner loop writes the subscript that the check of the outer one reads."""
    for i in range(len(idx)):
        for j in range(out.shape[1]):
            out[i, j] = x[idx[i]]
            idx[i] += 1


def triangle(x, idx, out):
    """Rows have lengths of their own: the first row alone does not check all columns."""
    for i in range(len(idx)):
        for j in range(i):
            out[i, j] = x[idx[j]]


def chosen(x, idx, on, out):
    for i in range(len(idx)):
        if on[i] > 0:
            out[i] = x[idx[i]]
        else:
            out[i] = x[idx[i]] + 1.0


def checks(program: Program) -> list[Statement]:
    """Return the statements that note faults."""
    found = []
    for part in program.parts:
        assert isinstance(part, Scop)
        roles = {array.name: array.role for array in part.arrays}
        found += [s for s in part.statements if roles[s.target.array] is Role.FAULT]
    return found


def numbers(statement: Statement) -> int:
    """Return how many iterators of a statement take more than one value for given sizes."""
    fixed = statement.domain
    return sum(not fixed.dim_max(d).is_equal(fixed.dim_min(d)) for d in range(len(statement.iters)))


def test_equal_checks_are_made_once() -> None:
    args = (IMAGE, np.array([0, 1, 1]), np.array([0, 2, 1, 0]), np.zeros((3, 4)))
    program = agree(bilinear, *args)
    found = checks(program)
    assert len(found) == 4  # y, x, x + 1, y + 1
    assert [numbers(s) for s in found] == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("func", "count"), [(changing, 2), (inside, 1), (triangle, 1), (chosen, 2)]
)
def test_other_values_are_checked(func: Callable[..., object], count: int) -> None:
    assert len(checks(compiled(func, *_arguments(func, [0, 1, 2])))) == count


def _arguments(func: Callable[..., object], idx: list[int]) -> tuple[np.ndarray, ...]:
    x, index, n = np.arange(6.0), np.array(idx, np.int64), len(idx)
    if func is chosen:
        return x, index, np.arange(n) - 1.0, np.zeros(n)
    return x, index, np.zeros(n) if func is changing else np.zeros((n, 3))


@pytest.mark.parametrize("func", [changing, inside, triangle, chosen])
@pytest.mark.parametrize("idx", [[0, 1, 2], [3, 2, 0], [5, 0, 0], [0, 9, 0], [0, 0, 9], [], [-7]])
def test_errors_are_pythons(func: Callable[..., object], idx: list[int]) -> None:
    _compare(func, *_arguments(func, idx))


@pytest.mark.parametrize("columns", [0, 1, 3])
@pytest.mark.parametrize("row", [[0, 1], [0, 2], [9, 0], []])
@pytest.mark.parametrize("col", [[0, 1, 2], [3, 0, 0], [0, 0, -9], []])
def test_no_iteration_makes_no_check(columns: int, row: list[int], col: list[int]) -> None:
    out = np.zeros((len(row), columns))
    if len(col) < columns:
        col = [*col, *[0] * columns]
    _compare(bilinear, IMAGE, np.array(row, np.int64), np.array(col, np.int64), out)


def _compare(func: Callable[..., object], *args: np.ndarray) -> None:
    """Check that the program raises where Python does, and else computes the same."""
    try:
        func(*(arg.copy() for arg in args))
    except IndexError:
        with pytest.raises(PolyoptError) as caught:
            run_program(compiled(func, *args), tuple(arg.copy() for arg in args))
        assert caught.value.code == "PO0231"
    else:
        agree(func, *args)
