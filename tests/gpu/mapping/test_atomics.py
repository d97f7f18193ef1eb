"""Atomic updates: histograms by all threads, and sums to which every block adds its own part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import polyopt as po
from polyopt.emit.gpu import device_loops
from polyopt.emit.lower import lower
from polyopt.emulator import DeviceFault
from polyopt.errors import EmitError, IllegalSchedule, ScheduleError
from polyopt.frontend import build
from polyopt.frontend.syntax.annotations import ArrayType
from polyopt.ir.expr import Binary, BinaryOp, Load, integer
from polyopt.ir.loops import Assign, For, Kernel, LoopFunction, LoopKind
from polyopt.ir.nodes import all_nodes
from polyopt.ir.program import Program
from polyopt.ir.source import Layout
from polyopt.ir.types import DType
from polyopt.proof.certification import certify
from polyopt.schedule.schedule import source_schedule
from polyopt.strategy.gpu import GpuModel, auto_schedule_gpu
from polyopt.transforms import Atomic, parse_steps
from tests.checks import assert_round_trip
from tests.gpu.mapping.changed import Device
from tests.gpu.mapping.test_scans import edited
from tests.gpu.runtime.needs import opencl_or_skip

pytestmark = pytest.mark.usefixtures("changed_device")

Array = npt.NDArray[Any]
STEPS = "distribute(L0, 1); tile(L0.1, 64); atomic(S1); threads(L0.1.point); grid(L0.1.tile)"
ADDED = """
deal(L0[0], 64); deal(L0[1], 4); interchange(L0[0], L0[1])
rfactor(S1, L0[0]); rfactor(S1, L0.inner[0]); fuse(L0, result_join, 1)
threads(L0.inner[0]); atomic(result_join); grid(L0[0])
"""


def histogram(idx: Array, h: Array) -> None:
    for i in range(idx.shape[0]):
        h[idx[i]] += 1


def weighted(idx: Array, w: Array, h: Array) -> None:
    for i in range(idx.shape[0]):
        h[idx[i]] += w[i]


def total(x: Array) -> Array:
    return np.sum(x)


def doubled(idx: Array, h: Array) -> None:
    for i in range(idx.shape[0]):
        h[idx[i]] = 2 * h[idx[i]]


def crossed(idx: Array, h: Array) -> None:
    for i in range(idx.shape[0]):
        h[idx[i]] += h[0]


def program_of(function: Callable[..., object], *dtypes: DType) -> Program:
    return build(function, tuple(ArrayType(d, 1, Layout.C, (False,)) for d in dtypes))


WHOLE = (DType.INT64, DType.INT64)


def loops_of(program: Program, steps: str = STEPS) -> LoopFunction:
    schedule = source_schedule(program.scop).apply(*parse_steps(steps))
    return device_loops(lower((schedule,), program))


def test_text():
    assert_round_trip(Atomic("S1"))


@pytest.mark.parametrize(
    ("function", "dtypes", "statement", "words"),
    [
        (histogram, WHOLE, "S7", "there is no statement"),
        (doubled, WHOLE, "S1", "does not go on"),
        (crossed, WHOLE, "S2", "elsewhere"),
        (histogram, (DType.INT64, DType.INT16), "S1", "no atomic"),
        (weighted, (DType.INT64, DType.FLOAT32, DType.FLOAT32), "S1", "last bits"),
    ],
)
def test_refusals(
    function: Callable[..., object], dtypes: tuple[DType, ...], statement: str, words: str
):
    program = program_of(function, *dtypes)
    names = [s.name for s in program.scop.statements]
    chosen = statement if statement == "S7" else names[-1]
    with pytest.raises(ScheduleError, match=words) as refused:
        source_schedule(program.scop).apply(Atomic(chosen))
    assert refused.value.code == "PO0347"


def test_processors_have_no_part_in_it():
    scop = program_of(histogram, *WHOLE).scop
    for step in ("parallelize(L0.1)", "vectorize(L0.1)"):
        with pytest.raises(IllegalSchedule):
            source_schedule(scop).apply(*parse_steps(f"distribute(L0, 1); atomic(S1); {step}"))


def test_the_automatic_schedule_has_histograms_on_the_grid():
    schedule = auto_schedule_gpu(program_of(histogram, *WHOLE).scop, GpuModel())
    assert any(isinstance(step, Atomic) for step in schedule.trace)
    for program, device in (
        (program_of(histogram, *WHOLE), GpuModel(atomics=False)),
        (program_of(weighted, DType.INT64, DType.FLOAT32, DType.FLOAT32), GpuModel()),
    ):
        trace = auto_schedule_gpu(program.scop, device).trace
        assert not any(isinstance(step, Atomic) for step in trace)


# -- the certificate


def plain(node: Any) -> Any:
    return replace(node, is_atomic=False) if isinstance(node, Assign) else node


def parallel(node: Any) -> Any:
    """Return loops that processors share instead of a kernel's."""
    if isinstance(node, Kernel):
        return node.body[0]
    if isinstance(node, For) and node.kind is LoopKind.BLOCK:
        return replace(node, kind=LoopKind.PARALLEL)
    if isinstance(node, For) and node.kind is LoopKind.THREAD:
        return replace(node, kind=LoopKind.SEQUENTIAL)
    return node


