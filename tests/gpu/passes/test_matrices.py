"""Matrix instructions: tiles of every size are proven and run, planted faults are refused."""

# ruff: noqa: F821, UP037 - sizes are named by strings
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import polyopt as po
from polyopt.emit.cuda import emit_cuda
from polyopt.emit.gpu import device_loops
from polyopt.emit.lower import lower
from polyopt.emit.opencl import emit_opencl
from polyopt.emulator import EmulatedProvider
from polyopt.errors import EmitError, PolyoptError, ScheduleError
from polyopt.frontend import build, infer_types
from polyopt.ir.expr import Const, Expr, Iter, Load, rewrite
from polyopt.ir.loops import Assign, Barrier, Body, For, If, LoopFunction, LoopKind, Node
from polyopt.ir.nodes import all_nodes, map_bodies
from polyopt.ir.program import Program
from polyopt.ir.types import DType
from polyopt.pipeline import with_mode
from polyopt.proof import certify
from polyopt.proof.certificate import ClaimKind, Verdict
from polyopt.runtime.device.resources import resources_of
from polyopt.schedule import source_schedule
from polyopt.schedule.reductions import reassociated, rounding
from polyopt.strategy.gpu import GpuModel, auto_schedule_gpu
from polyopt.targets import FpMode, Options, Target
from polyopt.transforms import parse_steps
from tests.gpu.passes.programs import program_of
from tests.gpu.printing.launch import launch
from tests.gpu.runtime.needs import needs_nvcc, opencl_or_skip


def halves(A: po.f16["N,K"], B: po.f16["K,M"], C: po.f16["N,M"]):
    C[:] = A @ B


def brains(A: po.bf16["N,K"], B: po.bf16["K,M"], C: po.bf16["N,M"]):
    C[:] = A @ B


def singles(A: po.f32["N,K"], B: po.f32["K,M"], C: po.f32["N,M"]):
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def doubles(A: po.f64["N,K"], B: po.f64["K,M"], C: po.f64["N,M"]):
    C += A @ B


COPIES = (
    "pack(A, {loop}, 0, 1+8); strip(A_in[1], 8); threads(A_in[0], A_in[1]);"
    "pack(B, {loop}, 0, 1+8); strip(B_in[1], 8); threads(B_in[0], B_in[1])"
)
FUSED = (
    "affine(min); tile(L1, 32, 16, 16); tile(L0, 32, 16); fuse(L0.tile, L1.tile, 2);"
    "tile(L2, 32, 16); fuse(L0.tile, L2.tile, 2); tensorize(L1.point, 16, 8);"
    "tensorize(L0.point, 16, 8); tensorize(L2.point, 16, 8);"
    f"{COPIES.format(loop='L1.tile[0]')}; grid(L0.tile[0], L0.tile[1])"
)
PACKED = (
    "tile(L0, 32, 16, 16); tensorize(L0.point, 16, 8);"
    f"{COPIES.format(loop='L0.tile[2]')}; pack(C, L0.tile[1]); tensorize(C_in, 16, 8);"
    "tensorize(C_out, 16, 8); grid(L0.tile[0], L0.tile[1])"
)
SIZES = [(40, 20, 20), (32, 16, 16), (1, 1, 1), (3, 0, 2), (0, 4, 3), (33, 35, 17)]


@cache
def program(function: Callable[..., object]) -> Program:
    found = program_of(function)
    return rounding(reassociated(found)) if function is singles else found


@cache
def kernels(function: Callable[..., object], more: str = "") -> LoopFunction:
    steps = PACKED if function is singles else FUSED
    schedule = source_schedule(program(function).scop).apply(*parse_steps(f"{steps}; {more}"))
    return device_loops(lower((schedule,), program(function)))


