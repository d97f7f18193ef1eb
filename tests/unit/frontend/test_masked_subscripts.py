"""Index arrays under a mask, and arrays that get shorter from one iteration to the next."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import PolyoptError
from polyopt.frontend import build
from polyopt.ir.interp import run_program
from polyopt.specialize import Parameters, types_of

Program = Callable[..., Any]


def interpreted(function: Program, *args: object) -> object:
    types = types_of(Parameters.of(function), args, frozenset())
    return run_program(build(function, types), args)


def agree(function: Program, *args: object) -> None:
    mine, theirs = copy.deepcopy(args), copy.deepcopy(args)
    got, want = interpreted(function, *mine), function(*theirs)
    if want is not None:
        np.testing.assert_array_equal(got, want)
    for one, other in zip(mine, theirs, strict=True):
        np.testing.assert_array_equal(one, other)


def read(x, i, m, z):
    return x[i[m]]


def read_bound(x, i, m, z):
    i = i[m]
    return x[i] + 1


def write_number(x, i, m, z):
    x[i[m]] = 2.5


def write_masked(x, i, m, z):
    x[i[m]] = z[m]


def write_under_other_mask(x, i, m, z):
    x[i[m]] = z[z > 5]


def add_masked(x, i, m, z):
    x[i[m]] += z[m] * 2


def mask_of_target(x, i, m, z):
    x[i[x[i] < 3]] = 7.0


def total(x, i, m, z):
    return x[i[m]].sum()


@pytest.mark.parametrize(
    "function",
    [
        read,
        read_bound,
        write_number,
        write_masked,
        write_under_other_mask,
        add_masked,
        mask_of_target,
        total,
    ],
)
@pytest.mark.parametrize("mask", [[True, False, True], [False] * 3, [True] * 3])
def test_vectors(function: Program, mask: list[bool]) -> None:
    x, i, z = np.array([1.0, 2, 3, 4, 5]), np.array([3, 1, -1]), np.array([5.5, 2, 7])
    if function is write_under_other_mask and sum(mask) != 2:
        with pytest.raises(PolyoptError, match="PO0173"):
            interpreted(function, x, i, np.array(mask), z)
        return
    agree(function, x, i, np.array(mask), z)


def read_matrix(x, i, j, m, z):
    return x[i[m], j[m]]


def write_matrix(x, i, j, m, z):
    x[i[m], j[m]] = z[m]


def write_row(x, i, j, m, z):
    x[1, j[m]] = 4.0


def rows(x, i, j, m, z):
    return x[i[m]]


def part_of_rows(x, i, j, m, z):
    return x[i[m], 1:]


@pytest.mark.parametrize("function", [read_matrix, write_matrix, write_row, rows, part_of_rows])
@pytest.mark.parametrize("mask", [[True, False, True], [False] * 3])
def test_matrices(function: Program, mask: list[bool]) -> None:
    x, i, j = np.arange(12.0).reshape(4, 3), np.array([3, 1, 0]), np.array([2, 0, 2])
    agree(function, x, i, j, np.array(mask), np.array([5.5, 2, 7]))


def test_only_subscripts_under_the_mask_are_checked() -> None:
    x, i, z = np.ones(3), np.array([1, 9, 2]), np.ones(3)
    agree(read, x, i, np.array([True, False, True]), z)
    agree(write_number, x, i, np.array([True, False, True]), z)
    for function in (read, write_number):
        with pytest.raises(PolyoptError, match="PO0231"):
            interpreted(function, x, i, np.array([True, True, True]), z)


def survivors(c, n: int):
    z, c = c * 0, c * 1
    for _ in range(n):
        z += c
        near = abs(z) < 5
        z = z[near]
        c = c[near]
    return z, c


def sieve(c, n: int):
    left = np.arange(2, 2 + len(c))
    i = 0
    while i < len(left) and i < n:
        left = left[(left % left[i] != 0) | (left == left[i])]
        i += 1
    return left


def active(c, n: int):
    which = np.arange(len(c))
    out = np.zeros(len(c))
    for i in range(n):
        keep = c[which] > i
        out[which[keep]] += i
        which = which[keep]
    return out


def some_rows(c, n: int):
    z = c.reshape(len(c) // 2, 2) * 1
    for i in range(n):
        z = z[z[:, 0] > 2 * i]
    return z


def on_one_path(c, n: int):
    z = c * 1
    for i in range(n):
        if i % 2 == 0:
            z = z[z > i]
        else:
            z = z[1:]
            z = z * 2
    return z.sum()


def written(c, n: int):
    z = c * 1
    total = 0.0
    for i in range(n):
        z = z[z > i]
        z += 1
        total += z.sum()
        z[0:1] = total
    return total + z.sum()


@pytest.mark.parametrize("function", [survivors, sieve, active, some_rows, on_one_path, written])
@pytest.mark.parametrize("n", [0, 1, 3, 6])
def test_arrays_that_get_shorter(function: Program, n: int) -> None:
    for c in (np.arange(12.0), np.arange(12.0)[::-1].copy()):
        got, want = interpreted(function, c.copy(), n), function(c.copy(), n)
        for one, other in zip(*map(np.atleast_1d, (got, want)), strict=True):
            np.testing.assert_array_equal(one, other)


def grows(c, n: int):
    z = c[c > 3]
    for _ in range(n):
        z = np.concatenate((z, c[c > 3]))
    return z


def test_arrays_that_get_longer_are_refused() -> None:
    with pytest.raises(PolyoptError, match="PO0173"):
        interpreted(grows, np.arange(6.0), 2)


def parts(c, n: int):
    big = np.concatenate((c[c > n], c))
    return big, np.stack((c[c > n], c[c > n])), c[c > n] @ c[c > n], [v * 2 for v in c[c > n]][-1]


def test_elements_under_a_mask_as_operands() -> None:
    for got, want in zip(
        interpreted(parts, np.arange(6.0), 3), parts(np.arange(6.0), 3), strict=True
    ):
        np.testing.assert_array_equal(got, want)


@pytest.mark.toolchain
def test_in_c() -> None:
    c = np.arange(40.0)
    got, want = po.kernel(active)(c, 7), active(c, 7)
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(po.kernel(sieve)(c, 30), sieve(c, 30))
