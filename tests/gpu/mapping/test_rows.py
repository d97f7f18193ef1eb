# ruff: noqa: F821, UP037
"""Programs of rows on a device: one kernel, a block or a warp for each row."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import polyopt as po
import polyopt.emulator
from polyopt.dataclass import replace
from polyopt.emit.gpu import device_loops
from polyopt.emit.lower import lower
from polyopt.emulator import DeviceFault, EmulatedProvider
from polyopt.errors import IllegalSchedule
from polyopt.frontend import build
from polyopt.frontend.syntax.type_inference import infer_types
from polyopt.hosting.devices import provider_for
from polyopt.ir.expr import Binary, BinaryOp, Load
from polyopt.ir.extremum import Update
from polyopt.ir.loops import Assign, LoopKind, Node
from polyopt.ir.nodes import map_inner
from polyopt.ir.scop import Scop
from polyopt.pipeline import with_mode
from polyopt.proof import certify
from polyopt.runtime.device.provider import Log, Module, no_log
from polyopt.schedule import source_schedule
from polyopt.schedule.tree import bands
from polyopt.strategy.gpu import GpuModel, auto_schedule_gpu
from polyopt.targets import FpMode, Options
from polyopt.transforms import Combine, Grid, Recompute, Tile, parse_steps
from tests.checks import assert_computes, assert_round_trip
from tests.texts import bare

SMALL = GpuModel(block=8, warp=4)


def softmax(x: po.f32["N,M"], out: po.f32["N,M"]):
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    out[:] = e / np.sum(e, axis=1, keepdims=True)


def layernorm(x: po.f32["N,M"], g: po.f32["M"], b: po.f32["M"], out: po.f32["N,M"]):
    mean = np.mean(x, axis=1, keepdims=True)
    spread = np.mean((x - mean) ** 2, axis=1, keepdims=True)
    out[:] = (x - mean) / np.sqrt(spread + 1e-5) * g + b


def entropy(x: po.f32["N,M"], label: po.i64["N"], out: po.f32["N"]):
    most = np.max(x, axis=1)
    total = np.sum(np.exp(x - most[:, None]), axis=1)
    for i in range(x.shape[0]):
        out[i] = np.log(total[i]) + most[i] - x[i, label[i]]


def heads(x: po.f32["B,N,M"], out: po.f32["B,N,M"]):
    out[:] = x / np.sqrt(np.mean(x * x, axis=2, keepdims=True))


def short(x: po.f32["N,40"], out: po.f32["N,40"]):
    out[:] = x - np.max(x, axis=1, keepdims=True)


def sums(x: po.f32["N,M"], out: po.f32["N"]):
    out[:] = np.sum(x, axis=1)


PROGRAMS = (softmax, layernorm, entropy, heads, short, sums)


def scop_of(function: Callable[..., Any]) -> Scop:
    return build(function, infer_types(function)).scop


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_one_kernel(program: Callable[..., Any]) -> None:
    trace = auto_schedule_gpu(scop_of(program), GpuModel()).trace
    assert sum(isinstance(step, Grid) for step in trace) == 1
    assert any(isinstance(step, Combine) for step in trace)
    assert any(isinstance(step, Tile) for step in trace) == (program is short)


@pytest.mark.parametrize("program", [layernorm, heads, short], ids=lambda f: f.__name__)
def test_same_results(program: Callable[..., Any]) -> None:
    scop = scop_of(program)
    assert_computes(scop, *auto_schedule_gpu(scop, SMALL).trace)


@pytest.mark.toolchain
def test_what_is_made_of_a_row_is_not_stored() -> None:
    scop = scop_of(softmax)
    schedule = auto_schedule_gpu(scop, GpuModel())
    assert {s.array for s in schedule.trace if isinstance(s, Recompute)} >= {"e"}
    assert not any(s.target.array == "e" for s in schedule.scop.statements)
    pointers = parameters(softmax)
    assert [name for name in pointers if name not in ("x", "out")] == []


def parameters(program: Callable[..., Any]) -> list[str]:
    """Return the names of the arrays that the kernels of a program are passed."""
    kernel = po.kernel(target="cuda", device="emulated")(program)
    text = kernel.compile().source
    return re.findall(r"\*__restrict__ (\w+)", bare(text))


def test_columns_are_no_rows() -> None:
    def program(x: po.f32["N,M"], out: po.f32["M"]):
        out[:] = np.sum(x, axis=0)

    assert not any(isinstance(s, Combine) for s in auto_schedule_gpu(scop_of(program), SMALL).trace)


def test_an_order_that_counts_is_kept() -> None:
    def program(x: po.f32["N,M"], out: po.f32["N"]):
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                out[i] += x[i, j]

    scop = scop_of(program)
    assert not any(isinstance(s, Combine) for s in auto_schedule_gpu(scop, SMALL).trace)
    with pytest.raises(IllegalSchedule) as refused:
        source_schedule(scop).apply(Combine("j"))
    assert refused.value.code == "PO0312"
    assert refused.value.hint is not None
    assert "combine(i)" in refused.value.hint


def test_text() -> None:
    assert_round_trip(Combine("j"))
    assert parse_steps("combine(L0[1])") == (Combine("L0[1]"),)


def test_a_join_is_combined_whatever_its_order() -> None:
    schedule = source_schedule(scop_of(sums)).apply(*parse_steps(DEALT), Combine("out_join[0]"))
    kinds = [member.kind for band in bands(schedule.tree) for member in band.members]
    assert LoopKind.LANE in kinds


DEALT = "deal(L1[1], 4); rfactor(S1, L1[1])"


def four(x: po.f64["N,M"], a: po.f64["N"], b: po.f64["N"], c: po.f64["N"], d: po.i64["N"],
         y: po.i64["N,M"]):  # fmt: skip
    a[:] = np.sum(x, axis=1)
    b[:] = np.max(x, axis=1)
    c[:] = np.min(x, axis=1)
    d[:] = np.sum(y, axis=1)


def in_blocks(number: int, start: int, array: str, threads: int) -> str:
    """Return the steps for one sum of `four`, by so many threads."""
    join, parts = (
        f"{array}_join",
        f"deal(L{number}[1], {threads}); rfactor(S{number}, L{number}[1])",
    )
    joins = f"combine({join}[0])"
    if threads > 32:
        parts += f"; strip({join}[0], 32); rfactor({join}, {join}[0])"
        joins = f"threads({join}); combine({join}.inner[0]); combine({join}2[0])"
    whole = f"fuse(L{start}, L{number}, 1); threads(L{number}.inner2); {joins}; grid(L{start})"
    return f"{parts}; {whole}"


BLOCKS = "; ".join(
    in_blocks(2 * k + 1, 2 * k, "abcd"[k], threads) for k, threads in enumerate((32, 64, 128, 256))
)


@pytest.mark.toolchain
@pytest.mark.parametrize("target", ["cuda", pytest.param("opencl", marks=pytest.mark.machine)])
def test_every_length(target: str) -> None:
    """All lengths that fill no warp, one or two; masks are checked where there are any."""
    device = "emulated" if target == "cuda" else None
    call = po.kernel(target=target, device=device, schedule=BLOCKS)(four)
    rng = np.random.default_rng(3)
    for length in (*range(1, 66), 127, 128, 257, 600):
        x = rng.integers(-50, 50, (2, length)).astype(np.float64)  # sums are exact in any order
        y = x.astype(np.int64)
        found = [np.full(2, 7.0), np.full(2, 7.0), np.full(2, 7.0), np.full(2, 7)]
        call(x, *found, y)
        wanted = [x.sum(axis=1), x.max(axis=1), x.min(axis=1), y.sum(axis=1)]
        assert all(map(np.array_equal, found, wanted)), length


class Changed(EmulatedProvider):
    """A device that compiles texts with a part of them changed."""

    change = ("", "")

    def compile(
        self, text: str, entries: Sequence[str], flags: tuple[str, ...] = (), log: Log = no_log
    ) -> Module:
        assert self.change[0] in text
        return super().compile(text.replace(*self.change), entries, flags, log)


@pytest.mark.toolchain
@pytest.mark.parametrize(("old", "new"), [("0xffffffffu", "0x0000ffffu"), ("__syncthreads();", "")])
def test_faults_are_seen(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Masks and barriers of what threads combine are checked where the text runs."""
    monkeypatch.setattr(polyopt.emulator, "EmulatedProvider", Changed)
    monkeypatch.setattr(Changed, "change", (old, new))
    provider_for.cache_clear()
    x = np.arange(140, dtype=np.float32).reshape(2, 70)
    call = po.kernel(target="cuda", device="emulated")(sums)
    with pytest.raises(DeviceFault) as caught:
        call(x, np.empty(2, np.float32))
    provider_for.cache_clear()
    assert any(finding.kind.is_race == (new == "") for finding in caught.value.findings)


