"""Expressions: folding, walking, linear forms, evaluation, printing."""

from __future__ import annotations

from random import Random

import pytest

from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Broadcast,
    Call,
    Cast,
    Compare,
    CompareOp,
    Const,
    Expr,
    Iter,
    Load,
    MathFunc,
    Param,
    Select,
    Symbol,
    Unary,
    UnaryOp,
    VectorLoad,
    add,
    children,
    integer,
    loads,
    mul,
    rewrite,
    sub,
    substitute,
    walk,
    with_children,
)
from polyopt.ir.integers import evaluate
from polyopt.ir.linear import Linear, from_linear, linear, normalize
from polyopt.ir.showing import show
from polyopt.ir.types import DType

I64, F64, BOOL = DType.INT64, DType.FLOAT64, DType.BOOL
i, j, N = Iter("i"), Iter("j"), Param("N")
a = Load("A", (i, add(j, integer(1))), F64)
b = Load("B", (), F64)


def binary(op, left, right, dtype=I64):
    return Binary(BinaryOp(op), left, right, dtype)


EVERY: tuple[Expr, ...] = (
    Const(2.5, F64),
    i,
    N,
    Symbol("alpha", F64),
    a,
    Unary(UnaryOp.NEG, a, F64),
    binary("*", a, b, F64),
    Compare(CompareOp.LT, a, b),
    Call(MathFunc.ATAN2, (a, b), F64),
    Select(Compare(CompareOp.LT, a, b), a, b, F64),
    Cast(i, F64),
    VectorLoad("A", (i, j), F64, 4),
    Broadcast(b, F64, 4),
)


@pytest.mark.parametrize("expr", EVERY, ids=show)
def test_children_put_back_make_the_same(expr):
    assert with_children(expr, children(expr)) == expr
    assert rewrite(expr, lambda part: None) is expr
    assert next(walk(expr)) is expr


@pytest.mark.parametrize("expr", EVERY, ids=show)
def test_every_part_can_be_replaced(expr):
    """Replacing each child by its double and looking at the children again."""
    parts = tuple(Broadcast(part, part.dtype, 2) for part in children(expr))
    assert children(with_children(expr, parts)) == parts


def test_rewrite_stops_at_an_answer():
    """Parents first; what a rule returns is not rewritten again."""
    grow = rewrite(add(i, i), lambda p: add(p, integer(1)) if isinstance(p, Iter) else None)
    assert show(grow) == "i + 1 + (i + 1)"
    top = rewrite(add(i, i), lambda p: integer(7) if isinstance(p, Binary) else None)
    assert top == integer(7)


def test_substitute_is_simultaneous():
    swapped = substitute(sub(i, j), {"i": j, "j": i})
    assert show(swapped) == "j - i"
    assert show(substitute(a, {"i": integer(0), "N": i})) == "A[0, j + 1]"


def test_loads_in_source_order_with_those_of_subscripts():
    nested = Load("C", (Load("P", (i,), I64),), F64)
    value = binary("+", binary("*", a, nested, F64), b, F64)
    assert [load.array for load in loads(value)] == ["A", "C", "P", "B"]


def test_folding():
    assert add(integer(2), integer(3)) == integer(5)
    assert add(i, integer(0)) == add(integer(0), i) == i
    assert sub(i, integer(0)) == i
    assert sub(integer(2), integer(5)) == integer(-3)
    assert mul(i, integer(1)) == mul(integer(1), i) == i
    assert mul(integer(6), integer(7)) == integer(42)


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (sub(add(mul(integer(2), N), i), sub(i, integer(1))), "2 * N + 1"),
        (sub(i, i), "0"),
        (Unary(UnaryOp.NEG, i, I64), "-i"),
        (sub(integer(3), i), "-i + 3"),
        (mul(integer(3), add(i, mul(j, integer(2)))), "3 * i + 6 * j"),
        (sub(mul(integer(-2), i), mul(integer(3), N)), "-(2 * i) - 3 * N"),
        (add(sub(integer(0), i), j), "j - i"),
        (binary("//", add(i, sub(j, i)), integer(4)), "j // 4"),
        (mul(i, j), "i * j"),
        (sub(binary("min", add(i, integer(0)), j), binary("min", i, j)), "0"),
        (Load("P", (sub(add(i, integer(1)), integer(1)),), I64), "P[i]"),
    ],
)
def test_normal_forms(expr, text):
    assert show(normalize(expr)) == text
    assert normalize(normalize(expr)) == normalize(expr)


