"""Finish: what one block has to do after all others is done by the last of them, in one launch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import polyopt as po
from polyopt.emit.gpu import device_loops
from polyopt.emit.lower import lower
from polyopt.emulator import DeviceFault
from polyopt.errors import ScheduleError
from polyopt.frontend import build
from polyopt.frontend.syntax.type_inference import infer_types
from polyopt.ir.expr import Iter, Load
from polyopt.ir.loops import Assign, Barrier, Body, Kernel, LoopFunction
from polyopt.ir.nodes import all_nodes, map_bodies
from polyopt.proof.certification import certify
from polyopt.schedule.schedule import source_schedule
from polyopt.transforms import Finish, parse_steps
from tests.checks import assert_round_trip
from tests.gpu.mapping import programs
from tests.gpu.mapping.changed import Device

pytestmark = pytest.mark.usefixtures("changed_device")

FOUR = """
deal(L0[0], 64); deal(L0[1], 4); interchange(L0[0], L0[1])
rfactor(S1, L0[0]); rfactor(S1, L0.inner[0])
strip(result_part_join[0], 32); rfactor(result_part_join, result_part_join[0])
threads(L0.inner[0]); threads(result_part_join[0])
combine(result_part_join.inner[0]); combine(result_part_join2[0]); grid(L0[0])
"""
IN_ORDER = f"{FOUR}; finish(result_join)"
JOINED = f"{FOUR}; combine(result_join[0]); finish(result_join)"
BY_WARPS = f"""
{FOUR.replace("deal(L0[1], 4)", "deal(L0[1], 64)")}; strip(result_join[0], 32)
rfactor(result_join, result_join[0]); threads(result_join[0])
combine(result_join.inner[0]); combine(result_join2[0]); finish(result_join)
"""


def total(x: po.f64[N]):  # noqa: F821
    return np.sum(x)


def loops_of(steps: str, conditional: bool = True) -> LoopFunction:
    program = build(total, infer_types(total))
    schedule = source_schedule(program.scop).apply(*parse_steps(steps))
    return device_loops(lower((schedule,), program), conditional)


def test_text():
    assert_round_trip(Finish("L1"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("finish(L0)", "no nest before"),
        ("grid(L0); finish(L0)", "several blocks"),
        ("strip(i, 8); grid(L0[0]); finish(L0)", "several blocks"),
    ],
)
def test_refusals(text: str, words: str):
    scop = programs.scop_of(programs.in_order)
    with pytest.raises(ScheduleError) as refused:
        source_schedule(scop).apply(*parse_steps(text))
    assert refused.value.code == "PO0345"
    assert words in str(refused.value)


@pytest.mark.parametrize("steps", [IN_ORDER, JOINED, BY_WARPS], ids=["one", "warp", "warps"])
def test_one_launch_is_proven(steps: str):
    function = loops_of(steps)
    (kernel,) = (node for node in function.body if isinstance(node, Kernel))
    assert kernel.finish
    assert certify(build(total, infer_types(total)), function).is_proven
    assert len(loops_of(steps, conditional=False).body) == 2


@pytest.mark.toolchain
@pytest.mark.parametrize("steps", [IN_ORDER, BY_WARPS], ids=["one", "warps"])
def test_same_sums(steps: str):
    kernel = po.kernel(target="cuda", device="emulated", schedule=steps)(total)
    for size in (0, 1, 65, 300, 5000):
        x = np.random.default_rng(size).integers(-99, 99, size).astype(np.float64)
        assert kernel(x) == x.sum()


LAST = "        __threadfence();\n        is_last_ ="


@pytest.mark.toolchain
@pytest.mark.parametrize(
    "change",
    [
        (LAST, "        is_last_ ="),
        ("    }\n    __syncthreads();\n    if (is_last_)", "    }\n    if (is_last_)"),
        ("atomicInc(ended_, gridDim.x * gridDim.y * gridDim.z - 1)", "ended_[0]++"),
    ],
    ids=["no fence", "no wait", "no atomic"],
)
def test_the_emulator_sees_what_is_missing(change: tuple[str, str]):
    Device.change = change
    x = np.random.default_rng(0).random(300)
    kernel = po.kernel(target="cuda", device="emulated", schedule=JOINED)(total)
    with pytest.raises(DeviceFault) as caught:
        kernel(x)
    assert any(finding.kind.is_race for finding in caught.value.findings)


def in_finish(body: Body, change: Callable[[Body], Body]) -> Body:
    return tuple(
        replace(node, finish=change(node.finish)) if isinstance(node, Kernel) else node
        for node in body
    )


def without_barriers(body: Body) -> Body:
    kept = (node for node in body if not isinstance(node, Barrier))
    return tuple(map_bodies(n, without_barriers) for n in kept)


def of_its_block(body: Body) -> Body:
    """Return a body that reads what the last block alone has made."""
    assign = next(n for n in all_nodes(body) if isinstance(n, Assign) and n.statement == "S0")
    part = Load("result_part", (Iter("i_tile_lane"),), assign.target.dtype)
    return (*body, replace(assign, value=part, statement=""))


@pytest.mark.parametrize(
    "change",
    [without_barriers, of_its_block, lambda body: body[:1]],
    ids=["barrier", "own", "rest"],
)
def test_the_certificate_refuses(change: Callable[[Body], Body]):
    function = loops_of(BY_WARPS)
    changed = replace(function, body=in_finish(function.body, change))
    assert not certify(build(total, infer_types(total)), changed).is_proven


def test_a_kernel_of_more_threads_is_not_fused():
    function = loops_of(BY_WARPS.replace("deal(L0[1], 64)", "deal(L0[1], 128)"))
    assert [type(node) for node in function.body] == [Kernel, Kernel]
