"""What holds of all kernels, on a sample; `python -m tests.gpu.standing` goes through all."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from random import Random

import pytest

from polyopt.emulator import EmulatedProvider
from polyopt.errors import IndexFault
from polyopt.ir.host import DeviceProgram
from polyopt.ir.loops import Body, For, Kernel, LoopKind, Node
from polyopt.ir.nodes import all_nodes, map_bodies
from tests.gpu.runtime.needs import needs_nvcc
from tests.gpu.standing import alone, barriers, compilers, mapping
from tests.gpu.standing.forms import FIRST, Form, forms, sizes_of
from tests.gpu.standing.losing import LosingDevice, count_barriers, each_loss
from workloads import registry

QUICK = (
    "2mm", "adamw", "atax", "bicg", "covariance", "cross-entropy", "doitgen", "fdtd-2d", "gemm",
    "gesummv", "heat-3d", "jacobi-2d", "mvt", "syrk", "syr2k", "symm", "trisolv",
)  # fmt: skip
"""Workloads that are compiled for a device within two seconds."""

SHARE = 4
"""Of so many of their forms one is asked whether its parallel loops are mapped."""

SAMPLE = Random(5).sample([str(form) for form in forms(QUICK)], 3)


def form_of(name: str) -> Form:
    workload, _, form = name.rpartition("-")
    return Form(registry.get(workload), form)


@pytest.mark.toolchain
@pytest.mark.parametrize("name", ["gemm-numpy", *SAMPLE])
def test_every_barrier_is_needed_and_its_loss_seen(name: str) -> None:
    form = form_of(name)
    report = barriers.Report(name)
    barriers.judge(form, report)
    assert report.missed == []
    count = count_barriers(form.compiled().loops.body)
    assert len(report.proof) == count
    assert len(report.text) >= count
    if name == "gemm-numpy":
        assert count >= 2


@pytest.mark.toolchain
def test_losses_that_no_whole_program_shows_are_seen_in_kernels_alone() -> None:
    """Rows of a sparse matrix that begin before its first element: no workload has such data."""
    form = form_of("spmv-loops")
    device = LosingDevice()
    form.on(device)
    report = barriers.Report(str(form), text=device.barriers)
    barriers.ask_kernels_alone(form, report)
    assert len(report.text) == 4
    assert all(barrier.found.startswith("alone") for barrier in report.text)


@pytest.mark.toolchain
def test_kernels_alone_are_right_with_all_barriers() -> None:
    form = form_of("gemm-numpy")
    source = form.compiled().source
    assert isinstance(source, DeviceProgram)
    kernels = alone.kernels_alone(source, EmulatedProvider())
    sizes = alone.sizes_alone(form.compiled().loops.params, (), (17, 2), (75,))
    assert len(kernels) == len(source.source.entries)
    for kernel, each in product(kernels.values(), sizes):
        assert kernel.run(each, 3) is None
    with pytest.raises(ValueError, match="too many"):
        kernels["gemm_numpy_1_"].run(dict.fromkeys(sizes[0], 10**6), 3)


def test_a_loss_is_one_barrier_of_one_kernel() -> None:
    loops = form_of("gemm-numpy").compiled().loops
    losses = list(each_loss(loops))
    for lost in losses:
        assert count_barriers(lost.loops.body) == len(losses) - 1
        before, after = (
            {n.name: n for n in all_nodes(fn.body) if isinstance(n, Kernel)}
            for fn in (loops, lost.loops)
        )
        assert [name for name in before if before[name] != after[name]] == [lost.kernel]


MIXED = ("gauss-elimination-numpy", "gramschmidt-loops", "kalman-numpy", "logistic-numpy")
"""Forms in which isl's loops of one nest, or its order of all, leave less parallel."""

EDGES = ("cavity-flow-numpy",)
"""Forms whose arrays several statements write in turn: the insides, and each edge."""

DATA = ("encoder-backward-loops", "sieve-numpy", "spmv-numpy")
"""Forms that read subscripts in conditions alone, or sum after loops whose bounds are data."""

SPECIAL = (*MIXED, *EDGES, *DATA)


@pytest.mark.parametrize(
    "name",
    sorted(
        {*MIXED, *EDGES, *DATA, *(str(form) for form in list(forms(QUICK))[::SHARE]), "atax-loops"}
    ),
)
def test_parallel_loops_are_mapped(name: str) -> None:
    assert mapping.judge(form_of(name)) == []


def test_isl_orders_a_nest_that_the_source_leaves_to_one_thread() -> None:
    """All of isl's order would take the parallel loop of the elimination away."""
    text = form_of("gauss-elimination-numpy").compiled().schedule_text
    assert "affine(min, L7);" in text
    assert "grid(L4.tile[0]);" in text


def test_a_fault_of_the_program_is_a_loss_that_is_seen() -> None:
    def fails(**_: object) -> None:
        raise IndexFault("PO0231", "a subscript is outside")

    form = form_of("gemm-numpy")
    sizes = sizes_of(form.workload, FIRST)
    assert "PO0231" in (barriers._call(form, fails, sizes) or "")


def test_one_thread_for_a_parallel_loop_is_told() -> None:
    stages = form_of("atax-loops").compiled()
    (schedule,) = stages.schedules
    parallel = {name for name, _ in mapping.parallel(schedule.history()[0])}
    assert parallel
    assert mapping.alone(stages.loops.body) == frozenset()
    assert parallel <= mapping.alone(_in_one_thread(stages.loops.body))


@pytest.mark.parametrize("name", ["knapsack-numpy", "stockham-fft-loops"])
def test_programs_of_several_parts_are_judged(name: str) -> None:
    stages = form_of(name).compiled()
    assert mapping.judge(form_of(name)) == []
    told = mapping.judged(stages.schedules, _in_one_thread(stages.loops.body))
    assert len({line.partition(":")[0] for line in told}) >= 2


def test_statements_of_several_parts_have_names_of_their_own() -> None:
    stages = form_of("spmv-numpy").compiled()
    names = [s.name for schedule in stages.schedules for s in schedule.scop.statements]
    assert len(stages.schedules) > 1
    assert len(set(names)) == len(names)


def _in_one_thread(body: Body) -> Body:
    found: list[Node] = []
    for node in body:
        node = map_bodies(node, _in_one_thread)
        found.append(replace(node, kind=LoopKind.SEQUENTIAL) if isinstance(node, For) else node)
    return tuple(found)


@pytest.mark.machine
@needs_nvcc
@pytest.mark.parametrize("name", ["bubble-sort-loops", "gemm-numpy"])
def test_compilers_take_the_text(name: str) -> None:
    assert compilers.judge(form_of(name)) == []
