"""Strips of rows along which recurrences run: which nests have them, results for odd sizes."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.dataclass import replace
from polyopt.ir.loops import LoopKind
from polyopt.ir.scop import Role
from polyopt.machine import Machine
from polyopt.schedule import source_schedule
from polyopt.schedule.tree import bands
from polyopt.strategy.row_recurrences import jam_recurrences
from polyopt.transforms import LayOut, Tile
from tests.checks import assert_computes
from tests.reading import read

# ruff: noqa: F821, UP037 - sizes are named by strings

SMALL = Machine(vector_bytes=16)
USUAL = Machine(vector_bytes=32)

SMOOTH = """
    for i in range(N):
        for j in range(1, M):
            Y[i, j] = 0.5 * X[i, j] + 0.25 * Y[i, j - 1]
    """
EVERY_SECOND = SMOOTH.replace("X[i, j]", "X[i, 2 * j]")
SOLVE = """
    for i in range(N):
        for j in range(1, M):
            T[i, j] = A[i, j] / (2.0 + T[i, j - 1])
        for j in range(1, M):
            B[i, M - j - 1] = B[i, M - j - 1] - T[i, M - j] * B[i, M - j]
    """


def jammed(text: str, arrays: str, machine: Machine = SMALL):
    scop = read(text, arrays, "N M")
    return scop, jam_recurrences(source_schedule(scop), machine, frozenset())


def kinds(schedule, kind: LoopKind) -> int:
    return sum(m.kind is kind for band in bands(schedule.tree) for m in band.members)


PLANES = """
    for k in range(N):
        for i in range(N):
            for j in range(1, M):
                Y[k, i, j] = 0.5 * X[k, i, j] + Y[k, i, j - 1]
    """


def test_rows_that_lanes_do_not_reach_have_registers():
    scop, schedule = jammed(EVERY_SECOND, "X[N, 2 * M]; Y[N, M]", USUAL)
    assert kinds(schedule, LoopKind.UNROLL) == 1
    assert_computes(scop, *schedule.trace)


def test_rows_of_register_transposes_are_lanes():
    scop, schedule = jammed(SMOOTH, "X[N, M]; Y[N, M]", USUAL)
    assert kinds(schedule, LoopKind.VECTOR) == 2
    assert not kinds(schedule, LoopKind.UNROLL)
    assert_computes(scop, *schedule.trace)


def test_two_lanes_are_not_enough():
    scop, schedule = jammed(SMOOTH, "X[N, M]; Y[N, M]")
    assert kinds(schedule, LoopKind.UNROLL) == 1
    assert_computes(scop, *schedule.trace)


def test_rows_inside_of_other_loops_are_lanes():
    scop, schedule = jammed(PLANES, "X[N, N, M]; Y[N, N, M]", USUAL)
    assert kinds(schedule, LoopKind.VECTOR) == 2
    assert_computes(scop, *schedule.trace)


def test_rows_that_divide_are_lanes():
    scop, schedule = jammed(SOLVE, "A[N, M]; B[N, M]; T[N, M]")
    assert kinds(schedule, LoopKind.VECTOR) >= 2
    assert not kinds(schedule, LoopKind.UNROLL)
    assert_computes(scop, *schedule.trace)


@pytest.mark.parametrize("role, rows", [(Role.TEMP, 16), (Role.OUTPUT, 4)])
def test_more_rows_divide_where_quotients_are_a_temporarys(role, rows):
    first = SOLVE.replace("        for j", "        T[i, 0] = 1.0\n        for j", 1)
    scop = read(first, "A[N, M]; B[N, M]; T[N, M]", "N M")
    arrays = tuple(replace(a, role=role) if a.name == "T" else a for a in scop.arrays)
    schedule = jam_recurrences(source_schedule(replace(scop, arrays=arrays)), SMALL, frozenset())
    assert next(step.sizes for step in schedule.trace if isinstance(step, Tile)) == (rows,)


def smooth(x: po.f64["N,M"], y: po.f64["N,M"]):
    for i in range(x.shape[0]):
        for j in range(1, x.shape[1]):
            y[i, j] = 0.25 * x[i, j] + 0.75 * y[i, j - 1]


def solve(a: po.f64["N,M"], d: po.f64["N,M"], x: po.f64["N,M"]):
    n, m = a.shape
    p = np.zeros((n, m))
    for i in range(n):
        for j in range(1, m):
            p[i, j] = 1.0 / (4.0 + a[i, j] * p[i, j - 1])
        x[i, m - 1] = d[i, m - 1]
        for j in range(m - 2, -1, -1):
            x[i, j] = d[i, j] - p[i, j] * x[i, j + 1]


def narrow(x: po.f32["N,M"], y: po.f32["N,M"]):
    for i in range(x.shape[0]):
        for j in range(1, x.shape[1]):
            y[i, j] = x[i, j] / (y[i, j - 1] + 2)


def sums(a: po.f64["N,M"], y: po.f64["N"]):
    y[:] = np.sum(a, axis=1)


def steps(function, arguments) -> list[str]:
    return [str(step) for step in po.kernel(function).schedule(*arguments).trace]


@pytest.mark.machine
def test_temporaries_are_transposed_for_lanes():
    made = po.kernel(solve).schedule(*(np.ones((5, 7)) for _ in range(3)))
    assert any(isinstance(step, LayOut) and step.array == "p" for step in made.trace)


def shared(x: po.f64["N,M"], y: po.f64["N,M"]):
    n, m = x.shape
    rows = np.zeros((n, m))
    for i in range(n):
        for j in range(1, m):
            rows[i, j] = x[i, j] / (1.0 + rows[i, j - 1])
    for j in range(m):
        for i in range(1, n):
            y[i, j] = rows[i, j] + 0.5 * y[i - 1, j]


@pytest.mark.machine
def test_temporaries_that_other_nests_use_stay_as_they_are():
    made = po.kernel(shared).schedule(*(np.ones((5, 7)) for _ in range(2)))
    assert not any(isinstance(step, LayOut) for step in made.trace)


@pytest.mark.machine
def test_sums_whose_order_is_open_have_lanes_along_the_row():
    assert not any(step.startswith("sink") for step in steps(sums, (np.ones((9, 9)), np.ones(9))))


@pytest.mark.toolchain
@pytest.mark.parametrize("shape", [(0, 5), (1, 1), (3, 2), (17, 9), (40, 33)])
@pytest.mark.parametrize("function", [smooth, solve, narrow])
def test_results(function, shape):
    rng = np.random.default_rng(1)
    dtype = np.float32 if function is narrow else np.float64
    count = function.__code__.co_argcount
    arguments = [rng.random(shape).astype(dtype) for _ in range(count)]
    expected = [array.copy() for array in arguments]
    if shape[0]:
        function(*expected)
    po.kernel(function)(*arguments)
    for found, right in zip(arguments, expected, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-6 if dtype is np.float32 else 1e-13)