def wrong(fn: LoopFunction, sizes: tuple[int, int, int], dtype: DType = DType.FLOAT16) -> str:
    """Return what the emulator says of a run, or how the result differs."""
    n, k, m = sizes
    if 0 in (n, m):
        return ""
    random = np.random.default_rng(n + k + m)
    A, B, C = (random.random(s).astype(dtype.numpy) for s in ((n, k), (k, m), (n, m)))
    arrays = {"A": A, "B": B, "C": C.copy()}
    try:
        launch(EmulatedProvider(), emit_cuda(fn), fn, arrays, {"N": n, "K": k, "M": m})
    except PolyoptError as error:
        return str(error)
    start = C if dtype is DType.FLOAT32 else np.zeros((n, m))
    exact = start + A.astype(np.float64) @ B.astype(np.float64)
    near = {DType.FLOAT16: 2e-3, DType.BFLOAT16: 1e-2, DType.FLOAT32: 1e-3}[dtype]
    got = arrays["C"].astype(np.float64)
    return "" if np.allclose(got, exact, rtol=near, atol=near) else "another result"


def matrix_loops(fn: LoopFunction) -> list[For]:
    loops = (node for node in all_nodes(fn.body) if isinstance(node, For))
    return [loop for loop in loops if loop.kind is LoopKind.MATRIX]


TYPES = {halves: DType.FLOAT16, brains: DType.BFLOAT16, singles: DType.FLOAT32}
TEXTS = {halves: "m16n8k16_f16", brains: "m16n8k16_bf16", singles: "m16n8k8_tf32"}


@pytest.mark.toolchain
@pytest.mark.parametrize("function", TYPES, ids=lambda function: function.__name__)
def test_it_is_proven_and_runs(function: Callable[..., object]) -> None:
    fn = kernels(function)
    certificate = certify(program(function), fn)
    assert certificate.is_proven, str(certificate)
    claims = [claim for claim in certificate.claims if claim.kind is ClaimKind.MATRIX]
    assert [claim.verdict for claim in claims] == [Verdict.PROVEN]
    assert f"po_mma_{TEXTS[function]}(" in emit_cuda(fn).text
    for sizes in SIZES:
        assert wrong(fn, sizes, TYPES[function]) == "", sizes


@pytest.mark.toolchain
def test_copies_ahead_fill_with_zeros_too() -> None:
    fn = kernels(halves, "pipeline(L1.tile[0], 3)")
    assert certify(program(halves), fn).is_proven
    assert "po_cp_async16(&A_pack_[" in emit_cuda(fn).text
    for sizes in SIZES:
        assert wrong(fn, sizes) == "", sizes


@pytest.mark.machine
def test_opencl_has_the_loops() -> None:
    text = emit_opencl(kernels(singles)).text
    assert "mma" not in text
    device = opencl_or_skip()
    random = np.random.default_rng(1)
    A, B, C = (random.random(s, dtype=np.float32) for s in ((40, 20), (20, 20), (40, 20)))
    arrays = {"A": A, "B": B, "C": C.copy()}
    fn = kernels(singles)
    launch(device, emit_opencl(fn), fn, arrays, {"N": 40, "K": 20, "M": 20})
    assert np.allclose(arrays["C"], C + A @ B, rtol=1e-5)


@pytest.mark.machine
@needs_nvcc
@pytest.mark.parametrize("function", TYPES, ids=lambda function: function.__name__)
def test_nvcc_takes_it_for_every_architecture(function: Callable[..., object]) -> None:
    source = emit_cuda(kernels(function))
    resources_of(source.text, tuple(entry.name for entry in source.entries), source.flags)


def test_the_automatic_schedule_takes_them() -> None:
    scop = program(halves).scop
    assert "tensorize(" in auto_schedule_gpu(scop, GpuModel(matrices=True)).text
    assert "tensorize(" not in auto_schedule_gpu(scop, GpuModel()).text
    strict = reassociated(program_of(singles)).scop
    assert "tensorize(" not in auto_schedule_gpu(strict, GpuModel(matrices=True)).text


def triangle(A: po.f32["N,K"], B: po.f32["K,N"], C: po.f32["N,N"]):
    for i in range(A.shape[0]):
        for j in range(i + 1):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


