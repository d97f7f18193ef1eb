"""Programs on simulated ranks have the results of one process."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

import numpy as np
import pytest

import polyopt as po
from tests.unit.distribution.programs import CASES, Case

pytestmark = pytest.mark.toolchain
SIZES = (0, 1, 2, 7, 13)
RANKS = (1, 2, 3, 4)


@cache
def kernels(name: str) -> tuple[Any, Any]:
    case = CASES[name]
    on_ranks = po.kernel(case.function, mesh=po.mesh(4), shard=case.shard, threads=1)
    return on_ranks, po.kernel(case.function, threads=1)


def assert_equal(case: Case, found: Any, wanted: Any) -> None:
    for mine, theirs in zip(found, wanted, strict=True):
        if theirs is None:
            assert mine is None
        elif case.exact:
            np.testing.assert_array_equal(mine, theirs)
        else:
            np.testing.assert_allclose(mine, theirs, rtol=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_ranks_have_the_results_of_one_process(name: str) -> None:
    case = CASES[name]
    on_ranks, alone = kernels(name)
    for n in SIZES:
        if n < case.least:
            continue
        args = case.make(n)
        wanted = copy.deepcopy(args)
        result = alone(*wanted)
        for ranks in RANKS:
            for outcome in on_ranks.simulate(*args, ranks=ranks, seed=n):
                found = (*outcome.arguments, outcome.result)
                assert_equal(case, found, (*wanted, result))


def test_late_messages_change_nothing() -> None:
    on_ranks, alone = kernels("seidel_2d")
    args = CASES["seidel_2d"].make(11)
    wanted = copy.deepcopy(args)
    alone(*wanted)
    for seed in range(3):
        for outcome in on_ranks.simulate(*args, ranks=4, seed=seed, delay=0.004):
            np.testing.assert_array_equal(outcome.arguments[1], wanted[1])
