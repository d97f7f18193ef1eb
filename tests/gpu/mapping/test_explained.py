"""The section `mapping` of explain: loops of every nest, and how neighbouring threads walk."""

from __future__ import annotations

from polyopt.report.mapping import explain_mapping
from polyopt.schedule import source_schedule
from polyopt.strategy.gpu import GpuModel, auto_schedule_gpu
from polyopt.transforms import parse_steps
from tests import scops
from tests.gpu.mapping import programs


def test_golden(golden):
    lines = []
    for name in ("jacobi", "transposed", "seidel", "prefix"):
        schedule = auto_schedule_gpu(getattr(scops, name)(), GpuModel())
        lines += [f"-- {name}", *explain_mapping(schedule), ""]
    for program in (programs.row_sums, programs.product):
        schedule = auto_schedule_gpu(programs.scop_of(program), GpuModel())
        lines += [f"-- {program.__name__}", *explain_mapping(schedule), ""]
    golden("explain/mapping.txt", "\n".join(lines))


def test_nothing_is_said_of_loops_for_a_cpu():
    steps = parse_steps("tile(L0, 32, 32); parallelize(i_tile)")
    assert explain_mapping(source_schedule(scops.gemm()).apply(*steps)) == ()


def test_a_loop_that_strides_is_told():
    schedule = source_schedule(scops.gemm()).apply(*parse_steps("grid(j); interchange(i, j)"))
    told = explain_mapping(schedule.apply(*parse_steps("threads(i)")))
    assert "    neighbouring threads write elements apart: C[i, j]" in told
    assert "    neighbouring threads read the same element: B[k, j]" in told
