"""Programs on simulated ranks have the results of one process."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt.distribution.widening import iterations_between
from tests.unit.distribution.programs import CASES, Case

pytestmark = pytest.mark.toolchain
SIZES = (0, 1, 2, 7, 13)
RANKS = (1, 2, 3, 4)


@cache
def kernels(name: str) -> tuple[Any, Any]:
    case = CASES[name]
    on_ranks = po.kernel(case.function, mesh=po.mesh(4), shard=case.shard, threads=1)
    return on_ranks, po.kernel(case.function, threads=1, schedule="source")


def assert_equal(case: Case, found: Any, wanted: Any) -> None:
    for mine, theirs in zip(found, wanted, strict=True):
        if theirs is None:
            assert mine is None
        elif case.exact:
            np.testing.assert_array_equal(mine, theirs)
        else:
            np.testing.assert_allclose(mine, theirs, rtol=1e-9)


@pytest.fixture
def strange_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """New memory holds no right values by chance."""
    empty = np.empty

    def filled(*shape: Any, **kind: Any) -> Any:
        found = empty(*shape, **kind)
        found.view(np.uint8).fill(0x7D) if found.ndim else None
        return found

    monkeypatch.setattr(np, "empty", filled)


@pytest.mark.matrix(2)
@pytest.mark.usefixtures("strange_memory")
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


@pytest.mark.parametrize("name", ["seidel_2d", "upwards"])
def test_late_messages_change_nothing(name: str) -> None:
    """Nor does what a phase writes to an array of which a message is on its way."""
    on_ranks, alone = kernels(name)
    args = CASES[name].make(20)
    wanted = copy.deepcopy(args)
    alone(*wanted)
    for seed in range(3):
        for outcome in on_ranks.simulate(*args, ranks=4, seed=seed, delay=0.004):
            np.testing.assert_array_equal(outcome.arguments[1], wanted[1])


@pytest.mark.parametrize("name, every", [("jacobi_2d", 2), ("fdtd_2d", 3), ("second_order", 4)])
def test_wide_halos_for_several_iterations_change_nothing(name: str, every: int) -> None:
    """Halos are wider than blocks at some sizes, and groups of iterations longer than the loop."""
    case = CASES[name]
    kernel = po.kernel(
        case.function, mesh=po.mesh(4), shard=case.shard, threads=1, exchange_every=every
    )
    for n in (1, 5, 23):
        args = case.make(n)
        args = (7, *args[1:]) if isinstance(args[0], int) else args
        wanted = copy.deepcopy(args)
        kernels(name)[1](*wanted)
        for ranks in (1, 2, 4):
            for outcome in kernel.simulate(*args, ranks=ranks, seed=n):
                assert_equal(case, outcome.arguments, wanted)


def test_wide_halos_need_fewer_messages() -> None:
    case, counts = CASES["fdtd_2d"], []
    args = case.make(20)
    for every in (1, 3):
        kernel = po.kernel(case.function, mesh=po.mesh(2), shard=case.shard, exchange_every=every)
        counts.append([outcome.messages for outcome in kernel.simulate(*args)])
    assert counts == [[3, 3], [1, 1]]


def test_halos_are_as_wide_as_blocks_are_long() -> None:
    """Neighbours compute at most a small part of a block twice."""
    plan = kernels("jacobi_2d")[0].plan()
    found = [iterations_between(plan, {"N": n, "tsteps": 9}, 4) for n in (50, 1000, 2000, 9000)]
    assert found == [1, 4, 8, 16]
    assert iterations_between(kernels("seidel_2d")[0].plan(), {"N": 9000, "tsteps": 9}, 4) == 1
    assert iterations_between(kernels("gemm")[0].plan(), {"N": 9000, "K": 9, "M": 9}, 4) == 1


@pytest.mark.parametrize(
    "name, mesh, cuts",
    [
        ("fdtd_2d", (2, 2), (0, 1)),
        ("seidel_2d", (2, 2), (0, 1)),
        ("transpose", (3, 2), (0, 1)),
        ("lu", (2, 2), (po.cyclic(0, 2), po.cyclic(1, 3))),
        ("lu", (2, 3), (po.cyclic(0), 1)),
    ],
)
def test_arrays_are_cut_along_two_axes(name: str, mesh: tuple[int, int], cuts: Any) -> None:
    case = CASES[name]
    shard = dict.fromkeys(case.shard, cuts)
    kernel = po.kernel(case.function, mesh=po.mesh(*mesh), shard=shard, threads=1)
    for n in (1, 7):
        args = case.make(n)
        wanted = copy.deepcopy(args)
        kernels(name)[1](*wanted)
        for outcome in kernel.simulate(*args, seed=n):
            assert_equal(case, outcome.arguments, wanted)
