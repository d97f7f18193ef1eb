"""isl values from expressions: against Python's arithmetic, and what is refused."""

from __future__ import annotations

from random import Random

import islpy as isl
import pytest

from polyopt.errors import BudgetError
from polyopt.ir.affine import (
    NotAffine,
    coalesced,
    condition_set,
    in_one_piece,
    index_map,
    is_covered,
    param_space,
    pw_aff,
    quota,
    sample_point,
    set_space,
    time_map,
)
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Const,
    Iter,
    Load,
    Param,
    Select,
    Unary,
    UnaryOp,
    add,
    integer,
    mul,
    sub,
)
from polyopt.ir.integers import evaluate
from polyopt.ir.types import DType
from tests.checks import assert_same
from tests.unit.ir.test_expr import random_expr

I64, BOOL = DType.INT64, DType.BOOL
i, j, N = Iter("i"), Iter("j"), Param("N")
SPACE = set_space(("N",), "S", ("i", "j"))


def value_at(function, env):
    """Return a piecewise function's value at one point."""
    where = isl.Set.universe(SPACE)
    where = where.fix_val(isl.dim_type.param, 0, isl.Val(env["N"]))
    where = where.fix_val(isl.dim_type.set, 0, isl.Val(env["i"]))
    where = where.fix_val(isl.dim_type.set, 1, isl.Val(env["j"]))
    return int(function.intersect_domain(where).max_val().to_python())


def test_spaces():
    assert_same(isl.Set.universe(SPACE), "[N] -> { S[i, j] }")
    assert isl.Set.universe(param_space(("N", "M"))).is_equal(isl.Set("[N, M] -> { : }"))
    assert_same(isl.Set.universe(set_space((), "S0", ())), "{ S0[] }")


@pytest.mark.parametrize("seed", range(30))
def test_functions_agree_with_python(seed):
    rng = Random(seed)
    expr = random_expr(rng, 3)
    try:
        function = pw_aff(expr, SPACE)
    except NotAffine:
        pytest.fail(f"{expr} is affine")
    for _ in range(4):
        env = {name: rng.randint(-9, 9) for name in ("i", "j", "N")}
        assert value_at(function, env) == evaluate(expr, env)


def test_absolute_values_and_truth_values():
    magnitude = pw_aff(Unary(UnaryOp.ABS, sub(i, j), I64), SPACE)
    assert value_at(magnitude, {"i": 2, "j": 7, "N": 0}) == 5
    assert value_at(pw_aff(Const(True, BOOL), SPACE), {"i": 0, "j": 0, "N": 0}) == 1


@pytest.mark.parametrize(
    ("expr", "reason"),
    [
        (mul(i, j), "i * j multiplies two values that both vary"),
        (
            Binary(BinaryOp.FLOORDIV, i, N, I64),
            "i // N divides by something other than a nonzero constant",
        ),
        (
            Binary(BinaryOp.MOD, i, integer(0), I64),
            "i % 0 divides by something other than a nonzero constant",
        ),
        (Binary(BinaryOp.POW, i, integer(2), I64), "i ** 2 uses `**`"),
        (Iter("k"), "k is not an enclosing iterator or a size"),
        (Param("M"), "M is not an enclosing iterator or a size"),
        (add(i, Load("P", (j,), I64)), "P[j] is not built from iterators and sizes"),
        (Const(1.5, DType.FLOAT64), "1.5 is not built from iterators and sizes"),
    ],
)
def test_not_affine(expr, reason):
    with pytest.raises(NotAffine) as refused:
        pw_aff(expr, SPACE)
    assert str(refused.value) == reason


def test_division_by_negative_constants():
    for op in (BinaryOp.FLOORDIV, BinaryOp.MOD):
        for divisor in (integer(-3), Unary(UnaryOp.NEG, integer(3), I64)):
            expr = Binary(op, i, divisor, I64)
            for number in range(-7, 8):
                env = {"i": number, "j": 0, "N": 0}
                assert value_at(pw_aff(expr, SPACE), env) == evaluate(expr, env)


def less(left, right):
    return Compare(CompareOp.LT, left, right)


def join(op, left, right):
    return Binary(BinaryOp(op), left, right, BOOL)


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (less(i, N), "[N] -> { S[i, j] : i < N }"),
        (Compare(CompareOp.NE, i, j), "[N] -> { S[i, j] : i != j }"),
        (join("&", less(i, N), less(j, i)), "[N] -> { S[i, j] : j < i < N }"),
        (join("|", less(i, N), less(j, i)), "[N] -> { S[i, j] : i < N or j < i }"),
        (
            join("^", less(i, N), less(j, i)),
            "[N] -> { S[i, j] : (i < N and j >= i) or (i >= N and j < i) }",
        ),
        (Unary(UnaryOp.INVERT, less(i, N), BOOL), "[N] -> { S[i, j] : i >= N }"),
        (Const(True, BOOL), "[N] -> { S[i, j] }"),
        (Const(False, BOOL), "[N] -> { S[i, j] : false }"),
        (
            Compare(CompareOp.EQ, Binary(BinaryOp.MOD, i, integer(3), I64), integer(1)),
            "[N] -> { S[i, j] : i mod 3 = 1 }",
        ),
        (
            less(Select(less(i, integer(0)), integer(0), i, I64), j),
            "[N] -> { S[i, j] : (i < 0 and 0 < j) or (i >= 0 and i < j) }",
        ),
    ],
)
def test_conditions(expr, text):
    assert_same(condition_set(expr, SPACE), text)


