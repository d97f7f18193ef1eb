"""Sums on a device: dealt out to threads and blocks, joined in an order that is fixed."""

from __future__ import annotations

import pytest

from polyopt.emit.gpu import device_loops
from polyopt.emit.lower import lower
from polyopt.frontend import build
from polyopt.frontend.syntax.annotations import ArrayType
from polyopt.ir.loops import Kernel, LoopKind
from polyopt.ir.source import Layout
from polyopt.ir.types import DType
from polyopt.schedule.tree import leaves
from polyopt.strategy.gpu import GpuModel, auto_schedule_gpu
from polyopt.strategy.gpu.mapped_loops import bands_around
from polyopt.transforms import Combine, Rfactor
from tests.checks import assert_computes
from tests.gpu.mapping import programs

SMALL = GpuModel(block=8, warp=4)
SUMS = [programs.total, programs.total_of_rows, programs.row_sums, programs.column_sums,
        programs.channels]  # fmt: skip


@pytest.mark.parametrize("program", SUMS, ids=lambda f: f.__name__)
def test_terms_run_across_blocks_and_threads(program):
    schedule = auto_schedule_gpu(programs.scop_of(program), GpuModel())
    kinds = [m.kind for band in bands_around(schedule, "S1") for m in band.members]
    assert {LoopKind.BLOCK, LoopKind.THREAD} <= set(kinds)
    assert any(isinstance(step, Rfactor) for step in schedule.trace)
    for path, domain in leaves(schedule.tree, schedule.scop.domain):
        alone = not any(m.kind is LoopKind.THREAD for m in path)
        assert not alone or len(path) <= 3, domain


@pytest.mark.parametrize("program", SUMS, ids=lambda f: f.__name__)
def test_same_results(program):
    scop = programs.scop_of(program)
    assert_computes(scop, *auto_schedule_gpu(scop, SMALL).trace)


def test_partial_results_are_joined_in_one_launch():
    types = tuple(ArrayType(DType.FLOAT32, rank, Layout.C, (False,)) for rank in (1, 1))
    program = build(programs.total, types)
    schedule = auto_schedule_gpu(program.scop, GpuModel())
    body = device_loops(lower((schedule,), program)).body
    assert [type(node) for node in body] == [Kernel, Kernel]


def test_an_order_that_counts_is_kept():
    trace = auto_schedule_gpu(programs.scop_of(programs.in_order), GpuModel()).trace
    assert not any(isinstance(step, Rfactor | Combine) for step in trace)
