"""Several time steps in one tile on a device: chosen where that pays, right, proven."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt.emit.gpu import device_loops
from polyopt.emit.lower import lower
from polyopt.hosting import load_program, provider_for
from polyopt.ir.expr import Load, integer, sub
from polyopt.ir.host import DeviceProgram
from polyopt.ir.loops import Assign, Body, DeclareArray, For, Kernel, LoopFunction, Node, Space
from polyopt.ir.nodes import all_nodes
from polyopt.ir.showing import show
from polyopt.pipeline import compile_program
from polyopt.proof import certify
from polyopt.proof.barriers import check_synchronisation
from polyopt.proof.certificate import Verdict
from polyopt.proof.paths import Path
from polyopt.runtime.device.provider import Provider
from polyopt.schedule import Schedule, source_schedule
from polyopt.schedule.tree import LoopRef
from polyopt.strategy.gpu import GpuModel, auto_schedule_gpu
from polyopt.strategy.gpu.time_tiles import choose, traffic, untiled, with_step
from polyopt.targets import Options, Target, detect_machine
from polyopt.transforms import Overlap
from polyopt.transforms.overlapped_tiling import OverlapPlan
from polyopt.transforms.region import enter
from tests.gpu.mapping import stencils
from tests.gpu.passes.programs import program_of
from tests.gpu.passes.test_barriers import count_barriers, without_barrier
from tests.gpu.runtime.needs import opencl_or_skip
from tests.unit.proof.edits import edited

SIZES: dict[str, tuple[int, ...]] = {"line": (16,), "plane": (4, 8), "waves": (8,)}
"""Tiles so small that there are several at sizes that are quick to run."""


def plan_of(function: Callable[..., Any], steps: int, *sizes: int) -> OverlapPlan:
    schedule = source_schedule(program_of(function).scop)
    names = [statement.name for statement in schedule.scop.statements]
    return OverlapPlan.of(
        enter(schedule.scop, schedule.tree, LoopRef("L0", 0), names), steps, sizes
    )


def chosen(function: Callable[..., Any], device: GpuModel | None = None) -> str:
    schedule = source_schedule(program_of(function).scop)
    return str(choose(schedule, "L0", device or GpuModel()))


@cache
def mapped(function: Callable[..., Any]) -> Schedule:
    step = Overlap("L0[0]", 2, SIZES[function.__name__])
    found = with_step(source_schedule(program_of(function).scop), "L0", step)
    assert found is not None
    return found


@cache
def kernels(function: Callable[..., Any]) -> LoopFunction:
    return device_loops(lower(mapped(function), program_of(function)))


def test_bytes_for_each_element_and_time_step() -> None:
    plan = plan_of(stencils.plane, 4, 32, 64)
    assert untiled(plan).memory == 16  # two statements, each reads and writes a float32
    below, above = plan.margins("A")[0]
    assert (below, above) == (4, 4)
    assert traffic(plan).memory == (40 * 72 / (32 * 64) * 4 + 4) / 4
    assert traffic(plan).memory < untiled(plan).memory / 6


def test_the_step_that_moves_least_is_chosen() -> None:
    assert chosen(stencils.plane) == "overlap(L0[0], 8, 32, 64)"
    assert chosen(stencils.line) == "overlap(L0[0], 32, 2048)"
    assert chosen(stencils.plane, GpuModel(shared=8192)) == "overlap(L0[0], 4, 16, 32)"


@pytest.mark.parametrize("function", [stencils.in_place, stencils.scaled, stencils.blur])
def test_left_as_it_is(function: Callable[..., Any]) -> None:
    assert "overlap" not in auto_schedule_gpu(program_of(function).scop, GpuModel()).text


def test_one_launch_for_several_time_steps() -> None:
    text = auto_schedule_gpu(program_of(stencils.line).scop, GpuModel()).text
    assert "grid(L0.there[0])" in text
    loops = [n for n in all_nodes(kernels(stencils.line).body) if isinstance(n, For)]
    (pairs,) = [loop for loop in loops if loop.label == "L0.tile[0]"]
    assert [type(node) for node in pairs.body] == [Kernel, Kernel]
    found = [n for n in all_nodes(pairs.body) if isinstance(n, DeclareArray)]
    assert {n.array.name: show(n.array.shape[0]) for n in found} == {
        "A_there": "24", "B_there": "22", "A_back": "24", "B_back": "22",
    }  # fmt: skip
    assert {n.space for n in found} == {Space.SHARED}


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("function", "target"),
    [
        (stencils.line, "cuda"),
        (stencils.plane, "cuda"),
        pytest.param(stencils.plane, "opencl", marks=pytest.mark.machine),
        (stencils.waves, "cuda"),
    ],
)
def test_same_results(function: Callable[..., Any], target: str) -> None:
    if target == "opencl":
        opencl_or_skip()
    device = "emulated" if target == "cuda" else None
    kernel = po.kernel(target=target, device=device, schedule=mapped(function).text)(function)
    rank = len(program_of(function).arrays[0].shape)
    dtype = program_of(function).arrays[0].dtype.numpy
    rng = np.random.default_rng(1)
    for steps in (0, 1, 2, 5, 9):
        for size in (0, 1, 2, 3, 9, 70):
            shape = (size, 2 * size // 3)[:rank]
            A, B = rng.random((2, *shape)).astype(dtype)
            C, D = A.copy(), B.copy()
            function(steps, A, B)
            kernel(steps, C, D)
            np.testing.assert_allclose(C, A, rtol=1e-5)
            np.testing.assert_allclose(D, B, rtol=1e-5)


def refused(body: Body) -> str:
    fn = replace(kernels(stencils.waves), body=body)
    claims = certify(program_of(stencils.waves), fn).faults
    return "; ".join(f"{c.kind.value}: {c.reason}" for c in claims)


def test_a_halo_that_is_short_by_one_is_refused() -> None:
    body = kernels(stencils.waves).body
    assert refused(body) == ""
    seen: list[str] = []

    def change(node: Node) -> Node:
        if isinstance(node, For) and not seen and copies(node, "E_there"):
            seen.append(show(node.upper))
            return replace(node, upper=sub(node.upper, integer(1)))
        return node

    assert refused(edited(body, change))
    assert seen


def copies(node: For, array: str) -> bool:
    """Tell whether a loop directly copies into an array."""
    inside = [n for n in all_nodes(node.body) if isinstance(n, Assign)]
    return any(n.target.array == array and isinstance(n.value, Load) for n in inside)


def test_every_barrier_is_needed() -> None:
    fn = kernels(stencils.waves)
    path = Path(fn.params, program_of(stencils.waves).scop.context)
    assert count_barriers(fn.body) >= 6
    for number in range(count_barriers(fn.body)):
        without = replace(fn, body=without_barrier(fn.body, number))
        claims = check_synchronisation(without, path)
        assert any(claim.verdict is not Verdict.PROVEN for claim in claims), number


class Recorded:
    """A provider that notes what is asked of it."""

    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        self.calls.append(name)
        return getattr(self.provider, name)


@pytest.mark.toolchain
def test_nothing_stands_between_launches() -> None:
    options = Options(target=Target.CUDA, schedule=mapped(stencils.line).text)
    found = compile_program(program_of(stencils.line), options, detect_machine())
    assert isinstance(found.source, DeviceProgram)
    recorded = Recorded(provider_for("cuda", "emulated"))
    kernel = load_program(found.source, recorded)
    recorded.calls.clear()
    kernel.call(8, np.ones(40), np.ones(40))
    first, last = (
        recorded.calls.index("launch"),
        len(recorded.calls) - recorded.calls[::-1].index("launch"),
    )
    assert recorded.calls[first:last] == ["launch"] * 5  # a copy, and twice two turns of two steps
    assert recorded.calls.count("synchronize") == 1
