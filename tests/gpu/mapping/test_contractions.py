"""Contractions on a device: tiles in shared memory, within its limits, same results."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from polyopt.emit.gpu import device_loops
from polyopt.emit.lower import lower
from polyopt.frontend import build
from polyopt.frontend.syntax.annotations import ArrayType
from polyopt.ir.loops import DeclareArray, Kernel, Space
from polyopt.ir.nodes import all_nodes
from polyopt.ir.showing import show
from polyopt.ir.source import Layout
from polyopt.ir.types import DType
from polyopt.schedule import Schedule
from polyopt.schedule.data_steps import DataStep
from polyopt.strategy.gpu import GpuModel, auto_schedule_gpu
from polyopt.strategy.gpu.roles import Roles
from polyopt.strategy.gpu.tiles import contraction_tile_sizes
from polyopt.transforms import Pipeline
from tests.checks import assert_computes
from tests.gpu.mapping import programs
from tests.oracle.program import as_program

SMALL = GpuModel(block=4, warp=2, registers=32, shared=512)
TILES = {"A_pack": "16x132", "B_pack": "16x128", "C_pack": "128x128"}
ALL = [programs.product, programs.turned, programs.batches, programs.gram, programs.images]


def shared(schedule: Schedule) -> dict[str, str]:
    loops = lower(schedule, as_program(schedule.scop))
    found = [n for n in all_nodes(loops.body) if isinstance(n, DeclareArray)]
    shapes = {n.array.name: n.array.shape for n in found if n.space is Space.SHARED}
    return {name: "x".join(map(show, shape)) for name, shape in shapes.items()}


def test_operands_and_results_are_shared():
    schedule = auto_schedule_gpu(programs.scop_of(programs.product), GpuModel())
    assert shared(schedule) == TILES


def test_a_batch_is_a_dimension_of_the_grid():
    schedule = auto_schedule_gpu(programs.scop_of(programs.batches), GpuModel())
    assert shared(schedule) == TILES
    assert "grid(L0.tile[0], L0.tile[1], L0.tile[2])" in schedule.text


@pytest.mark.parametrize("program", ALL, ids=lambda f: f.__name__)
def test_same_results(program):
    scop = programs.scop_of(program)
    schedule = auto_schedule_gpu(scop, SMALL)
    assert "threads" in schedule.text
    assert_computes(scop, *schedule.trace)


@pytest.mark.parametrize("shared_bytes", [256, 4096, 48 * 1024])
def test_tiles_fit(shared_bytes):
    scop = programs.scop_of(programs.product)
    schedule = auto_schedule_gpu(scop, GpuModel())
    roles = Roles((), 0, 1, (2,), "C", ("A", "B"), (None, 40, None), is_transposed=False)
    sizes = contraction_tile_sizes(schedule, roles, GpuModel(shared=shared_bytes))
    assert shared_bytes < 4096 or sizes.columns == 40
    assert sizes.rows >= 8
    assert (sizes.rows + sizes.columns) * sizes.depth * 4 <= shared_bytes


@pytest.mark.parametrize("program", [*ALL, programs.total], ids=lambda f: f.__name__)
def test_without_shared_memory_no_array_is_moved(program):
    schedule = auto_schedule_gpu(programs.scop_of(program), GpuModel(shared=0))
    assert not any(isinstance(step, DataStep) for step in schedule.trace)


def kernels(function: Callable[..., object], *ranks: int) -> list[Kernel]:
    """Return the kernels of a function of float32 arrays."""
    types = tuple(ArrayType(DType.FLOAT32, rank, Layout.C, (False,) * rank) for rank in ranks)
    program = build(function, types)
    schedule = auto_schedule_gpu(program.scop, GpuModel())
    loops = device_loops(lower(schedule, program))
    return [node for node in all_nodes(loops.body) if isinstance(node, Kernel)]


def registers(kernel: Kernel) -> list[str]:
    found = (n for n in all_nodes(kernel.body) if isinstance(n, DeclareArray))
    return ["x".join(map(show, n.array.shape)) for n in found if n.space is Space.REGISTER]


def layer(x, w, b, y):
    y[:] = np.maximum(x @ w + b, 0)


def scaled(A, B, C):
    C[:] = 0.5 * C + 2 * (A @ B)


def three_products(A, B, C, D, E, F, G):
    E[:] = A @ B
    F[:] = C @ D
    G[:] = E @ F


def lower_half(A, C):
    for i in range(A.shape[0]):
        C[i, : i + 1] = A[: i + 1] @ A[i]


@pytest.mark.parametrize(
    ("function", "ranks", "count"),
    [
        (programs.product, (2, 2, 2), 1),
        (layer, (2, 2, 1, 2), 1),
        (scaled, (2, 2, 2), 1),
        (three_products, (2,) * 7, 3),
        (lower_half, (2, 2), 1),
        (programs.batches, (3, 3, 3), 1),
    ],
)
def test_results_start_and_end_in_registers(function, ranks: tuple[int, ...], count: int):
    found = kernels(function, *ranks)
    assert [registers(kernel) for kernel in found] == [["256x8x8"]] * count


def test_one_array_that_is_both_operands_is_copied_twice():
    schedule = auto_schedule_gpu(programs.scop_of(programs.gram), GpuModel())
    assert shared(schedule) == {
        "A_pack": "16x132",
        "A_pack2": "16x132",
        "C_pack": "128x128",
    }


def test_small_results_get_small_tiles():
    scop = programs.scop_of(programs.product)
    schedule = auto_schedule_gpu(scop, GpuModel())
    roles = Roles((), 0, 1, (2,), "C", ("A", "B"), (256, 256, None), is_transposed=False)
    sizes = contraction_tile_sizes(schedule, roles, GpuModel(processors=64))
    assert (sizes.rows, sizes.columns, sizes.own_rows) == (32, 32, 2)
    assert contraction_tile_sizes(schedule, roles, GpuModel(processors=4)).rows == 128


@pytest.mark.parametrize(
    ("device", "stages"),
    [
        (GpuModel(), [2]),
        (GpuModel(shared=16 * 1024), []),
        (GpuModel(block=4, registers=16), [3]),
    ],
)
def test_tiles_are_copied_ahead_in_stages_that_fit(device, stages):
    schedule = auto_schedule_gpu(programs.scop_of(programs.product), device)
    assert [step.stages for step in schedule.trace if isinstance(step, Pipeline)] == stages
