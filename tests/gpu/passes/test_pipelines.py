"""Pipelines: the copies ahead are proven, one barrier an iteration is enough, faults are found."""

# ruff: noqa: F821, UP037 - sizes are named by strings
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import polyopt as po
from polyopt.emit.cuda import emit_cuda
from polyopt.emit.opencl import emit_opencl
from polyopt.emulator import EmulatedProvider
from polyopt.errors import EmitError, PolyoptError
from polyopt.ir.expr import Binary, BinaryOp, Const, Expr, Load, integer, rewrite
from polyopt.ir.loops import (
    Assign,
    AwaitCopies,
    Barrier,
    Body,
    CommitCopies,
    DeclareArray,
    For,
    If,
    LoopFunction,
    LoopKind,
    Node,
)
from polyopt.ir.nodes import all_nodes, changed, map_bodies, map_inner, with_bodies
from polyopt.proof import certify
from polyopt.runtime.device.resources import resources_of
from tests.gpu.passes.programs import kernels_of, program_of
from tests.gpu.printing.launch import launch
from tests.gpu.runtime.needs import needs_nvcc
from tests.texts import bare


def product(A: po.f32["N,K"], B: po.f32["K,M"], C: po.f32["N,M"]):
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


PLAIN = (
    "tile(L0, 8, 8, 4); tile(L0.point, 2, 2, 4); threads(L0.point.tile[0], L0.point.tile[1]);"
    "pack(A, L0.tile[2]); threads(A_in); pack(B, L0.tile[2]); threads(B_in); pack(C, L0.tile[1]);"
    "tile(C_in, 2, 2); threads(C_in.tile); tile(C_out, 2, 2); threads(C_out.tile);"
    "grid(L0.tile[0], L0.tile[1])"
)
LOOP = "L0.tile.inner"
SIZES = [(8, 4, 8), (9, 13, 10), (3, 1, 2), (5, 0, 5), (0, 5, 3), (16, 9, 8), (1, 5, 1)]


def pipelined(stages: int, plain: str = "") -> LoopFunction:
    return kernels_of(product, f"{PLAIN}; pipeline({LOOP}, {stages}{plain})")


def loop_of(fn: LoopFunction) -> For:
    (loop,) = (n for n in all_nodes(fn.body) if isinstance(n, For) and n.pipeline is not None)
    return loop


def wrong(fn: LoopFunction, sizes: tuple[int, int, int]) -> str:
    """Return what the emulator says of a run, or how the result differs."""
    n, k, m = sizes
    random = np.random.default_rng(n + k + m)
    A, B = random.random((n, k), dtype=np.float32), random.random((k, m), dtype=np.float32)
    C = random.random((n, m), dtype=np.float32)
    arrays = {"A": A, "B": B, "C": C.copy()}
    source = emit_cuda(fn)
    if 0 in (n, m):
        return ""
    try:
        launch(EmulatedProvider(), source, fn, arrays, {"N": n, "K": k, "M": m})
    except PolyoptError as error:
        return str(error)
    return "" if np.allclose(arrays["C"], C + A @ B, rtol=1e-5) else "another result"


@pytest.mark.toolchain
@pytest.mark.parametrize(("stages", "plain"), [(2, ""), (3, ""), (5, ""), (2, ", plain")])
def test_it_is_proven_and_runs(stages: int, plain: str) -> None:
    fn = pipelined(stages, plain)
    assert certify(program_of(product), fn).is_proven
    inside = list(all_nodes(loop_of(fn).body))
    assert sum(isinstance(node, Barrier) for node in inside) == 1
    assert any(isinstance(n, Assign) and n.is_async for n in inside) is not bool(plain)
    shared = [n.array for n in all_nodes(fn.body) if isinstance(n, DeclareArray)]
    assert sum(array.shape[0] == integer(stages) for array in shared) == 2
    for sizes in SIZES:
        assert wrong(fn, sizes) == ""


def test_the_text_says_how_copies_run() -> None:
    text = bare(emit_cuda(pipelined(4)).text)
    assert "po_cp_async4(&A_pack[(k_tile + 3) % 4]" in text
    assert text.count("po_cp_async_commit();") == 2
    assert "po_cp_async_wait<2>();" in text
    assert "cp_async" not in emit_cuda(pipelined(4, ", plain")).text
    assert "cp_async" not in emit_opencl(pipelined(4)).text


