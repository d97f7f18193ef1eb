"""Swizzled rows of shared arrays: conflicts, places, proof, refusals."""

# ruff: noqa: F821, UP037 - sizes are named by strings
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from random import Random

import numpy as np
import pytest

import polyopt as po
from polyopt.emit.cuda import emit_cuda
from polyopt.emit.gpu import device_loops
from polyopt.emit.gpu.bank_conflicts import conflict_lines
from polyopt.emit.gpu.swizzle import swizzled_column
from polyopt.emit.lower import lower
from polyopt.emit.opencl import emit_opencl
from polyopt.emit.ranges import Ranges
from polyopt.emulator import EmulatedProvider
from polyopt.errors import ScheduleError
from polyopt.ir.array import Turn
from polyopt.ir.expr import Expr, Iter, add, integer, mul
from polyopt.ir.integers import evaluate
from polyopt.ir.loops import Body, DeclareArray, LoopFunction
from polyopt.ir.nodes import map_bodies
from polyopt.ir.program import Program
from polyopt.proof import certify
from polyopt.proof.certificate import Verdict
from polyopt.report.padding import paddings
from polyopt.schedule.reductions import reassociated, rounding
from polyopt.strategy.gpu import GpuModel, auto_schedule_gpu, fragment_rows
from polyopt.transforms import LayOut, Pack, parse_steps
from tests.gpu.passes.programs import program_of
from tests.gpu.printing.launch import launch
from tests.unit.transforms import data_programs
from tests.unit.transforms.refusing import refused

MATRICES = GpuModel(matrices=True)


def halves(A: po.f16["N,K"], B: po.f16["K,M"], C: po.f16["N,M"]):
    C[:] = A @ B


def transposed(A: po.f16["K,N"], B: po.f16["M,K"], C: po.f16["N,M"]):
    C[:] = A.T @ B.T


def singles(A: po.f32["N,K"], B: po.f32["K,M"], C: po.f32["N,M"]):
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


@cache
def mapped(function: Callable[..., object]) -> tuple[Program, LoopFunction, tuple[str, ...]]:
    """Return a program, its loops for a device, and the bank conflicts in them."""
    program = program_of(function)
    if function is singles:
        program = rounding(reassociated(program))
    schedule = auto_schedule_gpu(program.scop, MATRICES)
    loops = device_loops(lower(schedule, program))
    return program, loops, conflict_lines(loops, paddings((schedule,)))


def ways(lines: tuple[str, ...]) -> list[str]:
    """Return the conflicts that are left."""
    return [line.split(": ")[2].split(";")[0] for line in lines]


@pytest.mark.parametrize("function", [halves, transposed])
def test_neither_copies_nor_fragments_conflict(function: Callable[..., object]) -> None:
    _, loops, lines = mapped(function)
    assert set(ways(lines)) == {"no bank conflicts"}
    without = [line.partition("turned by `^`: ")[2] for line in lines]
    assert sum(text.endswith("-way bank conflicts without") for text in without) == 2
    assert "pool" not in emit_cuda(loops).text  # three stages are 48 KiB


def test_fragments_of_single_elements_are_padded_and_read_without_conflicts() -> None:
    _, loops, lines = mapped(singles)
    assert {way for way, line in zip(ways(lines), lines, strict=True) if ", read" in line} == {
        "no bank conflicts"
    }
    assert " ^ " not in emit_cuda(loops).text


def test_copies_without_swizzles_conflict_and_take_more_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fragment_rows, "_COUNTS", ())
    _, loops, lines = mapped.__wrapped__(halves)
    assert "2-way bank conflicts" in ways(lines)
    assert "pool" in emit_cuda(loops).text


@pytest.mark.matrix(2)
@pytest.mark.toolchain
@pytest.mark.parametrize("function", [halves, transposed, singles])
@pytest.mark.parametrize("sizes", [(1, 1, 1), (33, 70, 129), (2, 0, 3)])
def test_it_runs(function: Callable[..., object], sizes: tuple[int, int, int]) -> None:
    _, loops, _ = mapped(function)
    n, k, m = sizes
    dtype = np.float32 if function is singles else np.float16
    random = np.random.default_rng(n + k)
    A, B = random.random((n, k)).astype(dtype), random.random((k, m)).astype(dtype)
    C = np.zeros((n, m), dtype)
    if function is transposed:
        given = {"A": A.T.copy(), "B": B.T.copy(), "C": C}
    else:
        given = {"A": A, "B": B, "C": C}
    launch(EmulatedProvider(), emit_cuda(loops), loops, given, {"N": n, "K": k, "M": m})
    wanted = A.astype(np.float64) @ B.astype(np.float64)
    np.testing.assert_allclose(given["C"].astype(np.float64), wanted, rtol=2e-3, atol=2e-3)


