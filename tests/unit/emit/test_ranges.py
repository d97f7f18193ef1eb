"""What is known of sizes and iterators inside loops and conditions, against all small values."""

from __future__ import annotations

import pytest

from polyopt.emit.passes.simplify import folded
from polyopt.emit.ranges import Ranges
from polyopt.ir.expr import Binary, BinaryOp, Compare, CompareOp, Const, Expr, Iter, Param, integer
from polyopt.ir.integers import evaluate
from polyopt.ir.loops import For, LoopKind
from polyopt.ir.types import DType

N, i = Param("N"), Iter("i")
SIZES = Ranges(params={"N": 0})


def b(op: str, left: Expr, right: Expr | int) -> Binary:
    right = integer(right) if isinstance(right, int) else right
    return Binary(BinaryOp(op), left, right, DType.INT64)


def compare(op: str, left: Expr, right: Expr | int) -> Compare:
    return Compare(CompareOp(op), left, integer(right) if isinstance(right, int) else right)


def loop(name: str, lower: Expr, upper: Expr) -> For:
    return For(name, lower, upper, 1, LoopKind.SEQUENTIAL, ())


def quotient(value: Expr, by: int) -> Binary:
    return b("//", value, by)


FOUR_TIMES = b("*", integer(4), i)  # as tiled bounds have it
TILES = b("+", quotient(b("-", N, 1), 4), 1)


@pytest.mark.parametrize(
    "upper, condition, is_known",
    [
        (TILES, compare(">", N, b("*", i, 4)), True),
        (TILES, compare("<", b("*", i, 8), b("*", N, 2)), True),
        (TILES, compare(">", N, b("+", b("*", i, 4), 1)), False),
        (TILES, compare(">", N, b("*", i, 6)), False),
        (quotient(N, 4), compare(">", N, b("+", b("*", i, 4), 3)), True),
        (quotient(N, 4), compare(">", N, b("+", b("*", i, 4), 4)), False),
        (TILES, compare(">", b("min", N, b("+", FOUR_TIMES, 4)), FOUR_TIMES), True),
        (TILES, compare(">", b("min", N, b("+", FOUR_TIMES, 4)), b("+", FOUR_TIMES, 1)), False),
        (N, compare("<", b("*", i, 2), b("-", b("*", N, 2), 1)), True),
        (N, compare("<", b("*", i, 2), b("-", b("*", N, 2), 2)), False),
    ],
)
def test_comparisons_that_a_loop_decides(upper: Expr, condition: Compare, is_known: bool) -> None:
    inside = SIZES.inside(loop("i", integer(0), upper))
    assert (folded(condition, inside) == Const(True, DType.BOOL)) is is_known
    values = []
    for size in range(20):
        for point in range(evaluate(upper, {"N": size})):
            values.append(evaluate(condition, {"N": size, "i": point}))
    assert all(values) is is_known


@pytest.mark.parametrize(
    "condition, value, least",
    [
        (compare(">=", N, 7), N, 7),
        (compare(">", N, b("*", i, 3)), N, 1),
        (compare("<", integer(5), N), N, 6),
        (compare("<=", b("+", b("*", i, 2), 3), N), N, 3),
        (compare(">=", b("%", N, 4), 2), N, 2),
        (compare(">=", i, 3), b("+", i, N), 3),
        (
            Binary(BinaryOp.AND, compare(">=", N, 9), compare(">", i, 1), DType.BOOL),
            b("+", N, i),
            11,
        ),
        (compare("!=", N, 0), N, 0),
        (compare(">=", b("*", N, 2), 9), N, 0),
    ],
)
def test_what_a_condition_says_of_sizes_and_iterators(
    condition: Expr, value: Expr, least: int
) -> None:
    found = SIZES.inside(loop("i", integer(0), N)).where(condition)
    assert found.least(value) == least
    points = [{"N": size, "i": point} for size in range(20) for point in range(size + 9)]
    assert min(evaluate(value, at) for at in points if evaluate(condition, at)) >= least


@pytest.mark.parametrize("by, more", [(4, 1), (4, 2), (384, 1), (1, 1)])
def test_a_quotient_and_a_constant_are_one_quotient_where_that_is_no_floor(
    by: int, more: int
) -> None:
    written = b("+", quotient(b("-", N, 1), by), more)
    made = folded(written, SIZES)
    assert isinstance(made, Binary)
    assert made.op is BinaryOp.FLOORDIV
    assert SIZES.is_nonnegative(made.left)
    assert all(evaluate(made, {"N": n}) == evaluate(written, {"N": n}) for n in range(900))


TILE, LANE = Iter("t"), Iter("lane")


def known_in(lower: Expr, upper: Expr) -> Ranges:
    """Return what is known in a loop over `i` inside those over hands and rounds."""
    outside = SIZES.inside(loop("lane", integer(0), b("min", integer(8), N)))
    return outside.inside(loop("t", integer(0), N)).inside(loop("i", lower, upper))


START = b("+", b("*", LANE, 16), b("*", TILE, 128))


@pytest.mark.parametrize(
    ("lower", "upper", "index", "is_known"),
    [
        (START, b("+", START, 16), i, True),
        (b("max", integer(1), START), b("min", N, b("+", START, 16)), i, True),
        (START, b("+", START, 16), b("+", i, 256), True),
        (START, b("+", START, 17), i, False),  # the last of a hand would be the next round's first
        (START, N, i, False),
        (START, b("+", START, 15), b("+", i, 1), True),
        (START, b("+", START, 16), b("-", i, 1), False),
        (integer(3), b("min", N, integer(128)), i, True),
        (integer(3), b("min", N, integer(129)), i, False),
    ],
)
def test_remainders_that_a_loop_decides(
    lower: Expr, upper: Expr, index: Expr, is_known: bool
) -> None:
    found = known_in(lower, upper).remainder(index, 128)
    assert (found is not None) == is_known
    for size in (5, 200):
        for lane in range(min(8, size)):
            for tile in range(3):
                env = {"N": size, "lane": lane, "t": tile}
                for number in range(evaluate(lower, env), evaluate(upper, env)):
                    env["i"] = number
                    if found is not None:
                        assert evaluate(found, env) == evaluate(index, env) % 128


K = Param("K")


@pytest.mark.parametrize(
    ("conditions", "value", "least"),
    [
        ([compare(">=", N, K)], b("+", b("-", N, K), 1), 1),
        ([compare(">", N, K)], b("-", N, K), 1),
        ([compare(">=", N, b("+", K, 3)), compare(">=", N, K)], b("-", N, K), 3),
        ([compare("<=", b("*", K, 2), N)], b("-", N, b("*", K, 2)), 0),
        ([compare(">=", N, K)], b("-", N, b("*", K, 2)), None),
        ([compare(">=", N, K)], b("-", K, N), None),
    ],
)
def test_differences_of_sizes_that_conditions_compare(conditions, value, least):
    known = Ranges(params={"N": 0, "K": 0})
    for condition in conditions:
        known = known.where(condition)
    assert known.least(value) == least
    for n in range(9):
        for k in range(9):
            sizes = {"N": n, "K": k}
            if least is not None and all(evaluate(one, sizes) for one in conditions):
                assert evaluate(value, sizes) >= least
