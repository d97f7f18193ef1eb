"""Stencils on a device: halo tiles in shared memory where they pay, exact at the borders."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import polyopt as po
from polyopt.emit.gpu import device_loops
from polyopt.emit.lower import lower
from polyopt.ir.expr import integer, sub
from polyopt.ir.loops import (
    Assign,
    Body,
    DeclareArray,
    For,
    If,
    LoopFunction,
    LoopKind,
    Node,
    Space,
)
from polyopt.ir.nodes import all_nodes
from polyopt.ir.showing import show
from polyopt.proof import certify
from polyopt.schedule import source_schedule
from polyopt.strategy.gpu import GpuModel, auto_schedule_gpu
from polyopt.strategy.gpu.thread_coarsening import iterations_per_thread, loads_per_thread
from tests.gpu.mapping import stencils
from tests.gpu.passes.programs import program_of
from tests.gpu.passes.test_barriers import count_barriers, without_barrier
from tests.gpu.runtime.needs import opencl_or_skip
from tests.unit.proof.edits import edited

SIZES = [(0, 0), (1, 1), (1, 40), (2, 2), (3, 3), (11, 35), (33, 70)]


def kernels(function, device: GpuModel | None = None) -> LoopFunction:
    program = program_of(function)
    schedule = auto_schedule_gpu(program.scop, device or GpuModel())
    return device_loops(lower(schedule, program))


def shared(fn: LoopFunction) -> dict[str, str]:
    found = [n for n in all_nodes(fn.body) if isinstance(n, DeclareArray)]
    shapes = {n.array.name: n.array.shape for n in found if n.space is Space.SHARED}
    return {name: "x".join(map(show, shape)) for name, shape in shapes.items()}


def test_a_tile_and_its_halo_are_shared() -> None:
    assert shared(kernels(stencils.blur)) == {"A_pack": "34x34"}


def test_few_reads_of_an_element_are_left_to_caches() -> None:
    assert shared(kernels(stencils.five_points)) == {}


@pytest.mark.toolchain
@pytest.mark.parametrize("target", ["cuda", pytest.param("opencl", marks=pytest.mark.machine)])
def test_halos_at_every_size(target: str) -> None:
    if target == "opencl":
        opencl_or_skip()
    device = "emulated" if target == "cuda" else None
    on_device = po.kernel(target=target, device=device)(stencils.blur)
    rng = np.random.default_rng(1)
    for shape in SIZES:
        A = rng.random(shape, dtype=np.float32)
        B = rng.random(shape, dtype=np.float32)
        wanted = B.copy()
        stencils.blur(A, wanted)
        on_device(A, B)
        np.testing.assert_allclose(B, wanted, rtol=1e-6)


def refused(body: Body) -> str:
    fn = replace(kernels(stencils.blur), body=body)
    claims = certify(program_of(stencils.blur), fn).faults
    return "; ".join(f"{c.kind.value}: {c.reason}" for c in claims)


def is_copy(node: Node) -> bool:
    return any(isinstance(n, Assign) and n.target.array == "A_pack" for n in all_nodes((node,)))


def test_a_halo_that_is_short_by_one_is_refused() -> None:
    body = kernels(stencils.blur).body
    assert refused(body) == ""

    def change(node: Node) -> Node:
        if isinstance(node, For) and is_copy(node) and "34" in show(node.upper):
            return replace(node, upper=sub(node.upper, integer(1)))
        return node

    assert refused(edited(body, change))


def test_a_border_that_is_not_seen_is_refused() -> None:
    body = kernels(stencils.blur).body
    tests = sum(isinstance(node, If) for node in all_nodes(body))
    assert tests > 3
    for number in range(1, tests):  # all but the one around the kernel
        assert refused(without_test(body, number)), number


def without_test(body: Body, number: int) -> Body:
    """Return `body` without the condition that has this number from the end."""
    left = [sum(isinstance(node, If) for node in all_nodes(body)) - number]

    def change(node: Node) -> Node | Body:
        if isinstance(node, If):
            left[0] -= 1
            if left[0] == 0:
                return node.then
        return node

    return edited(body, change)


def test_every_barrier_is_needed() -> None:
    body = kernels(stencils.blur).body
    assert count_barriers(body) == 1
    assert refused(without_barrier(body, 0)).startswith("synchronisation")


def test_threads_are_coarsened_where_they_reuse_rows() -> None:
    text = auto_schedule_gpu(program_of(stencils.five_points).scop, GpuModel()).text
    assert "tile(L0, 32, 32);\ntile(L0.point, 4, 1)" in text
    (loop,) = {n.iter for n in all_nodes(kernels(stencils.five_points).body) if is_unrolled(n)}
    assert loop == "i"


def is_unrolled(node: Node) -> bool:
    return isinstance(node, For) and node.kind is LoopKind.UNROLL and "4" in show(node.upper)


def test_loads_of_a_thread() -> None:
    schedule = source_schedule(program_of(stencils.five_points).scop)
    assert loads_per_thread(schedule, "L0", (1, 1)) == {"A": 5}
    assert loads_per_thread(schedule, "L0", (4, 1)) == {"A": 14}
    assert iterations_per_thread(schedule, "L0", 2) == (4, 1)


@pytest.mark.parametrize("function", [stencils.copied, stencils.across])
def test_no_thread_reuses_elements(function) -> None:
    schedule = source_schedule(program_of(function).scop)
    assert iterations_per_thread(schedule, "L0", 2) == (1, 1)
