"""The interpreter against values worked out by hand, and its refusals."""

from __future__ import annotations

from random import Random

import islpy as isl
import numpy as np
import pytest

from polyopt.errors import InternalError
from polyopt.ir.evaluate import Frame, compile_expr
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Call,
    Cast,
    Const,
    Expr,
    Iter,
    Load,
    MathFunc,
    Param,
    Symbol,
    Unary,
    UnaryOp,
    VectorLoad,
    integer,
    sub,
)
from polyopt.ir.interp import Trace, run_loops, run_scop
from polyopt.ir.loops import Assign, Declare, For, LoopFunction, LoopKind, SetLocal
from polyopt.ir.scop import Array, Reduction, Role, Scop, Statement
from polyopt.ir.types import DType
from tests.oracle.program import as_program

F64, I = DType.FLOAT64, Iter("i")
LENGTH = (Param("N"),)


def value(expr: Expr) -> object:
    return compile_expr(expr)(Frame({}, {}, {}))


@pytest.mark.parametrize(
    "expr, want",
    [
        (Binary(BinaryOp.FLOORDIV, integer(-7), integer(2), DType.INT64), np.int64(-4)),
        (Binary(BinaryOp.MOD, integer(-7), integer(3), DType.INT64), np.int64(2)),
        (Binary(BinaryOp.MOD, integer(7), integer(-3), DType.INT64), np.int64(-2)),
        (
            Binary(BinaryOp.ADD, Const(250, DType.UINT8), Const(10, DType.UINT8), DType.UINT8),
            np.uint8(4),
        ),
        (Unary(UnaryOp.NEG, Const(-128, DType.INT8), DType.INT8), np.int8(-128)),
        (Cast(Const(-1.9, F64), DType.INT32), np.int32(-1)),
        (Cast(Const(300, DType.INT64), DType.UINT8), np.uint8(44)),
        (Cast(Const(0.1, F64), DType.BOOL), np.bool_(True)),
        (
            Binary(
                BinaryOp.ADD, Const(0.1, DType.FLOAT32), Const(0.2, DType.FLOAT32), DType.FLOAT32
            ),
            np.float32(0.1) + np.float32(0.2),
        ),
        (
            Call(MathFunc.FMA, (Const(2.0, F64), Const(3.0, F64), Const(1.0, F64)), F64),
            np.float64(7),
        ),
    ],
)
def test_scalar_arithmetic(expr: Expr, want: np.generic) -> None:
    with np.errstate(all="ignore"):
        got = value(expr)
    assert type(got) is type(want)
    assert got == want


def test_minimum_propagates_nan() -> None:
    nan = Const(float("nan"), F64)
    assert np.isnan(value(Binary(BinaryOp.MIN, Const(1.0, F64), nan, F64)))
    assert np.isnan(value(Binary(BinaryOp.MAX, nan, Const(1.0, F64), F64)))


def prefix_sum() -> Scop:
    """Return `for i in range(1, N): A[i] = A[i - 1] + A[i]`."""
    domain = isl.Set("[N] -> { S0[i] : 1 <= i < N }")
    rule = Binary(BinaryOp.ADD, Load("A", (sub(I, integer(1)),), F64), Load("A", (I,), F64), F64)
    statement = Statement(
        "S0", ("i",), domain, (integer(0), I, integer(0)), Load("A", (I,), F64), rule, None, ""
    )
    arrays = (Array("A", F64, LENGTH, Role.INOUT),)
    return Scop(("N",), isl.Set("[N] -> { : N >= 0 }"), arrays, (statement,))


def test_original_order_and_trace() -> None:
    array = np.arange(5.0)
    trace: Trace = []
    run_scop(prefix_sum(), {"A": array}, {"N": 5}, trace=trace)
    assert array.tolist() == [0, 1, 3, 6, 10]
    assert trace == [("S0", (i,)) for i in range(1, 5)]


def test_given_order() -> None:
    array = np.arange(5.0)
    backwards = isl.UnionMap("[N] -> { S0[i] -> [-i] }")
    run_scop(prefix_sum(), {"A": array}, {"N": 5}, order=backwards)
    assert array.tolist() == [0, 1, 3, 5, 7]
    again = np.arange(5.0)
    run_scop(prefix_sum(), {"A": again}, {"N": 5}, order=lambda _, point: (-point[0],))
    assert again.tolist() == array.tolist()


def test_an_order_must_cover_every_instance() -> None:
    partial = isl.UnionMap("[N] -> { S0[i] -> [i] : i > 2 }")
    with pytest.raises(InternalError, match="misses S0"):
        run_scop(prefix_sum(), {"A": np.arange(5.0)}, {"N": 5}, order=partial)


def test_outside_an_array() -> None:
    with pytest.raises(InternalError, match="outside the shape"):
        run_scop(prefix_sum(), {"A": np.arange(3.0)}, {"N": 5})


def test_outside_the_context() -> None:
    with pytest.raises(InternalError, match="outside the context"):
        run_scop(prefix_sum(), {"A": np.arange(3.0)}, {"N": -1})