@pytest.mark.toolchain
def test_neighbours_are_copied_at_once() -> None:
    steps = PLAIN.replace("threads(A_in)", "tile(A_in, 1, 4); threads(A_in.tile)")
    fn = kernels_of(product, f"{steps}; pipeline({LOOP}, 2)")
    text = bare(emit_cuda(fn).text)
    assert "po_cp_async16(&A_pack[(k_tile + 1) % 2]" in text
    assert "po_cp_async4(&A_pack[(k_tile + 1) % 2]" in text
    for sizes in [(9, 12, 10), (9, 13, 10), (9, 3, 8)]:
        assert wrong(fn, sizes) == ""


@pytest.mark.machine
@needs_nvcc
def test_nvcc_takes_it_for_every_architecture() -> None:
    for fn in (pipelined(3), kernels_of(product, f"{tiled(32, 32)}; pipeline({LOOP}, 8)")):
        source = emit_cuda(fn)
        resources_of(source.text, tuple(entry.name for entry in source.entries), source.flags)


# -- faults


Edit = Callable[[Node], Node | None]


def edited(fn: LoopFunction, edit: Edit) -> LoopFunction:
    """Return `fn` with `edit` made to every node inside the pipeline's loop; None takes it out."""

    def visit(body: Body) -> Body:
        kept = (edit(map_bodies(n, visit)) for n in body)
        return tuple(node for node in kept if node is not None)

    loop = loop_of(fn)

    def find(node: Node) -> Node:
        if node is loop:
            return replace(loop, body=visit(loop.body))
        return map_inner(node, find)

    return replace(fn, body=tuple(map(find, fn.body)))


def one_less(node: Node) -> Node:
    return AwaitCopies(node.pending + 1) if isinstance(node, AwaitCopies) else node


def no_wait(node: Node) -> Node | None:
    return None if isinstance(node, AwaitCopies) else node


def no_commit(node: Node) -> Node | None:
    return None if isinstance(node, CommitCopies) else node


def no_barrier(node: Node) -> Node | None:
    return None if isinstance(node, Barrier) else node


def other_stage(node: Node) -> Node:
    """Compute from the part of the next iteration."""
    match node:
        case Assign(statement=statement) if statement:

            def rule(part: Expr) -> Expr | None:
                if isinstance(part, Binary) and part.op is BinaryOp.MOD:
                    left = Binary(BinaryOp.ADD, part.left, integer(1), part.dtype)
                    return replace(part, left=left)
                return None

            return replace(node, value=rewrite(node.value, rule))
        case _:
            return node


def further_ahead(node: Node) -> Node:
    """Copy for one iteration later."""
    match node:
        case If(then=(For(), *_)) if any(_is_copy(part) for part in all_nodes(node.then)):

            def rule(part: Expr) -> Expr | None:
                match part:
                    case Load(array=("A" | "B"), index=index):
                        return replace(part, index=tuple(rewrite(i, later) for i in index))
                    case _:
                        return None

            def later(part: Expr) -> Expr | None:
                match part:
                    case Binary(op=BinaryOp.MUL, left=Const(value=4), right=right):
                        moved = Binary(BinaryOp.ADD, right, integer(1), part.dtype)
                        return replace(part, right=moved) if "k" in repr(right) else None
                    case _:
                        return None

            return with_bodies(node, (_values(node.then, rule), ()))
        case _:
            return node


def _is_copy(node: Node) -> bool:
    return isinstance(node, Assign) and not node.statement


def _values(body: Body, rule: Callable[[Expr], Expr | None]) -> Body:
    def visit(node: Node) -> Node:
        if isinstance(node, Assign):
            return replace(node, value=rewrite(node.value, rule))
        return map_inner(node, visit)

    return tuple(map(visit, body))


FAULTS: list[Edit] = [
    one_less, no_wait, no_commit, no_barrier, other_stage, further_ahead,
]  # fmt: skip


@pytest.mark.toolchain
@pytest.mark.parametrize("stages", [2, 3])
@pytest.mark.parametrize("edit", FAULTS, ids=lambda edit: edit.__name__)
def test_faults_are_refused_and_found(edit: Edit, stages: int) -> None:
    fn = edited(pipelined(stages), edit)
    assert fn != pipelined(stages)
    assert not certify(program_of(product), fn).is_proven
    assert wrong(fn, (9, 19, 10)) != ""