@pytest.mark.toolchain
def test_parts_of_results_are_products_of_whole_tiles() -> None:
    rng = np.random.default_rng(5)
    A, B = (rng.random(shape, dtype=np.float32) for shape in ((70, 20), (20, 70)))
    C = np.ones((70, 70), np.float32)
    made = po.kernel(target="cuda", device="emulated", fp="fast")(triangle).compile(A, B, C)
    assert "po_mma_m16n8k8_tf32(" in made.source
    made(A, B, C)
    assert np.allclose(C, 1 + np.tril(A @ B), rtol=1e-2, atol=1e-2)
    assert (C[np.triu_indices(70, 1)] == 1).all()


# -- faults

Edit = Callable[[Node], Node | None]


def edited(fn: LoopFunction, edit: Edit) -> LoopFunction:
    """Return `fn` with `edit` made to every node; None takes one out."""

    def visit(body: Body) -> Body:
        kept = (edit(map_bodies(n, visit)) for n in body)
        return tuple(node for node in kept if node is not None)

    return replace(fn, body=visit(fn.body))


def is_fill(node: Node) -> bool:
    return isinstance(node, Assign) and isinstance(node.value, Const) and not node.statement


def no_fill(node: Node) -> Node:
    return replace(node, otherwise=()) if isinstance(node, If) else node


def ones(node: Node) -> Node:
    if isinstance(node, Assign) and is_fill(node):
        return replace(node, value=Const(1.0, node.target.dtype))
    return node


def no_barrier(node: Node) -> Node | None:
    return None if isinstance(node, Barrier) else node


def other_column(node: Node) -> Node:
    """Read the factors of the neighbouring column."""
    return _moved(node, "B_pack", 1)


def other_row(node: Node) -> Node:
    """Read the factors of the neighbouring row."""
    return _moved(node, "A_pack", 0)


def _moved(node: Node, array: str, dim: int) -> Node:
    if not isinstance(node, Assign) or not node.statement:
        return node

    def rule(part: Expr) -> Expr | None:
        if isinstance(part, Load) and part.array == array:
            index = list(part.index)
            index[dim] = rewrite(index[dim], lambda e: Iter("j_lane") if e == Iter("i_lane") else (
                Iter("i_lane") if e == Iter("j_lane") else None))  # fmt: skip
            return replace(part, index=tuple(index))
        return None

    return replace(node, value=rewrite(node.value, rule))


def everything(node: Node) -> Node:
    """Add the products outside, too."""
    if isinstance(node, If) and any(
        isinstance(n, Assign) and n.statement == "S1" for n in node.then
    ):
        return node.then[0]
    return node


FAULTS: list[Edit] = [no_fill, ones, no_barrier]


@pytest.mark.toolchain
@pytest.mark.parametrize("edit", FAULTS, ids=lambda edit: edit.__name__)
def test_faults_are_refused_and_found(edit: Edit) -> None:
    fn = edited(kernels(halves), edit)
    assert fn != kernels(halves)
    assert not certify(program(halves), fn).is_proven
    assert wrong(fn, (40, 20, 20)) != ""


def attention(q: po.f32["T,D"], k: po.f32["S,D"], v: po.f32["S,E"]):
    s = q @ k.T
    w = np.exp(s - np.max(s, axis=1, keepdims=True))
    return (w / np.sum(w, axis=1, keepdims=True)) @ v


@cache
def in_blocks() -> tuple[Program, LoopFunction]:
    """Return a program whose first product has results of its own in each iteration of a loop."""
    options = Options(fp=FpMode.FAST, target=Target.CUDA)
    found = with_mode(build(attention, infer_types(attention)), options)
    schedule = auto_schedule_gpu(found.scop, GpuModel(matrices=True))
    assert schedule.text.count("tensorize(") > 4
    return found, device_loops(lower((schedule,), found))