# -- loops that choose the largest element


def softmax_loops(x: po.f32["N,M"], out: po.f32["N,M"]):
    for i in range(x.shape[0]):
        top = x[i, 0]
        for j in range(1, x.shape[1]):
            top = max(top, x[i, j])
        total = np.float32(0)
        for j in range(x.shape[1]):
            out[i, j] = np.exp(x[i, j] - top)
            total += out[i, j]
        for j in range(x.shape[1]):
            out[i, j] /= total


def softmax_of_maxima(x: po.f32["N,M"], out: po.f32["N,M"]):
    for i in range(x.shape[0]):
        top = x[i, 0]
        for j in range(1, x.shape[1]):
            top = np.maximum(top, x[i, j])
        total = np.float32(0)
        for j in range(x.shape[1]):
            out[i, j] = np.exp(x[i, j] - top)
            total += out[i, j]
        for j in range(x.shape[1]):
            out[i, j] /= total


@pytest.mark.toolchain
@pytest.mark.parametrize("width", [1, 2, 31, 130])
def test_choices_of_the_largest_are_combined(width: int) -> None:
    kernel = po.kernel(target="cuda", device="emulated", fp="reassociate")(softmax_loops)
    x = np.random.default_rng(width).standard_normal((6, width)).astype(np.float32)
    x[1, -1], x[2, 0], x[3, :], x[4, width // 2] = np.nan, np.nan, -np.inf, np.inf
    found, wanted = np.empty_like(x), np.empty_like(x)
    made = kernel.compile(x, found)
    assert made.source.count("__global__") == 1
    made(x, found)
    with np.errstate(invalid="ignore"):
        softmax_loops(x, wanted)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7)


def by_choice(node: Node) -> Node:
    """Join partial maxima by choices, which pass over NaN."""
    match node:
        case Assign(statement="", target=Load() as target, value=Binary(op=BinaryOp.MAX) as value):
            update = Update(BinaryOp.MAX, value.right, is_choice=True)
            return replace(node, value=update.of(target, value.right))
        case _:
            return map_inner(node, by_choice)


@pytest.mark.parametrize(
    ("program", "is_proven"), [(softmax_loops, True), (softmax_of_maxima, False)]
)
def test_partial_maxima_are_not_joined_by_choices(
    program: Callable[..., Any], is_proven: bool
) -> None:
    found = with_mode(build(program, infer_types(program)), Options(fp=FpMode.REASSOCIATE))
    schedule = auto_schedule_gpu(found.scop, GpuModel())
    loops = device_loops(lower((schedule,), found))
    assert certify(found, loops).is_proven
    changed = replace(loops, body=tuple(map(by_choice, loops.body)))
    assert (changed == loops) is is_proven
    assert certify(found, changed).is_proven is is_proven