def first_copies(fn: LoopFunction, edit: Callable[[Body], Body]) -> LoopFunction:
    """Return `fn` with `edit` made to the copies and the commit before the loop."""
    loop = loop_of(fn)

    def visit(body: Body) -> Body:
        if loop in body:
            position = body.index(loop)
            start = next(
                n for n, node in enumerate(body) if any(map(_is_async, all_nodes((node,))))
            )
            return (*body[:start], *edit(body[start:position]), *body[position:])
        return tuple(map_bodies(n, visit) for n in body)

    return replace(fn, body=visit(fn.body))


def _is_async(node: Node) -> bool:
    return isinstance(node, Assign) and node.is_async


def nothing(body: Body) -> Body:
    return ()


def not_committed(body: Body) -> Body:
    return tuple(node for node in body if not isinstance(node, CommitCopies))


def of_another_part(body: Body) -> Body:
    def rule(part: Expr) -> Expr | None:
        if isinstance(part, Load) and part.array.endswith("_pack"):
            return replace(part, index=(integer(1), *part.index[1:]))
        return None

    return tuple(changed(node, rule) for node in body)


def from_elsewhere(body: Body) -> Body:
    def rule(part: Expr) -> Expr | None:
        if isinstance(part, Load) and part.array == "B":
            return replace(part, index=(integer(0), *part.index[1:]))
        return None

    return tuple(changed(node, rule) for node in body)


@pytest.mark.toolchain
@pytest.mark.parametrize(
    "edit", [nothing, not_committed, of_another_part, from_elsewhere], ids=lambda e: e.__name__
)
def test_faults_of_the_first_copies_are_refused(edit: Callable[[Body], Body]) -> None:
    fn = first_copies(pipelined(2), edit)
    assert fn != pipelined(2)
    assert not certify(program_of(product), fn).is_proven
    assert wrong(fn, (9, 19, 10)) != ""


def test_a_copy_that_is_not_awaited_is_refused() -> None:
    fn = pipelined(2)
    fewer = edited(fn, lambda n: None if isinstance(n, AwaitCopies | CommitCopies) else n)
    assert not certify(program_of(product), fewer).is_proven


def test_a_source_that_the_kernel_writes_is_refused() -> None:
    def itself(node: Node) -> Node:
        if isinstance(node, Assign) and node.is_async:
            return replace(node, value=replace(node.value, array="C"))
        return node

    assert not certify(program_of(product), edited(pipelined(2), itself)).is_proven


# -- refusals


def tiled(side: int, depth: int) -> str:
    """Return the steps for tiles of `side` x `side` results, 4 x 4 of them a thread."""
    steps = PLAIN.replace("8, 8, 4", f"{side}, {side}, {depth}")
    return steps.replace("2, 2, 4", f"4, 4, {depth}").replace("2, 2)", "4, 4)")


def test_stages_without_room_are_refused() -> None:
    with pytest.raises(EmitError, match="262144 bytes of shared memory") as refused:
        kernels_of(product, f"{tiled(64, 64)}; pipeline({LOOP}, 8)")
    assert refused.value.code == "PO0409"


@pytest.mark.toolchain
def test_more_than_a_text_may_declare_is_asked_for() -> None:
    fn = kernels_of(product, f"{tiled(32, 32)}; pipeline({LOOP}, 8)")
    source = emit_cuda(fn)
    assert "extern __shared__ __align__(16) unsigned char pool[];" in bare(source.text)
    assert [(entry.shared, entry.asked) for entry in source.entries] == [(0, 65536)]
    assert certify(program_of(product), fn).is_proven
    assert wrong(fn, (33, 70, 9)) == ""
    text = bare(emit_opencl(fn).text)
    assert "B_pack[8][32][32];" in text
    assert "pool" not in text


def test_one_thread_copies_nothing_meanwhile() -> None:
    steps = "tile(L0, 8, 8, 4); pack(A, L0.tile[2]); grid(L0.tile[0])"
    with pytest.raises(EmitError, match="one thread") as refused:
        kernels_of(product, f"{steps}; pipeline(L0.tile[2], 2)")
    assert refused.value.code == "PO0408"


def test_copies_into_memory_of_the_device_are_refused() -> None:
    steps = "tile(L0, 128, 8, 128); grid(L0.tile[0]); pack(A, L0.tile[2]); threads(A_in)"
    with pytest.raises(EmitError) as refused:
        kernels_of(product, f"{steps}; threads(L0.point[0]); pipeline(L0.tile[2], 2)")
    assert refused.value.code == "PO0408"


def test_the_loop_stays_sequential() -> None:
    assert loop_of(pipelined(2)).kind is LoopKind.SEQUENTIAL
