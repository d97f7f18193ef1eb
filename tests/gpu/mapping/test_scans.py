"""Scans: recurrences whose terms may be grouped, made by all threads of a block, or by many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import polyopt as po
import polyopt.emulator
from polyopt.emit.gpu import device_loops
from polyopt.emit.gpu.scan_printer import BLOCKS, TILE, part_count, part_length
from polyopt.emit.lower import lower
from polyopt.emulator import DeviceFault, EmulatedProvider
from polyopt.errors import ScheduleError
from polyopt.frontend import build
from polyopt.frontend.syntax.annotations import ArrayType
from polyopt.hosting.devices import provider_for
from polyopt.ir.expr import Binary, BinaryOp, Const, Expr, Iter, Load, integer
from polyopt.ir.integers import evaluate
from polyopt.ir.loops import Assign, Barrier, Body, For, Kernel, LoopFunction, LoopKind
from polyopt.ir.nodes import all_nodes, bodies, map_bodies, with_bodies
from polyopt.ir.program import Program
from polyopt.ir.scan import NoScan, scan_of
from polyopt.ir.source import Layout
from polyopt.ir.types import DType
from polyopt.proof.certification import certify
from polyopt.runtime.device.provider import Log, Module, no_log
from polyopt.schedule.reductions import reassociated
from polyopt.schedule.schedule import source_schedule
from polyopt.strategy.gpu import GpuModel, auto_schedule_gpu
from polyopt.transforms import Scan, parse_steps
from tests.checks import assert_round_trip
from tests.gpu.runtime.needs import opencl_or_skip

Array = npt.NDArray[Any]


def sums(x: Array) -> Array:
    return np.cumsum(x)


def row_sums(A: Array) -> Array:
    return np.cumsum(A, axis=1)


def peaks(x: Array, y: Array) -> None:
    for i in range(1, x.shape[0]):
        y[i] = max(y[i - 1], x[i])


def backwards(x: Array, y: Array) -> None:
    for i in range(x.shape[0] - 2, -1, -1):
        y[i] = 3 * x[i] + y[i + 1]


def scaled(x: Array, y: Array) -> None:
    for i in range(1, x.shape[0]):
        y[i] = 2 * y[i - 1] + x[i]


def by_two(x: Array, y: Array) -> None:
    for i in range(2, x.shape[0]):
        y[i] = y[i - 2] + x[i]


def column(A: Array) -> None:
    for i in range(1, A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] += A[i - 1, j]


def program_of(function: Callable[..., object], *ranks: int, dtype: DType = DType.INT64) -> Program:
    types = (ArrayType(dtype, rank, Layout.C, (False,) * rank) for rank in ranks)
    return build(function, tuple(types))


def scanned(program: Program) -> list[str]:
    """Return the loops that the automatic schedule has scanned."""
    schedule = auto_schedule_gpu(program.scop, GpuModel())
    return [step.loop for step in schedule.trace if isinstance(step, Scan)]


def test_text():
    assert_round_trip(Scan("L0[1]"))


@pytest.mark.parametrize(
    ("function", "ranks"), [(sums, (1,)), (row_sums, (2,)), (peaks, (1, 1)), (backwards, (1, 1))]
)
def test_whole_numbers_are_scanned(function: Callable[..., object], ranks: tuple[int, ...]):
    assert len(scanned(program_of(function, *ranks))) == 1


@pytest.mark.parametrize("function", [scaled, by_two])
def test_other_recurrences_are_not(function: Callable[..., object]):
    assert not scanned(program_of(function, 1, 1))


def planes(A: Array) -> Array:
    return np.cumsum(A, axis=1)


def test_rows_across_memory_are_not_scanned():
    assert not scanned(program_of(planes, 3))
    assert not scanned(program_of(column, 2))


def test_floats_keep_their_order_unless_it_is_open():
    program = program_of(sums, 1, dtype=DType.FLOAT32)
    assert not scanned(program)
    assert scanned(reassociated(program))


@pytest.mark.parametrize(
    ("function", "steps", "words"),
    [
        (scaled, "scan(L0)", "no recurrence"),
        (by_two, "scan(L0)", "skips iterations"),
        (column, "scan(L0[0])", "innermost"),
        (column, "interchange(i, j); threads(L0[0]); scan(L0[1])", "threads of a block"),
        (peaks, "strip(i, 8); scan(L0[0])", "innermost"),
    ],
)
def test_refusals(function: Callable[..., object], steps: str, words: str):
    program = program_of(function, *((2,) if function is column else (1, 1)))
    with pytest.raises(ScheduleError, match=words) as refused:
        source_schedule(program.scop).apply(*parse_steps(steps))
    assert refused.value.code == "PO0346"


def test_float_sums_are_refused_in_strict_mode():
    program = program_of(sums, 1, dtype=DType.FLOAT64)
    with pytest.raises(ScheduleError, match="last bits"):
        source_schedule(program.scop).apply(Scan("L0"))
    source_schedule(reassociated(program).scop).apply(Scan("L0"))


@pytest.mark.toolchain
def test_processors_keep_the_order():
    x = np.random.default_rng(5).random(400)
    kernel = po.kernel(schedule="scan(L0)", fp="reassociate")(sums)
    assert np.array_equal(kernel(x), np.cumsum(x))


# -- the form


TARGET = Load("y", (Iter("i"),), DType.INT64)
BEFORE = Load("y", (Binary(BinaryOp.SUB, Iter("i"), integer(1), DType.INT64),), DType.INT64)
TERM = Load("x", (Iter("i"),), DType.INT64)


def loop_of(target: Load, value: Expr) -> For:
    assign = Assign(target, value, "S0", (Iter("i"),))
    return For("i", integer(1), integer(9), 1, LoopKind.SCAN, (assign,))


def plus(one: Expr, two: Expr, op: BinaryOp = BinaryOp.ADD) -> Binary:
    return Binary(op, one, two, DType.INT64)


def test_the_form_of_a_scan():
    for value in (plus(BEFORE, TERM), plus(TERM, BEFORE)):
        found = scan_of(loop_of(TARGET, value))
        assert (found.before, found.term, found.op) == (BEFORE, TERM, BinaryOp.ADD)


HALF = Binary(BinaryOp.FLOORDIV, Iter("i"), integer(2), DType.INT64)


@pytest.mark.parametrize(
    "loop",
    [
        loop_of(TARGET, plus(BEFORE, TERM, BinaryOp.SUB)),
        loop_of(TARGET, plus(BEFORE, plus(TERM, TARGET))),
        loop_of(TARGET, plus(TARGET, TERM)),
        loop_of(TARGET, BEFORE),
        loop_of(replace(TARGET, index=(HALF,)), plus(replace(BEFORE, index=(HALF,)), TERM)),
        loop_of(replace(TARGET, index=(TERM,)), plus(replace(BEFORE, index=(TERM,)), TERM)),
        replace(loop_of(TARGET, plus(BEFORE, TERM)), step=2),
        replace(loop_of(TARGET, plus(BEFORE, TERM)), upper=TERM),
        replace(loop_of(TARGET, plus(BEFORE, TERM)), body=()),
    ],
)
def test_what_is_no_scan(loop: For):
    with pytest.raises(NoScan):
        scan_of(loop)


@pytest.mark.parametrize("length", [0, 1, 1024, 1025, BLOCKS * TILE, BLOCKS * TILE + 1, 10**9])
def test_parts_are_whole_tiles_of_few_blocks(length: int):
    loop = loop_of(TARGET, plus(BEFORE, TERM))
    scan = scan_of(replace(loop, upper=Const(length + 1, DType.INT64)))
    size, count = evaluate(part_length(scan), {}), evaluate(part_count(scan), {})
    assert size % TILE == 0
    assert count <= BLOCKS
    assert (count - 1) * size < length <= count * size or length == count == 0


# -- the certificate


def loops_of(program: Program, steps: str) -> LoopFunction:
    schedule = source_schedule(program.scop).apply(*parse_steps(steps))
    return device_loops(lower((schedule,), program))


def edited(body: Body, change: Callable[[Any], Any]) -> Body:
    inner = (map_bodies(n, edited, change) for n in body)
    return tuple(map(change, inner))


def test_blocks_wait_before_another_scan_reads():
    """A second scan in the block reads what the first has made."""
    program = program_of(twice, 2, 2, 2)
    function = loops_of(program, "fuse(L0, L1, 1); grid(L0); scan(L0.inner); scan(L1)")
    assert any(isinstance(node, Barrier) for node in all_nodes(function.body))
    assert certify(program, function).is_proven
    kept = edited(function.body, without_barriers)
    assert not certify(program, replace(function, body=kept)).is_proven


def twice(A: Array, B: Array, C: Array) -> None:
    for i in range(A.shape[0]):
        for j in range(1, A.shape[1]):
            B[i, j] = B[i, j - 1] + A[i, j]
    for i in range(A.shape[0]):
        for j in range(1, A.shape[1]):
            C[i, j] = C[i, j - 1] + B[i, A.shape[1] - j]


def without_barriers(node: Any) -> Any:
    parts = (tuple(n for n in p if not isinstance(n, Barrier)) for p in bodies(node))
    return with_bodies(node, tuple(parts))


def other_operation(node: Any) -> Any:
    if isinstance(node, Assign) and node.statement == "S1":
        assert isinstance(node.value, Binary)
        return replace(node, value=replace(node.value, op=BinaryOp.XOR))
    return node


def of_some_threads(node: Any) -> Any:
    return replace(node, threads=96) if isinstance(node, Kernel) else node


def by_a_thread(node: Any) -> Any:
    if isinstance(node, For) and node.kind is LoopKind.BLOCK and node.body[0] != node:
        return replace(node, body=(replace(node, iter="one", kind=LoopKind.THREAD),))
    return node


@pytest.mark.parametrize("change", [other_operation, of_some_threads, by_a_thread])
def test_the_certificate_refuses(change: Callable[[Any], Any]):
    program = program_of(row_sums, 2)
    function = loops_of(program, "grid(L1[0]); scan(L1[1])")
    assert certify(program, function).is_proven
    changed = replace(function, body=edited(function.body, change))
    assert not certify(program, changed).is_proven


def test_the_certificate_knows_whose_order_is_open():
    strict = program_of(row_sums, 2, dtype=DType.FLOAT64)
    free = reassociated(strict)
    function = loops_of(free, "grid(L1[0]); scan(L1[1])")
    assert certify(free, function).is_proven
    assert not certify(strict, function).is_proven


# -- results


@pytest.mark.toolchain
def test_no_opencl_is_needed_to_tell():
    assert "shfl" not in po.kernel(target="opencl")(sums).compile(np.zeros(4, np.int64)).source


SIZES = (0, 1, 2, 1025, 2 * TILE + 77)


def assert_scans(target: str, device: str | None) -> None:
    kernel = po.kernel(target=target, device=device)
    one, rows = kernel(sums), kernel(row_sums)
    for size in SIZES:
        rng = np.random.default_rng(size)
        x = rng.integers(-(2**62), 2**62, size)
        assert np.array_equal(one(x), np.cumsum(x))
        A = rng.integers(-99, 99, (3, size)).astype(np.int32)
        assert np.array_equal(rows(A), np.cumsum(A, axis=1))


@pytest.mark.toolchain
def test_emulated():
    assert_scans("cuda", "emulated")


@pytest.mark.toolchain
@pytest.mark.parametrize("function", [peaks, backwards])
def test_floats_emulated(function: Callable[..., object]):
    x = np.random.default_rng(3).integers(-99, 99, 1300).astype(np.float32)
    ours, theirs = np.zeros(1300, np.float32), np.zeros(1300, np.float32)
    po.kernel(target="cuda", device="emulated", fp="reassociate")(function)(x, ours)
    function(x, theirs)
    assert np.array_equal(ours, theirs)


class Device(EmulatedProvider):
    """A device that loses a barrier of what it compiles."""

    lost = -1
    barriers = 0

    def compile(
        self, text: str, entries: Sequence[str], flags: tuple[str, ...] = (), log: Log = no_log
    ) -> Module:
        before, *parts = text.split("__syncthreads();")
        Device.barriers = len(parts)
        kept = ("" if n == Device.lost else "__syncthreads();" for n in range(len(parts)))
        text = before + "".join(wait + part for wait, part in zip(kept, parts, strict=True))
        return super().compile(text, entries, flags, log)


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("function", "shape"), [(row_sums, (1, 2 * TILE + 9)), (sums, (TILE + 9,))]
)
def test_no_barrier_of_a_scan_can_be_lost(
    function: Callable[..., object], shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(polyopt.emulator, "EmulatedProvider", Device)
    provider_for.cache_clear()  # of tests before this one
    values = np.ones(shape, np.int64)
    last = 1 if function is sums else 0  # the end of a tile: each block has one alone
    po.kernel(target="cuda", device="emulated")(function).compile(values)
    number = -1
    while number < Device.barriers - last:
        monkeypatch.setattr(Device, "lost", number)
        provider_for.cache_clear()
        kernel = po.kernel(target="cuda", device="emulated")(function)
        if number < 0:
            kernel(values)
        else:
            with pytest.raises(DeviceFault):
                kernel(values)
        number += 1
    provider_for.cache_clear()
    assert number > 2


@pytest.mark.machine
def test_opencl():
    opencl_or_skip()
    assert_scans("opencl", None)