def test_guard_and_temporary() -> None:
    scop = prefix_sum()
    (statement,) = scop.statements
    temp = Array("t", F64, (), Role.TEMP)
    read = Statement(
        "S0",
        ("i",),
        statement.domain,
        statement.order,
        statement.target,
        Load("t", (), F64),
        None,
        "",
    )
    array = np.arange(3.0)
    run_scop(Scop(scop.params, scop.context, (*scop.arrays, temp), (read,)), {"A": array}, {"N": 3})
    assert array[0] == 0
    assert np.isnan(array[1:]).all()


def loop(kind: LoopKind, body: tuple[object, ...], **more: object) -> LoopFunction:
    program = as_program(prefix_sum())
    node = For("i", integer(1), Param("N"), 1, kind, body).annotated(**more)  # type: ignore[arg-type]
    return LoopFunction("f", program.scop.arrays, ("N",), program.signature, (node,))


def test_parallel_conflicts_are_found() -> None:
    (statement,) = prefix_sum().statements
    body = (Assign(statement.target, statement.value, "S0", (I,)),)
    array = np.arange(5.0)
    run_loops(loop(LoopKind.PARALLEL, body), {"A": array}, {"N": 5})
    assert array.tolist() == [0, 1, 3, 6, 10]
    with pytest.raises(InternalError, match="parallel loop i: iterations"):
        run_loops(loop(LoopKind.PARALLEL, body), {"A": np.arange(5.0)}, {"N": 5}, shuffle=Random(1))


def test_locals_of_an_iteration_are_private_but_outer_ones_are_not() -> None:
    temp = Symbol("t", F64)
    inside = (Declare("t", F64, 1, Load("A", (I,), F64)), Assign(Load("A", (I,), F64), temp))
    run_loops(loop(LoopKind.PARALLEL, inside), {"A": np.arange(5.0)}, {"N": 5}, shuffle=Random(1))
    shared = (SetLocal("t", F64, 1, Load("A", (I,), F64)), Assign(Load("A", (I,), F64), temp))
    fn = loop(LoopKind.PARALLEL, shared)
    zero = Declare("t", F64, 1, Const(0.0, F64))
    outer = LoopFunction("f", fn.arrays, fn.params, fn.signature, (zero, *fn.body))
    with pytest.raises(InternalError, match=r"touch t\[\]"):
        run_loops(outer, {"A": np.arange(5.0)}, {"N": 5}, shuffle=Random(1))


def test_declared_reductions_are_combined() -> None:
    total = Symbol("t", F64)
    step = SetLocal("t", F64, 1, Binary(BinaryOp.ADD, total, Load("A", (I,), F64), F64))
    fn = loop(LoopKind.PARALLEL, (step,), reductions=((BinaryOp.ADD, total),))
    body = (
        Declare("t", F64, 1, Const(5.0, F64)),
        *fn.body,
        Assign(Load("A", (integer(0),), F64), total),
    )
    array = np.arange(8.0)
    run_loops(
        LoopFunction("f", fn.arrays, fn.params, fn.signature, body),
        {"A": array},
        {"N": 8},
        shuffle=Random(3),
    )
    assert array[0] == 5 + sum(range(1, 8))


def test_vector_nodes() -> None:
    lanes = VectorLoad("A", (integer(0),), F64, 4)
    shifted = VectorLoad("A", (integer(4),), F64, 4)
    double = Binary(BinaryOp.ADD, lanes, lanes, F64)
    program = as_program(prefix_sum())
    fn = LoopFunction(
        "f", program.scop.arrays, ("N",), program.signature, (Assign(shifted, double),)
    )
    array = np.arange(8.0)
    run_loops(fn, {"A": array}, {"N": 8})
    assert array.tolist() == [0, 1, 2, 3, 0, 2, 4, 6]
    with pytest.raises(InternalError, match="3 elements after it"):
        run_loops(fn, {"A": np.arange(7.0)}, {"N": 7})


def test_vectors_of_every_second_element() -> None:
    apart = VectorLoad("A", (integer(1),), F64, 3, 2)
    assert apart.span == 5
    target = VectorLoad("A", (integer(0),), F64, 3)
    program = as_program(prefix_sum())
    body = (Assign(target, apart),)
    fn = LoopFunction("f", program.scop.arrays, ("N",), program.signature, body)
    array = np.arange(6.0)
    run_loops(fn, {"A": array}, {"N": 6})
    assert array.tolist() == [1, 3, 5, 3, 4, 5]
    with pytest.raises(InternalError, match="4 elements after it"):
        run_loops(fn, {"A": np.arange(5.0)}, {"N": 5})


def test_a_reduction_that_reads_its_accumulator_twice_is_ordered() -> None:
    (statement,) = prefix_sum().statements
    own = Load("A", (integer(0),), F64)
    once = Binary(BinaryOp.ADD, own, Load("A", (I,), F64), F64)
    twice = Binary(BinaryOp.ADD, own, Binary(BinaryOp.MUL, own, Load("A", (I,), F64), F64), F64)
    for rule, free in ((once, True), (twice, False)):
        made = Statement(
            "S0", ("i",), statement.domain, statement.order, own, rule, None, "",
            Reduction(BinaryOp.ADD, True),
        )  # fmt: skip
        assert made.is_reassociable is free
