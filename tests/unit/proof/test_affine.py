"""Index expressions as isl functions: the same value as Python's at every point."""

from __future__ import annotations

from itertools import product

import islpy as isl
import pytest

from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Const,
    Expr,
    Iter,
    Load,
    Param,
    Select,
    Symbol,
    Unary,
    UnaryOp,
    add,
    integer,
    sub,
)
from polyopt.ir.integers import evaluate
from polyopt.ir.types import DType
from polyopt.proof.affine import Frame, NotAffine

FRAME = Frame(("n",), ("i", "j"))
I64, BOOL = DType.INT64, DType.BOOL
n, i, j = Param("n"), Iter("i"), Iter("j")
POINTS = list(product((-3, 0, 7), range(-6, 7, 2), range(-5, 6, 3)))


def op(kind: BinaryOp, left: Expr, right: Expr) -> Binary:
    return Binary(kind, left, right, I64)


def divided(left: Expr, by: int) -> Expr:
    return op(BinaryOp.FLOORDIV, left, integer(by))


def rest(left: Expr, by: int) -> Expr:
    return op(BinaryOp.MOD, left, integer(by))


def times(factor: int, right: Expr) -> Expr:
    return op(BinaryOp.MUL, integer(factor), right)


least, most = op(BinaryOp.MIN, i, j), op(BinaryOp.MAX, sub(n, i), j)
VALUES = [
    add(op(BinaryOp.MUL, integer(3), i), sub(n, j)),
    *(divided(add(i, n), by) for by in (1, 3, -3, -1)),
    *(rest(sub(i, j), by) for by in (1, 4, -4, -1)),
    op(BinaryOp.MUL, op(BinaryOp.ADD, i, n), integer(-2)),
    least,
    most,
    divided(least, -3),
    rest(most, -5),
    op(BinaryOp.MUL, least, integer(-2)),
    op(BinaryOp.SUB, most, least),
    Unary(UnaryOp.NEG, most, I64),
    Select(Compare(CompareOp.LT, i, j), rest(i, 3), least, I64),
]


@pytest.mark.parametrize("number", range(len(VALUES)))
def test_values(number: int) -> None:
    expr = VALUES[number]
    function = FRAME.pw(expr)
    for size, one, two in POINTS:
        point = FRAME.universe.intersect(at(size, one, two)).sample_point()
        found = function.eval(point).to_python()
        assert found == evaluate(expr, {"n": size, "i": one, "j": two}), (size, one, two)


def test_absolute_values() -> None:
    function = FRAME.pw(Unary(UnaryOp.ABS, sub(i, j), I64))
    for size, one, two in POINTS:
        point = FRAME.universe.intersect(at(size, one, two)).sample_point()
        assert function.eval(point).to_python() == abs(one - two)


def at(size: int, one: int, two: int) -> isl.Set:
    return isl.Set(f"[n] -> {{ [i = {one}, j = {two}] : n = {size} }}")


def both(kind: BinaryOp, left: Expr, right: Expr) -> Expr:
    return Binary(kind, left, right, BOOL)


low = Compare(CompareOp.LE, i, integer(2))
CONDITIONS = [
    *(Compare(kind, divided(i, -2), rest(j, 3)) for kind in CompareOp),
    *(Compare(kind, least, n) for kind in CompareOp),
    *(Compare(kind, sub(divided(add(i, n), 3), j), sub(n, i)) for kind in CompareOp),
    *(Compare(kind, add(i, n), sub(j, divided(sub(j, n), 4))) for kind in CompareOp),
    *(Compare(kind, i, divided(most, -2)) for kind in CompareOp),
    *(Compare(kind, i, add(j, times(-2, most))) for kind in CompareOp),
    *(Compare(kind, i, Unary(UnaryOp.NEG, most, I64)) for kind in CompareOp),
    *(Compare(kind, add(divided(most, 2), i), least) for kind in CompareOp),
    *(Compare(kind, sub(n, times(-3, most)), sub(divided(least, 5), i)) for kind in CompareOp),
    *(Compare(kind, i, sub(divided(times(-2, least), 3), divided(most, -2))) for kind in CompareOp),
    *(both(kind, low, Compare(CompareOp.NE, j, n)) for kind in (BinaryOp.AND, BinaryOp.OR)),
    both(BinaryOp.XOR, low, Compare(CompareOp.LT, j, integer(1))),
    Unary(UnaryOp.INVERT, low, BOOL),
    Const(True, BOOL),
    Const(False, BOOL),
]


@pytest.mark.parametrize("number", range(len(CONDITIONS)))
def test_conditions(number: int) -> None:
    expr = CONDITIONS[number]
    holds = FRAME.condition(expr)
    for size, one, two in POINTS:
        found = not holds.intersect(at(size, one, two)).is_empty()
        assert found == truth(expr, {"n": size, "i": one, "j": two}), (size, one, two)


def truth(expr: Expr, names: dict[str, int]) -> bool:
    match expr:
        case Const():
            return bool(expr.value)
        case Compare():
            one, two = evaluate(expr.left, names), evaluate(expr.right, names)
            return bool(eval(f"{one} {expr.op.value} {two}"))
        case Unary():
            return not truth(expr.operand, names)
        case Binary():
            one, two = truth(expr.left, names), truth(expr.right, names)
            return bool(eval(f"{one} {expr.op.value} {two}"))
        case _:
            raise AssertionError(expr)


@pytest.mark.parametrize(
    "expr",
    [
        op(BinaryOp.MUL, i, j),
        op(BinaryOp.MUL, least, n),
        divided(i, 0),
        rest(least, 0),
        op(BinaryOp.FLOORDIV, i, n),
        op(BinaryOp.SHL, least, integer(1)),
        Load("a", (i,), I64),
        Symbol("k", I64),
        Symbol("i", I64, 4),
        Iter("k"),
        Const(1.5, DType.FLOAT64),
    ],
    ids=str,
)
def test_what_is_not_affine_is_refused(expr: Expr) -> None:
    with pytest.raises(NotAffine):
        FRAME.pw(expr)


def test_bounds_and_steps() -> None:
    bound = op(BinaryOp.MAX, integer(2), j)
    inside = FRAME.at_least("i", bound).intersect(FRAME.stepped("i", bound, 3))
    inside = inside.intersect(FRAME.below("i", op(BinaryOp.MIN, n, integer(12))))
    for size, two in product((4, 20), (-1, 5)):
        want = set(range(max(2, two), min(size, 12), 3))
        found = {one for one in range(-9, 20) if not inside.is_disjoint(at(size, one, two))}
        assert found == want