def test_results_of_other_iterations_are_other_results() -> None:
    found, fn = in_blocks()
    assert certify(found, fn).is_proven


@pytest.mark.parametrize("edit", [no_fill, ones], ids=lambda edit: edit.__name__)
def test_faults_in_each_iteration_are_refused(edit: Edit) -> None:
    found, fn = in_blocks()
    certificate = certify(found, edited(fn, edit))
    (claim,) = (claim for claim in certificate.claims if claim.kind is ClaimKind.MATRIX)
    assert claim.verdict is Verdict.REFUTED


@pytest.mark.parametrize("edit", [other_column, other_row, everything])
def test_other_fragments_are_refused(edit: Edit) -> None:
    fn = edited(kernels(halves), edit)
    assert fn != kernels(halves)
    assert not certify(program(halves), fn).is_proven


def test_lanes_in_another_order_are_refused() -> None:
    def turned(node: Node) -> Node:
        match node:
            case For(iter="i_lane", body=(For(iter="j_lane") as inner,)) if matrix_in(inner):
                return replace(inner, body=(replace(node, body=inner.body),))
            case _:
                return node

    def matrix_in(loop: For) -> bool:
        return any(isinstance(n, For) and n.kind is LoopKind.MATRIX for n in all_nodes((loop,)))

    fn = edited(kernels(halves), turned)
    assert fn != kernels(halves)
    refused = certify(program(halves), fn).faults
    assert refused[0].kind is ClaimKind.MATRIX
    assert "8 by 4 lanes" in refused[0].reason


def test_rounding_that_is_not_allowed_is_refused() -> None:
    (fault, *_) = certify(reassociated(program_of(singles)), kernels(singles)).faults
    assert fault.kind is ClaimKind.MATRIX
    assert "may not be rounded" in fault.reason


# -- refusals

REFUSED = {
    "tensorize(L0.point, 12, 8)": "12 x 8 results are no fragments of 16 x 8",
    "tensorize(L0.point, 16, 12)": "16 x 12 results are no fragments",
    "tensorize(L0.point, 16, 8)": "rounded to tf32",
    "threads(L0.tile[0]); tensorize(L0.point, 16, 8)": "already runs across the threads",
}


@pytest.mark.parametrize("steps", REFUSED)
def test_the_step_says_what_fails(steps: str) -> None:
    source = source_schedule(reassociated(program_of(singles)).scop)
    with pytest.raises(ScheduleError, match=REFUSED[steps]) as refused:
        source.apply(*parse_steps(f"tile(L0, 32, 16, 16); {steps}"))
    assert refused.value.code in ("PO0340", "PO0336")
    assert refused.value.hint


def test_orders_and_types_without_instructions_are_refused() -> None:
    strict = source_schedule(program_of(singles).scop)
    with pytest.raises(ScheduleError, match="in the order of the source"):
        strict.apply(*parse_steps("tile(L0, 32, 16, 16); tensorize(L0.point, 16, 8)"))
    wide = source_schedule(program_of(doubles).scop)
    with pytest.raises(ScheduleError, match="no sum of products") as refused:
        wide.apply(*parse_steps("tile(L1, 32, 16, 16); tensorize(L1.point, 16, 8)"))
    assert refused.value.code == "PO0340"


LAYOUTS = {
    "pack(B, L0.tile[2], 0, 1+8); strip(B_in[1], 8); threads(B_in[0], B_in[1])": "B is no array",
    "tensorize(C_out, 16, 8)": "C_pack is not kept in registers",
}


@pytest.mark.parametrize("left_out", LAYOUTS)
def test_layouts_without_instructions_are_refused(left_out: str) -> None:
    assert left_out in PACKED
    steps = parse_steps(PACKED.replace(left_out, ""))
    lowered = lower((source_schedule(program(singles).scop).apply(*steps),), program(singles))
    with pytest.raises(EmitError, match=LAYOUTS[left_out]) as refused:
        device_loops(lowered)
    assert refused.value.code == "PO0410"
