"""Control that data decides: every edit of it, and of memory of an iteration's own, is seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt.ir.expr import Load, add, integer, walk
from polyopt.ir.loops import (
    AllocateArray,
    Assign,
    Body,
    Break,
    CallLibrary,
    Declare,
    DeclareArray,
    Fail,
    For,
    If,
    LoopFunction,
    LoopKind,
    Node,
    SetLocal,
    While,
)
from polyopt.ir.nodes import all_nodes
from polyopt.ir.program import Program
from polyopt.pipeline import compile_program
from polyopt.proof import certify
from polyopt.targets import Options
from tests.unit.proof.edits import F64, I64, MACHINE, edited, local, program_of

# ruff: noqa: F821, UP037 - sizes are named by strings


def found(a: po.f64["N"], b: po.f64["N"]):
    k = 0
    while k < 10 and a[k] > 0.0:
        k = k + 1
    t = np.empty(k)
    for i in range(k):
        t[i] = a[i] * 2.0
    for i in range(k):
        b[i] = t[i]


def sparse(start: po.i64["M"], column: po.i64["K"], v: po.f64["K"], x: po.f64["L"], y: po.f64["N"]):
    for r in range(y.shape[0]):
        s = 0.0
        for q in range(start[r], start[r + 1]):
            s = s + v[q] * x[column[q]]
        y[r] = s


def chained(start: po.i64["M"], x: po.f64["K"], y: po.f64["N"]):
    for r in range(1, y.shape[0]):
        for q in range(start[r], start[r + 1]):
            y[r] = y[r - 1] + x[q]


def solved(a: po.f64["N,N"], b: po.f64["N"], out: po.f64["N"]):
    t = np.linalg.solve(a, b)
    for i in range(out.shape[0]):
        out[i] = t[i] + b[i]


def picked(a: po.f64["3,3"], b: po.f64["3"], out: po.f64["2"]):
    t = np.linalg.solve(a, b)
    out[1] = t[2]


@cache
def made(function: Callable[..., Any]) -> tuple[Program, LoopFunction]:
    program = program_of(function)
    return program, compile_program(program, Options(), MACHINE).loops


ALL = (found, sparse, chained, solved, picked)


@pytest.mark.parametrize("function", ALL, ids=[f.__name__ for f in ALL])
def test_the_program_itself_is_proven(function: Callable[..., Any]) -> None:
    assert certify(*made(function)).is_proven


def nodes(kind: type, body: Body) -> list[Any]:
    return [node for node in all_nodes(body) if isinstance(node, kind)]


def changed_one(body: Body, one: Node, *others: Node) -> Body:
    return edited(body, lambda node: others if node == one else node)


def is_proven(function: Callable[..., Any], body: Body) -> bool:
    program, loops = made(function)
    return certify(program, replace(loops, body=body)).is_proven


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (found, While),
        (found, Declare),
        (found, AllocateArray),
        (found, For),
        (sparse, Declare),
        (sparse, DeclareArray),
        (solved, CallLibrary),
    ],
)
def test_no_part_is_left_out(function: Callable[..., Any], kind: type) -> None:
    body = made(function)[1].body
    assert nodes(kind, body)
    hints = {symbol.name for loop in nodes(For, body) for _, symbol in loop.streams}
    for node in nodes(kind, body):
        if getattr(node, "name", "") not in hints:
            assert not is_proven(function, changed_one(body, node)), node


def _tests(body: Body) -> list[If]:
    return [n for n in nodes(If, body) if isinstance(n.then[0], Fail) and not n.then[0].statement]


@pytest.mark.parametrize("function", [found, sparse])
def test_conditions_are_tested(function: Callable[..., Any]) -> None:
    body = made(function)[1].body
    tests = _tests(body)
    assert len(tests) > 1
    for test in tests:
        (fail,) = test.then
        assert not is_proven(function, changed_one(body, test))
        other = replace(test, then=(replace(fail, fault=fail.fault + 1),))
        assert not is_proven(function, changed_one(body, test, other))
    first, second, *_ = tests
    wrong = replace(second, condition=first.condition)
    assert not is_proven(function, changed_one(body, second, wrong))


def test_a_size_is_what_was_found() -> None:
    body = made(found)[1].body
    for bind in [d for d in nodes(Declare, body) if d.dtype is I64 and not d.statement]:
        more = replace(bind, value=add(bind.value, integer(1)))
        assert not is_proven(found, changed_one(body, bind, more))
        again = SetLocal(bind.name, I64, 1, integer(1))
        assert not is_proven(found, changed_one(body, bind, bind, again))


def test_memory_has_its_extent() -> None:
    body = made(found)[1].body
    (memory,) = nodes(AllocateArray, body)
    for shape in ((integer(5),), (add(memory.array.shape[0], integer(-1)),)):
        less = AllocateArray(replace(memory.array, shape=shape))
        assert not is_proven(found, changed_one(body, memory, less))


def test_a_loop_runs_as_long_as_the_source_says() -> None:
    body = made(found)[1].body
    (loop,) = nodes(While, body)
    assert not is_proven(found, changed_one(body, loop, If(loop.condition, loop.body)))
    assert not is_proven(found, changed_one(body, loop, replace(loop, body=(*loop.body, Break()))))
    assert not is_proven(found, changed_one(body, loop, loop, loop))


def test_rows_are_those_of_the_source() -> None:
    body = made(sparse)[1].body
    outer = next(n for n in body if isinstance(n, For))
    assert outer.kind is LoopKind.PARALLEL
    for other in (
        replace(outer, upper=add(outer.upper, integer(-1))),
        replace(outer, lower=integer(1)),
        replace(outer, step=2),
    ):
        assert not is_proven(sparse, changed_one(body, outer, other))
    assert is_proven(sparse, changed_one(body, outer, replace(outer, kind=LoopKind.SEQUENTIAL)))


def test_what_an_iteration_keeps_is_its_own() -> None:
    """Arrays of an iteration, declared outside the parallel loop, would be shared by threads."""
    program, loops = made(sparse)
    outer = next(n for n in loops.body if isinstance(n, For))
    own = tuple(n for n in outer.body if isinstance(n, DeclareArray))
    assert own
    rest = replace(outer, body=tuple(n for n in outer.body if n not in own))
    arrays = (*loops.arrays, *(node.array for node in own))
    shared = replace(loops, body=changed_one(loops.body, outer, rest), arrays=arrays)
    assert not certify(program, shared).is_proven
    alone = replace(rest, kind=LoopKind.SEQUENTIAL)
    shared = replace(shared, body=changed_one(loops.body, outer, alone))
    assert certify(program, shared).is_proven


def test_iterations_that_need_each_other_run_in_order() -> None:
    body = made(chained)[1].body
    outer = next(n for n in body if isinstance(n, For))
    assert outer.kind is LoopKind.SEQUENTIAL
    together = replace(outer, kind=LoopKind.PARALLEL)
    assert not is_proven(chained, changed_one(body, outer, together))


def test_a_library_call_takes_and_gives_the_sources_arrays() -> None:
    body = made(solved)[1].body
    (call,) = nodes(CallLibrary, body)
    for other in (
        replace(call, site=call.site + 1),
        replace(call, inputs=call.inputs[::-1]),
        replace(call, outputs=call.inputs[-1:]),
    ):
        assert not is_proven(solved, changed_one(body, call, other))


def test_a_local_does_not_outlive_a_library_call() -> None:
    """What was loaded before the call is not what the call leaves there."""
    body = made(picked)[1].body
    (call,) = nodes(CallLibrary, body)
    (read,) = {p for n in nodes(Assign, body) for p in walk(n.value) if isinstance(p, Load)}
    assert read.array in {array.name for array in call.outputs}
    early = Declare("early", F64, 1, read)
    late = edited(body, lambda n: replace(n, value=local("early")) if isinstance(n, Assign) else n)
    assert not is_proven(picked, changed_one(late, call, early, call))
    assert is_proven(picked, changed_one(late, call, call, early))
