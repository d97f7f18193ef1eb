"""Index arithmetic in 64 bits: every step of it is seen, and nothing that fits is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

import polyopt as po
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Expr,
    Iter,
    Param,
    Select,
    Symbol,
    Unary,
    UnaryOp,
    add,
    integer,
)
from polyopt.ir.loops import Assign, Body, Declare, For, If, LoopKind, SetLocal
from polyopt.ir.source import LARGEST_SIZE
from polyopt.proof import Verdict
from polyopt.proof.widths import MOST, check_widths, fits
from tests.unit.proof.edits import I64, SIZE, I, element, loops_of, number

# ruff: noqa: F821, UP037 - sizes are named by strings


def copied(x: po.f64["N"], out: po.f64["N"]):
    for i in range(x.shape[0]):
        out[i] = x[i]


def op(kind: BinaryOp, left: Expr, right: Expr | int) -> Binary:
    return Binary(kind, left, integer(right) if isinstance(right, int) else right, I64)


def times(left: Expr, factor: int) -> Binary:
    return op(BinaryOp.MUL, left, factor)


def plus(left: Expr, right: Expr | int) -> Binary:
    return op(BinaryOp.ADD, left, right)


def minus(left: Expr, right: Expr) -> Binary:
    return op(BinaryOp.SUB, left, right)


def at(index: Expr, *, lower: Expr | None = None, upper: Expr = SIZE, step: int = 1) -> Body:
    put = Assign(element("out", index), number(0.0))
    low = integer(0) if lower is None else lower
    return (For("i", low, upper, step, LoopKind.SEQUENTIAL, (put,)),)


def is_narrow(body: Body, bound: tuple[str, ...] = ()) -> bool:
    claim = check_widths(replace(loops_of(copied), body=body), bound)
    assert claim.verdict in (Verdict.PROVEN, Verdict.OPEN)
    assert (claim.verdict is Verdict.PROVEN) is not claim.reason.endswith("may overflow")
    return claim.verdict is Verdict.PROVEN


LIMIT = MOST // LARGEST_SIZE  # the largest factor of a size
UP, DOWN = LIMIT, LIMIT + 1


@pytest.mark.parametrize(
    ("fitting", "wide"),
    [
        (times(SIZE, UP), times(SIZE, DOWN)),
        (times(I, UP), times(I, 2 * DOWN)),
        (plus(times(SIZE, UP - 1), SIZE), plus(times(SIZE, UP), plus(SIZE, SIZE))),
        (
            op(BinaryOp.SUB, SIZE, times(SIZE, -UP + 1)),
            op(BinaryOp.SUB, SIZE, times(SIZE, -UP - 1)),
        ),
        (times(op(BinaryOp.MIN, SIZE, 3), 2**53), times(op(BinaryOp.MIN, SIZE, 3), 2**62)),
        (times(op(BinaryOp.MAX, SIZE, 3), UP), times(op(BinaryOp.MAX, SIZE, 3), DOWN)),
        (
            times(op(BinaryOp.MOD, SIZE, 512), 2**53),
            times(op(BinaryOp.MOD, SIZE, 2048), 2**53),
        ),
        (times(op(BinaryOp.MOD, SIZE, -512), 2**53), times(op(BinaryOp.MOD, SIZE, -2048), 2**53)),
        (times(op(BinaryOp.FLOORDIV, SIZE, 2), UP), times(op(BinaryOp.FLOORDIV, SIZE, 2), 3 * UP)),
        (Unary(UnaryOp.NEG, times(SIZE, UP), I64), Unary(UnaryOp.NEG, times(SIZE, DOWN), I64)),
        (Unary(UnaryOp.ABS, times(SIZE, UP), I64), Unary(UnaryOp.ABS, times(SIZE, DOWN), I64)),
        (
            Select(Compare(CompareOp.LT, I, SIZE), SIZE, times(SIZE, UP), I64),
            Select(Compare(CompareOp.LT, I, SIZE), SIZE, times(SIZE, DOWN), I64),
        ),
        (
            Select(Compare(CompareOp.LT, times(I, UP), SIZE), I, SIZE, I64),
            Select(Compare(CompareOp.LT, times(I, 2 * DOWN), SIZE), I, SIZE, I64),
        ),
    ],
    ids=[
        *("size", "iterator", "sum", "difference", "minimum", "maximum", "remainder"),
        *("negative remainder", "quotient", "negated", "absolute", "choice", "condition"),
    ],
)
def test_a_subscript_fits_or_does_not(fitting: Expr, wide: Expr) -> None:
    assert is_narrow(at(fitting))
    assert not is_narrow(at(wide))


def test_a_step_inside_that_does_not_fit_counts() -> None:
    back = op(BinaryOp.SUB, times(SIZE, DOWN), times(SIZE, DOWN))
    assert not is_narrow(at(plus(I, back)))
    assert not is_narrow(at(op(BinaryOp.FLOORDIV, times(SIZE, DOWN), DOWN)))


@pytest.mark.parametrize("where", ["lower", "upper"])
def test_bounds_of_loops_fit(where: str) -> None:
    assert is_narrow(at(I, **{where: times(SIZE, UP - 1)}))
    assert not is_narrow(at(I, **{where: times(SIZE, DOWN)}))


def test_the_iterator_after_the_last_iteration_fits() -> None:
    assert is_narrow(at(integer(0), step=MOST - LARGEST_SIZE))
    assert not is_narrow(at(integer(0), step=MOST))


def test_conditions_fit() -> None:
    def tested(left: Expr) -> Body:
        condition = Compare(CompareOp.LT, left, integer(5))
        return (If(condition, at(I)),)

    assert is_narrow(tested(times(SIZE, UP)))
    assert not is_narrow(tested(times(SIZE, DOWN)))


def test_subscripts_within_values_and_conditions_fit() -> None:
    wide = element("x", times(SIZE, DOWN))
    for index, is_right in ((I, True), (times(SIZE, DOWN), False)):
        cell = element("x", index)
        put = replace(at(I)[0], body=(Assign(element("out", I), cell),))
        test = If(Compare(CompareOp.LT, cell, number(0.0)), at(I))
        assert is_narrow((put,)) is is_right
        assert is_narrow((test,)) is is_right
    assert not is_narrow((Declare("w", wide.dtype, 1, wide),))


def test_locals_of_the_loops_have_the_values_they_are_set_to() -> None:
    w = Symbol("w", I64)
    assert is_narrow((Declare("w", I64, 1, op(BinaryOp.MIN, SIZE, 3)), *at(times(w, DOWN))))
    assert not is_narrow((Declare("w", I64, 1, SIZE), *at(times(w, DOWN))))
    assert not is_narrow((Declare("w", I64, 1, times(SIZE, DOWN)),))
    reset = SetLocal("w", I64, 1, times(SIZE, DOWN))
    assert not is_narrow((Declare("w", I64, 1, integer(0)), reset))


def test_sizes_found_on_the_way_are_sizes() -> None:
    found = Param("k")
    assert is_narrow(at(times(found, UP)), ("k",))
    assert not is_narrow(at(times(found, DOWN)), ("k",))


def test_an_iterator_means_the_innermost_loop() -> None:
    def nested(first: Expr, second: Expr) -> Body:
        (inner,) = at(times(I, 2**40), upper=second)
        return (For("i", integer(0), first, 1, LoopKind.SEQUENTIAL, (inner,)),)

    assert is_narrow(nested(SIZE, integer(4)))
    assert not is_narrow(nested(integer(4), SIZE))


def test_an_expression_fits_at_its_place() -> None:
    (loop,) = at(I)
    assert isinstance(loop, For)
    assert fits(plus(I, 1), (loop,), ("N",))
    assert not fits(times(I, 2 * DOWN), (loop,), ("N",))
    assert fits(times(I, 2 * DOWN), (replace(loop, upper=integer(1000)),), ("N",))
    assert fits(add(Iter("i"), SIZE), (), ("N", "i"))