def reading(node: Any) -> Any:
    """Return an update that reads what others update."""
    if isinstance(node, Assign) and node.is_atomic:
        assert isinstance(node.value, Binary)
        other = Load(node.target.array, (integer(0),), node.target.dtype)
        return replace(node, value=replace(node.value, right=other))
    return node


def other_operation(node: Any) -> Any:
    if isinstance(node, Assign) and node.is_atomic:
        assert isinstance(node.value, Binary)
        return replace(node, value=replace(node.value, op=BinaryOp.MUL))
    return node


@pytest.mark.parametrize("change", [plain, parallel, reading, other_operation])
@pytest.mark.parametrize("kind", ["histogram", "sum"])
def test_the_certificate_refuses(change: Callable[[Any], Any], kind: str):
    program = program_of(histogram, *WHOLE) if kind == "histogram" else program_of(total, WHOLE[0])
    function = loops_of(program, STEPS if kind == "histogram" else ADDED)
    assert any(isinstance(n, Assign) and n.is_atomic for n in all_nodes(function.body))
    assert certify(program, function).is_proven
    changed = replace(function, body=edited(function.body, change))
    assert not certify(program, changed).is_proven


# -- results


@pytest.mark.toolchain
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_histograms_emulated(dtype: type):
    kernel = po.kernel(target="cuda", device="emulated")(histogram)
    for size in (0, 1, 700):
        idx = np.random.default_rng(size).integers(-5, 5, size)
        ours, theirs = np.zeros(5, dtype), np.zeros(5, dtype)
        kernel(idx, ours)
        histogram(idx, theirs)
        assert np.array_equal(ours, theirs)


@pytest.mark.toolchain
def test_blocks_add_up_emulated():
    kernel = po.kernel(target="cuda", device="emulated", schedule=ADDED)(total)
    for size in (0, 1, 65, 999):
        x = np.random.default_rng(size).integers(-99, 99, size).astype(np.float64)
        assert kernel(x) == x.sum()


@pytest.mark.toolchain
def test_the_emulator_sees_updates_that_are_not_atomic():
    Device.change = ("atomicAdd(&h[idx_[i] < 0 ? idx_[i] + h_0_ : idx_[i]], 1)", "h[idx_[i]] += 1")
    kernel = po.kernel(target="cuda", device="emulated", schedule=STEPS)(histogram)
    with pytest.raises(DeviceFault) as caught:
        kernel(np.zeros(200, np.int64), np.zeros(5, np.int32))
    assert any(finding.kind.is_race for finding in caught.value.findings)


@pytest.mark.machine
def test_opencl():
    opencl_or_skip()
    kernel = po.kernel(target="opencl", schedule=STEPS)(histogram)
    idx = np.random.default_rng(0).integers(-5, 5, 700)
    ours, theirs = np.zeros(5, np.int64), np.zeros(5, np.int64)
    kernel(idx, ours)
    histogram(idx, theirs)
    assert np.array_equal(ours, theirs)


@pytest.mark.toolchain
def test_opencl_has_none_of_floats():
    with pytest.raises(EmitError, match="no atomic"):
        po.kernel(target="opencl", schedule=ADDED)(total).compile(np.zeros(9))