def test_linear_forms_round_trip():
    value = Linear(-4, ((i, 2), (N, -1)))
    assert linear(from_linear(value)) == value
    assert from_linear(Linear(0, ())) == integer(0)
    assert linear(add(i, sub(j, i))) == Linear(0, ((j, 1),))


def random_expr(rng: Random, depth: int) -> Expr:
    if depth == 0 or rng.random() < 0.2:
        return rng.choice((i, j, N, integer(rng.randint(-4, 9))))
    left, right = random_expr(rng, depth - 1), random_expr(rng, depth - 1)
    choice = rng.randrange(9)
    match choice:
        case 0 | 1:
            return add(left, right)
        case 2:
            return sub(left, right)
        case 3:
            return mul(left, integer(rng.randint(-3, 3)))
        case 4:
            return Unary(UnaryOp.NEG, left, I64)
        case 5:
            return binary("//", left, integer(rng.choice((-3, 2, 5))))
        case 6:
            return binary("%", left, integer(rng.choice((-3, 2, 5))))
        case 7:
            return binary(rng.choice(("min", "max")), left, right)
        case _:
            condition = Compare(rng.choice(tuple(CompareOp)), left, right)
            return Select(condition, right, left, I64)


@pytest.mark.parametrize("seed", range(40))
def test_normal_forms_keep_the_value(seed):
    rng = Random(seed)
    for _ in range(10):
        expr = random_expr(rng, 4)
        for _ in range(5):
            env = {name: rng.randint(-9, 9) for name in ("i", "j", "N")}
            assert evaluate(normalize(expr), env) == evaluate(expr, env)


@pytest.mark.parametrize("seed", range(40))
def test_shown_expressions_are_python(seed):
    """The printed text, read by Python, has the expression's value."""
    rng = Random(seed)
    expr = random_expr(rng, 4)
    env = {name: rng.randint(-9, 9) for name in ("i", "j", "N")}
    scope = {"min": min, "max": max, "__builtins__": {}}
    assert eval(show(expr), scope, env) == evaluate(expr, env)


def test_python_s_rules_for_division():
    minus_seven = integer(-7)
    assert evaluate(binary("//", minus_seven, integer(2)), {}) == -4
    assert evaluate(binary("%", minus_seven, integer(2)), {}) == 1
    assert evaluate(binary("%", integer(7), integer(-2)), {}) == -1


def test_only_integer_expressions_have_a_value():
    with pytest.raises(TypeError, match=r"not an integer expression: A\[i, j \+ 1\]"):
        evaluate(a, {"i": 0, "j": 0})


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (binary("*", add(i, j), N), "(i + j) * N"),
        (sub(i, sub(j, N)), "i - (j - N)"),
        (sub(sub(i, j), N), "i - j - N"),
        (binary("**", Unary(UnaryOp.NEG, i, I64), integer(2)), "(-i) ** 2"),
        (Unary(UnaryOp.NEG, add(i, j), I64), "-(i + j)"),
        (Unary(UnaryOp.ABS, a, F64), "abs(A[i, j + 1])"),
        (Unary(UnaryOp.INVERT, Compare(CompareOp.EQ, i, j), BOOL), "~(i == j)"),
        (binary("max", i, add(j, integer(1))), "max(i, j + 1)"),
        (
            binary("&", Compare(CompareOp.LT, i, j), Compare(CompareOp.GE, i, N), BOOL),
            "(i < j) & (i >= N)",
        ),
        (Select(Compare(CompareOp.LT, i, j), a, b, F64), "A[i, j + 1] if i < j else B"),
        (Cast(i, F64), "float64(i)"),
        (Call(MathFunc.SQRT, (b,), F64), "sqrt(B)"),
        (binary("-", i, Unary(UnaryOp.NEG, j, I64)), "i - -j"),
    ],
)
def test_show(expr, text):
    assert show(expr) == text


def test_literals_are_told_apart_by_their_bits():
    zeros = {Const(value, DType.FLOAT64) for value in (0.0, -0.0)}
    assert len(zeros) == 2
    assert len({Const(value, DType.COMPLEX128) for value in (1 + 0j, complex(1, -0.0))}) == 2
    assert Const(float("nan"), DType.FLOAT64) == Const(-float("nan"), DType.FLOAT64)
    assert Const(1, DType.INT64) != Const(1, DType.FLOAT64)