def test_opencl_swizzles_the_same_rows() -> None:
    text = emit_opencl(mapped(halves)[1]).text
    assert " ^ " in text


# -- places


def any_sum(random: Random, names: tuple[str, ...]) -> Expr:
    total: Expr = integer(random.randrange(9))
    for name in random.sample(names, 2):
        total = add(total, mul(integer(random.choice((1, 2, 4, 8, 32))), Iter(name)))
    return total


def test_columns_are_printed_as_they_are_defined() -> None:
    random = Random(7)
    names = ("a", "b", "c")
    for _ in range(300):
        turn = Turn(2 ** random.randrange(4), 1, 2 ** random.randrange(3), random.choice((2, 4, 8)))
        most = {name: random.choice((1, 2, 3, 7, 15, 40)) for name in names}
        ranges = Ranges(lower=dict.fromkeys(names, 0), upper=most)
        row, column = any_sum(random, names), any_sum(random, names)
        printed = swizzled_column((row, column), turn, ranges)
        for _ in range(20):
            values = {name: random.randint(0, most[name]) for name in names}
            place = turn.place(evaluate(row, values), evaluate(column, values))
            assert evaluate(printed, values) == place
            assert evaluate(turn.column((row, column)), values) == place


def test_what_moves_whole_blocks_or_inside_a_group_is_left_out() -> None:
    turn = Turn(8, 1, 2, 4)
    ranges = Ranges(lower={"w": 0, "q": 0, "r": 0}, upper={"w": 9, "q": 7, "r": 7})
    column = add(add(mul(integer(32), Iter("w")), Iter("q")), integer(16))
    found = swizzled_column((add(Iter("r"), integer(64)), column), turn, ranges)
    assert found == swizzled_column((Iter("r"), column), turn, ranges)
    values = {"w": 3, "q": 5, "r": 6}
    assert evaluate(found, values) == 3 * 32 + (16 ^ 8 * 3) + 5


# -- what is proven and refused


def swizzled_by(body: Body, turn: Turn) -> Body:
    found = []
    for node in body:
        node = map_bodies(node, swizzled_by, turn)
        if isinstance(node, DeclareArray) and node.array.turn is not None:
            node = replace(node, array=replace(node.array, turn=turn))
        found.append(node)
    return tuple(found)


def test_the_proof_looks_at_every_row() -> None:
    program, loops, _ = mapped(halves)
    assert certify(program, loops).is_proven
    for wrong, reason in (
        (Turn(8, 1, 1, 32), "does not hold each"),  # beyond a row of 32
        (Turn(8, 3, 1, 4), "by nothing"),
        (Turn(8, 1, 0, 4), "by nothing"),
    ):
        faults = certify(program, replace(loops, body=swizzled_by(loops.body, wrong))).faults
        assert faults[0].verdict is not Verdict.PROVEN
        assert reason in faults[0].reason


def test_the_step_is_read_as_it_is_written() -> None:
    (step,) = parse_steps("pack(A, k_tile, 0, 1^8*0/2%4)")
    assert isinstance(step, Pack)
    assert str(step) == "pack(A, k_tile, 0, 1^8*0/2%4)"
    assert parse_steps("pack(A, k_tile, 0, 1 ^ 8 * 0 / 2 % 4)") == (step,)


@pytest.mark.parametrize(
    "text",
    [
        "layout(T, 0, 1^8*0/2%4)",  # rows of M elements
        "layout(T, 1^8*0/2%4, 0)",  # not the last
        "layout(T, 0, 1^8*1/2%4)",  # by itself
    ],
)
def test_rows_that_cannot_be_swizzled(text: str) -> None:
    (step,) = parse_steps(text)
    assert isinstance(step, LayOut)
    code, _, hint = refused(data_programs.blur(), step)
    assert code == "PO0335"
    assert hint


def test_a_word_that_is_no_turn() -> None:
    with pytest.raises(ScheduleError, match="PO0323") as caught:
        parse_steps("pack(A, k_tile, 0, 1^8*0)")
    assert "1^8*0/2%4" in str(caught.value)
