"""What becomes a kernel, and what stays with the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from polyopt.ir.loops import (
    CallLibrary,
    DeclareArray,
    Fail,
    For,
    Kernel,
    LoopKind,
    Space,
    While,
    show_body,
)
from polyopt.ir.nodes import all_nodes
from polyopt.proof import certify
from tests.gpu.passes.programs import (
    MAPPED,
    doubled,
    kernels_of,
    product,
    program_of,
    script,
    searches,
    steps_in_time,
    triangle,
)

TILES = "tile(L0, 8, 32); grid(L0.tile); threads(L0.point)"


def kernels(function: Callable[..., Any], steps: str = "") -> list[Kernel]:
    """Return the kernels of a function, proven."""
    fn = kernels_of(function, steps)
    assert certify(program_of(function), fn).faults == ()
    return [node for node in all_nodes(fn.body) if isinstance(node, Kernel)]


def kinds(kernel: Kernel) -> list[LoopKind]:
    return [node.kind for node in all_nodes(kernel.body) if isinstance(node, For)]


BLOCK, THREAD, IN_ORDER = LoopKind.BLOCK, LoopKind.THREAD, LoopKind.SEQUENTIAL


@pytest.mark.parametrize(
    ("steps", "threads", "found"),
    [
        (TILES, 256, [BLOCK, BLOCK, THREAD, THREAD]),
        ("tile(L0, 5, 7); grid(L0.tile); threads(L0.point)", 35, [BLOCK, BLOCK, THREAD, THREAD]),
        ("grid(i); threads(j)", 256, [BLOCK, IN_ORDER, THREAD]),
        ("threads(i, j)", 256, [IN_ORDER, IN_ORDER, THREAD, THREAD]),
        ("parallelize(i)", 256, [BLOCK, THREAD, IN_ORDER]),
        ("grid(i, j)", 1, [BLOCK, BLOCK]),
        ("vectorize(j)", 1, [IN_ORDER, IN_ORDER]),
        ("", 1, [IN_ORDER, IN_ORDER]),
    ],
)
def test_loops_of_every_kind(steps: str, threads: int, found: list[LoopKind]) -> None:
    (kernel,) = kernels(doubled, steps)
    assert kernel.threads == threads
    assert kinds(kernel) == found


def test_large_boxes_are_dealt_out() -> None:
    (kernel,) = kernels(doubled, "tile(L0, 64, 64); grid(L0.tile); threads(L0.point)")
    assert kernel.threads == 256


def test_the_grid_of_a_triangle_is_a_box() -> None:
    (kernel,) = kernels(triangle, TILES)
    assert show_body(kernel.body)[1:4] == [
        "    for j_tile in range(0, (N - 1) // 32 + 1):  # block",
        "        if j_tile >= i_tile // 4:",
        "            for i in range(8 * i_tile, min(N, 8 * i_tile + 8)):  # thread",
    ]


def test_time_stays_with_the_host() -> None:
    steps = "grid(L1[0]); threads(L1[1]); grid(L2[0])"
    fn = kernels_of(steps_in_time, steps)
    assert certify(program_of(steps_in_time), fn).is_proven
    (loop,) = fn.body
    assert isinstance(loop, For)
    assert [type(node) for node in loop.body] == [Kernel, Kernel]
    first, second = loop.body
    assert (first.threads, second.threads) == (256, 1)


def test_scripts() -> None:
    fn = kernels_of(script)
    assert certify(program_of(script), fn).is_proven
    inside = {
        type(node)
        for kernel in all_nodes(fn.body)
        if isinstance(kernel, Kernel)
        for node in all_nodes(kernel.body)
    }
    outside = {type(node) for node in fn.body}
    assert While in inside
    assert not inside & {Fail, CallLibrary}
    assert Kernel in outside


def test_variables_of_the_host_s_loops_are_memory() -> None:
    fn = kernels_of(searches)
    assert certify(program_of(searches), fn).faults == ()
    assert {"low", "high", "middle"} <= {array.name for array in fn.arrays}


def spaces(name: str) -> dict[str, Space]:
    fn = kernels_of(*MAPPED[name])
    return {n.array.name: n.space for n in all_nodes(fn.body) if isinstance(n, DeclareArray)}


def test_tiles_are_shared_and_results_are_in_registers() -> None:
    found = spaces("product in registers")
    assert found == {
        "A_pack": Space.SHARED,
        "B_pack": Space.SHARED,
        "C_pack": Space.REGISTER,
    }


def test_what_threads_exchange_is_shared() -> None:
    assert spaces("transposed") == {"A_pack": Space.SHARED}
    assert spaces("sums of rows") == {"part": Space.SHARED}


def test_a_copy_that_only_its_thread_reads_is_in_a_register() -> None:
    steps = "tile(L0, 16, 16); grid(L0.tile); pack(A, j_tile); threads(A_in); threads(L0.point)"
    fn = kernels_of(doubled, steps)
    assert certify(program_of(doubled), fn).is_proven
    declared = [node for node in all_nodes(fn.body) if isinstance(node, DeclareArray)]
    assert [node.space for node in declared] == [Space.REGISTER]
    assert "barrier" not in "\n".join(show_body(fn.body))


def test_full_tiles_have_no_conditions_inside() -> None:
    fn = kernels_of(*MAPPED["product in registers"])
    text = "\n".join(show_body(fn.body))
    assert "(8 <= K - 8 * k_tile)" in text
    assert certify(program_of(product), fn).is_proven
