"""Programs whose control depends on data: interpreted, as loops in any order, and compiled."""

from __future__ import annotations

import copy
from functools import cache
from random import Random
from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt.ir.interp import run_loops, run_program
from polyopt.pipeline import Compilation, compile_program
from polyopt.targets import Options
from tests.machines import NARROW
from tests.unit.frontend.control import CONTROL, Case
from tests.unit.frontend.harness import agree, compiled, equal_to_python

SIZES = (0, 1, 2, 7)
every_case = pytest.mark.parametrize("case", CONTROL, ids=lambda case: case.func.__name__)


def arguments(case: Case, size: int) -> tuple[Any, ...]:
    return case.make(size, np.random.default_rng(size + 1))


def sizes(case: Case) -> list[int]:
    return [size for size in SIZES if size >= case.least]


@every_case
def test_parts_mean_the_function(case: Case) -> None:
    for size in sizes(case):
        agree(case.func, *arguments(case, size))


@cache
def stages(case: Case) -> Compilation:
    program = compiled(case.func, *arguments(case, 7))
    return compile_program(program, Options(), NARROW)


@every_case
def test_loops_in_any_order(case: Case) -> None:
    made = stages(case)

    def execute(arrays: Any, params: Any, symbols: Any) -> None:
        run_loops(made.loops, arrays, params, symbols, shuffle=Random(3))

    for size in sizes(case):
        mine, theirs = copy.deepcopy(arguments(case, size)), arguments(case, size)
        with np.errstate(all="ignore"):
            want = case.func(*theirs)
        found = run_program(made.program, mine, execute)
        equal_to_python(made.program, arguments(case, size), (found, mine), (want, theirs))


@pytest.mark.matrix  # all are interpreted above
@pytest.mark.toolchain
@every_case
def test_compiled(case: Case) -> None:
    kernel = po.kernel(case.func)
    for size in sizes(case):
        mine, theirs = copy.deepcopy(arguments(case, size)), arguments(case, size)
        with np.errstate(all="ignore"):
            want = case.func(*theirs)
        found = kernel(*mine)
        program = stages(case).program
        equal_to_python(program, arguments(case, size), (found, mine), (want, theirs))


@pytest.mark.parametrize("tolerance", [-1.0, 0.1, 0.5, 1.0, 10.0])
@pytest.mark.parametrize("name", ["leaves_before_exchange", "leaves_before_three_change_places",
                                  "numbers_change_places_too"])  # fmt: skip
def test_names_stay_when_the_loop_is_left_before_their_exchange(
    name: str, tolerance: float
) -> None:
    """A loop left early ends in the phase of its last iteration, others in the next one."""
    case = next(case for case in CONTROL if case.func.__name__ == name)
    u, v = np.random.default_rng(3).standard_normal((2, 6))
    for steps in range(6):
        agree(case.func, u.copy(), v.copy(), tolerance, steps)
