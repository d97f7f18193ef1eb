"""What plans say of themselves: volumes, texts, suggestions, predictions."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import sympy

import polyopt as po
from polyopt.distribution.volume import RANKS, total
from polyopt.errors import UsageError
from tests.unit.distribution.programs import CASES, gemm, jacobi_2d, lu, to_the_first


@cache
def kernel_of(name: str) -> Any:
    case = CASES[name]
    return po.kernel(case.function, mesh=po.mesh(4), shard=case.shard, threads=1)


FORMULAS = {
    "jacobi_2d": "32*tsteps*(N - 2)*(P - 1)",
    "heat_3d": "32*tsteps*(N - 2)**2*(P - 1)",
    "fdtd_2d": "8*(P - 1)*(2*NY*TMAX - 2*TMAX + 1)",
    "seidel_2d": "16*(P - 1)*(N*tsteps - 2*tsteps + 2)",
    "gemm": "8*K*M*(P - 1)",
    "conjugate_gradient": "8*(N*P*steps + N*P - N*steps - N + 2*P*steps + P)",
    "nbody": "24*N*steps*(P - 1)",
    "softmax": "8*(3*P - 1)",
    "adamw": "0",
    "second_order": "32*M*(P - 1)",
    "transpose": "8*(M*N - kept(M, N, P))",
    "running_sum": "8*(P - 1)",
    "running_least": "8*(M - 1)*(P - 1)",
    "running_in_steps": "8*steps*(P - 1)",
    "column_sums": "8*M*(P - 1)",
    "later_product": "8*M*(N + 1)*(P - 1)",
}


@pytest.mark.matrix(2)
@pytest.mark.toolchain
@pytest.mark.parametrize("name", FORMULAS)
def test_the_ranks_send_what_the_formula_says(name: str) -> None:
    kernel = kernel_of(name)
    formula = total(kernel.plan())
    assert formula is not None
    assert str(formula) == FORMULAS[name]
    args = CASES[name].make(17)
    sizes = {sympy.Symbol(n, integer=True): v for n, v in kernel.sizes(*args).items()}
    for ranks in (2, 3, 4):
        outcomes = kernel.simulate(*args, ranks=ranks)
        counted = sum(sum(outcome.sent.values()) for outcome in outcomes)
        assert counted == formula.subs({**sizes, RANKS: ranks})


@pytest.mark.toolchain
def test_a_stencil_sends_each_element_once_a_step_to_each_neighbour() -> None:
    """No program in which owners compute sends less: a value is needed once it has changed."""
    steps, n = 3, 13
    _, A, B = CASES["jacobi_2d"].make(n)
    for ranks in (2, 3, 4):
        outcomes = kernel_of("jacobi_2d").simulate(steps, A, B, ranks=ranks)
        rows = 2 * 2 * steps * (ranks - 1)  # of A and B, in both directions
        assert sum(o.sent["messages"] for o in outcomes) == rows * (n - 2) * 8
        assert sum(o.messages for o in outcomes) == rows


FORMS = {
    "transpose": "all-to-all of A",
    "column_sums": "reduce-scatter of g",
    "later_product": "reduce-scatter of tmp",
    "running_sum": "scan of running",
    "running_least": "scan of B",
    "running_in_steps": "scan of y",
    "upwards": "pipeline of A",  # and no scan: the order of its sums is part of the program
}


@pytest.mark.parametrize("name", FORMS)
def test_the_form_of_what_crosses_is_recognized(name: str) -> None:
    assert FORMS[name] in kernel_of(name).explain()


def test_explain_says_what_is_cut_and_what_crosses() -> None:
    text = kernel_of("seidel_2d").explain()
    assert "A is cut along axis 0 in blocks of N / P, a rank keeps 1 before and 1 after" in text
    assert "pipeline of A: 8*tsteps*(N - 2)*(P - 1) bytes" in text
    assert "S0: owner computes; one rank after the other" in text
    assert "blocks, instances, values, messages, collectives, order" in text
    assert "not proven" not in text
    text = kernel_of("conjugate_gradient").explain()
    assert "all-gather of p: 8*N*steps*(P - 1) bytes" in text
    assert "all-reduce of old: 8*P bytes" in text
    assert "each rank has all of b" in text


@pytest.mark.parametrize(
    "steps, shard, replicate",
    [
        ("shard(C, 0); shard(B, 0)", {"C": 0, "B": 0}, ()),
        ("shard(C, 0%2)", {"C": po.cyclic(0, 2)}, ()),
        ("shard(A, 0); replicate(C)", {"A": 0}, ("C",)),
    ],
)
def test_steps_mean_what_options_mean(
    steps: str, shard: Any, replicate: tuple[str, ...], tmp_path: Path
) -> None:
    by_options = po.kernel(gemm, mesh=po.mesh(2), shard=shard, replicate=replicate)
    path = tmp_path / "ranks.sched"
    path.write_text(f"polyopt-schedule 1\n{steps}  # for the ranks\n")
    for schedule in (steps, path):
        by_steps = po.kernel(gemm, mesh=po.mesh(2), schedule=schedule)
        assert by_steps.explain() == by_options.explain()
        assert by_steps.options.schedule is None
    assert by_options.explain().startswith(f"gemm on P ranks: {steps}\n")


@pytest.mark.toolchain
def test_other_steps_are_for_the_kernels_of_phases() -> None:
    kernel = po.kernel(gemm, mesh=po.mesh(2), schedule="shard(C, 0); parallelize(L0[0])")
    assert kernel.options.schedule is not None
    assert kernel.options.schedule.strip(" ;") == "parallelize(L0[0])"
    args = CASES["gemm"].make(7)
    wanted = args[2].copy()
    po.kernel(gemm, threads=1)(*args[:2], wanted, *args[3:])
    for outcome in kernel.simulate(*args):
        assert (outcome.arguments[2] == wanted).all()


def test_cuts_are_ranked_by_the_bytes_they_move() -> None:
    best, *others = po.suggest_shard(gemm, *CASES["gemm"].make(64), mesh=po.mesh(4))
    assert best.bytes == 0
    assert best.exact
    assert dict(best.shard) == {"A": 0}
    assert [s.bytes for s in others] == sorted(s.bytes for s in others)
    assert others[-1].bytes > 0
    case = CASES["seidel_2d"]
    seidel = po.suggest_shard(case.function, *case.make(9), mesh=po.mesh(2))
    assert all(not one.parallel for one in seidel)
    assert "one rank after the other" in str(seidel[0])
    by_rows, by_columns = po.suggest_shard(jacobi_2d, *CASES["jacobi_2d"].make(12), mesh=po.mesh(3))
    assert by_rows.bytes == by_columns.bytes == 32 * 3 * 10 * 2
    assert by_rows.memory == 2 * 12 * (4 + 2) * 8


def test_times_on_many_ranks_are_predicted() -> None:
    args = CASES["jacobi_2d"].make(200)
    kernel = kernel_of("jacobi_2d")
    strong = kernel.scaling(*args, alone=0.5, latency=1e-6, bandwidth=1e9)
    assert [p.ranks for p in strong.predicted] == [16, 32, 64, 128, 256, 512, 1024, 2048, 4096]
    first = strong.predicted[0]
    assert first.compute == pytest.approx(0.5 / 16)
    assert first.latency == pytest.approx(4 * 3 * 15 / 16 * 1e-6)
    assert first.transfer == pytest.approx(32 * 3 * 198 * 15 / 16 / 1e9)
    assert strong.predicted[-1].efficiency < first.efficiency <= 1
    weak = kernel.scaling(*args, alone=0.5, weak=True, ranks=(1, 4096))
    assert weak.predicted[0].seconds == 0.5
    assert weak.predicted[1].efficiency > 0.9
    assert "4096" in str(weak)
    pipeline = kernel_of("seidel_2d").scaling(*CASES["seidel_2d"].make(50), alone=0.5, ranks=(4,))
    assert pipeline.predicted[0].compute == pytest.approx(0.5 / 4 * (1 + 3 / 3))


def test_what_only_the_first_rank_gets_has_no_formula() -> None:
    kernel = po.kernel(to_the_first, mesh=po.mesh(4), shard={"x": 0, "y": 0}, threads=1)
    assert total(kernel.plan()) is None
    assert "point to point of x\n" in kernel.explain()


def test_no_prediction_without_a_formula() -> None:
    kernel = po.kernel(lu, mesh=po.mesh(4), shard={"A": 0}, threads=1)
    with pytest.raises(UsageError, match="no formula for what is sent of `A`") as caught:
        kernel.scaling(*CASES["lu"].make(9), alone=1.0)
    assert caught.value.code == "PO0858"