@pytest.mark.parametrize("op", list(CompareOp))
def test_every_comparison(op):
    found = condition_set(Compare(op, i, integer(2)), SPACE)
    for number in range(5):
        inside = not found.fix_val(isl.dim_type.set, 0, isl.Val(number)).is_empty()
        assert inside == bool(evaluate(Compare(op, integer(number), integer(2)), {}))


def test_conditions_on_elements_are_not_affine():
    for expr in (Load("B", (i,), BOOL), less(Load("P", (i,), I64), i), join("+", i, j)):
        with pytest.raises(NotAffine):
            condition_set(expr, SPACE)


def test_access_and_time_maps():
    domain = isl.Set("[N] -> { S[i, j] : 0 <= i < N and 0 <= j < i }")
    assert_same(
        index_map(domain, "A", (add(i, integer(1)), N)),
        "[N] -> { S[i, j] -> A[i + 1, N] : 0 <= i < N and 0 <= j < i }",
    )
    assert_same(index_map(domain, "s", ()), "[N] -> { S[i, j] -> s[] : 0 <= i < N and 0 <= j < i }")
    assert_same(
        time_map(domain, (integer(2), Unary(UnaryOp.NEG, i, I64)), 4),
        "[N] -> { S[i, j] -> [2, -i, 0, 0] : 0 <= i < N and 0 <= j < i }",
    )


def test_samples():
    assert sample_point(isl.Set("[N] -> { S[i] : 0 <= i < N and N < 0 }")) is None
    params, point = sample_point(isl.Set("[N] -> { S[i, j] : i = 3 and j = N and N = 7 }"))
    assert (params, point) == ({"N": 7}, (3, 7))


def test_quota_stops_long_queries_and_is_lifted():
    hard = isl.Set("[N] -> { [a, b, c] : 7a + 11b + 13c = N and 0 <= a, b, c <= N }")
    with pytest.raises(BudgetError) as refused, quota(10):
        hard.lexmin()
    assert refused.value.code == "PO0701"
    assert refused.value.message == "an isl query needed over 10 operations of isl"
    assert isl.DEFAULT_CONTEXT.get_max_operations() == 0
    assert not hard.lexmin().is_empty()


def test_other_isl_errors_pass_through_a_quota():
    with pytest.raises(isl.Error), quota(10**6):
        isl.Set("{ [a] : }").intersect(isl.Set("{ [a, b] : }"))
    assert isl.DEFAULT_CONTEXT.get_max_operations() == 0


FLOORS = (
    "[N, M] -> { [i, j] : exists a : 2a = i + j and 0 <= i < N and 0 <= j < M; "
    "[i, j] : exists a : 2a = i + j + 1 and 0 <= i < N and 0 <= j < M }"
)


@pytest.mark.parametrize("kind", [isl.Set, isl.UnionSet])
def test_coalesced_elements_are_the_same(kind):
    value = kind.read_from_str(isl.DEFAULT_CONTEXT, FLOORS)
    assert coalesced(value).is_equal(value)
    assert value.is_equal(kind.read_from_str(isl.DEFAULT_CONTEXT, FLOORS))


def test_what_isl_cannot_coalesce_stays(monkeypatch):
    def fail(value):
        raise isl.Error("call to isl_set_coalesce failed: original tableau does not correspond")

    value = isl.Set.read_from_str(isl.DEFAULT_CONTEXT, FLOORS)
    monkeypatch.setattr(isl.Set, "coalesce", fail)
    assert coalesced(value) is value


def test_pieces_with_floors_that_fill_their_hull_are_one():
    pieces = isl.Set(
        "[n, k] -> { [p] : 0 <= p and 2*floor((n + k)/2) <= n + 2k - 2 - p;"
        " [p] : p = k - 1 and k > 0 and (n + k) mod 2 = 0 }"
    )
    joined = in_one_piece(pieces)
    assert joined.n_basic_set() == 1
    assert joined.is_equal(pieces)


def test_pieces_with_a_gap_stay_apart():
    pieces = isl.Set("[n] -> { [p] : 0 <= p < n; [p] : n < p <= 2n }")
    assert in_one_piece(pieces).is_equal(pieces)
    assert in_one_piece(pieces).n_basic_set() == 2


WHOLE = "[n] -> { A[i] : 0 <= i < n; B[i, j] : 0 <= i < n and 0 <= j < n }"
HALVES = "A[i] : 0 <= i < n and i mod 2 = 0; A[i] : 0 < i < n and i mod 2 = 1"


@pytest.mark.parametrize(
    "whole, parts, is_all",
    [
        (WHOLE, f"[n] -> {{ {HALVES}; B[i, j] : 0 <= i < n and 0 <= j <= n; C[n] }}", True),
        (WHOLE, f"[n] -> {{ {HALVES}; B[i, j] : 0 <= i < n and 0 < j <= n }}", False),
        (WHOLE, "[n] -> { A[i] : 0 <= i < n }", False),
        (WHOLE, "{ }", False),
        ("{ }", WHOLE, True),
        ("{ A[0] }", "[m] -> { A[i] : 0 <= i <= m or i < m }", False),
        ("[m] -> { A[0] : m >= 0 }", "[m] -> { A[i] : 0 <= i <= m }", True),
    ],
)
def test_sets_covered_by_others(whole: str, parts: str, is_all: bool) -> None:
    one, other = isl.UnionSet(whole), isl.UnionSet(parts)
    assert is_covered(one, other) is is_all
    assert one.is_subset(other) is is_all
