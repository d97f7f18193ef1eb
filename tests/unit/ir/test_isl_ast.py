"""isl's AST in our terms: loops, guards, else branches, expressions."""

from __future__ import annotations

import islpy as isl
import pytest

from polyopt.ir.expr import add, integer
from polyopt.ir.integers import evaluate
from polyopt.ir.interp import points
from polyopt.ir.isl_ast import (
    AstCall,
    AstFor,
    AstIf,
    AstLet,
    ast_body,
    bound_expr,
    condition_expr,
    plus,
    with_iterators,
)
from polyopt.ir.showing import show
from tests.unit.emit.kernels import least

PARAMS = frozenset({"N", "M"})


def body_of(schedule, context="[N, M] -> { : }"):
    build = with_iterators(isl.AstBuild.from_context(isl.Set(context)), 3)
    node = build.node_from_schedule_map(isl.UnionMap(schedule))
    return ast_body(node, PARAMS)


def run(body, env):
    """Return the calls a body makes, in order."""
    found = []
    for step in body:
        match step:
            case AstCall():
                found.append((step.name, tuple(evaluate(a, env) for a in step.arguments)))
            case AstFor():
                low, high = evaluate(step.lower, env), evaluate(step.upper, env)
                for value in range(low, high, step.step):
                    found += run(step.body, env | {step.iterator: value})
            case AstLet():
                found += run(step.body, env | {step.iterator: evaluate(step.value, env)})
            case AstIf():
                taken = step.then if evaluate(step.condition, env) else step.otherwise
                found += run(taken, env)
    return found


def instances(schedule, env):
    """Return the instances of a schedule map at `env`, in the order of their times."""
    timed = []
    pieces = []
    isl.UnionMap(schedule).foreach_map(pieces.append)
    for piece in pieces:
        name, rank = piece.get_tuple_name(isl.dim_type.in_), piece.dim(isl.dim_type.in_)
        for both in points(piece.wrap().flatten(), env):
            timed.append((both[rank:], name, both[:rank]))
    return [(name, point) for _, name, point in sorted(timed)]


SCHEDULES = [
    "[N, M] -> { S[i, j] -> [i, j] : 0 <= i < N and 0 <= j < M }",
    "[N, M] -> { S[i, j] -> [j, i] : 0 <= i < N and i <= j < M }",
    "[N, M] -> { S[i] -> [-i] : 0 <= i < N }",
    "[N, M] -> { S[i] -> [i] : 0 <= i < N and i mod 3 = 1 }",
    "[N, M] -> { S[i] -> [floor(i/4), i] : 0 <= i < N and M > 2 }",
    "[N, M] -> { S[i] -> [i, 0] : 0 <= i < N; T[i] -> [i + 2, 1] : 0 <= i < M }",
    "[N, M] -> { S[i, j] -> [2i + j, i] : 0 <= i < N and 0 <= j < M }",
    "[N, M] -> { S[i] -> [i] : 0 <= i < N and i != 3; T[i] -> [3] : i = N }",
    "[N, M] -> { S[] -> [0] : N > M; T[] -> [1] : N <= M }",
    "[N, M] -> { S[i] -> [i mod 3, i] : 0 <= i < N }",
    "[N, M] -> { S[i] -> [i] : N < i < 3M and exists (a : i = 2a + N) }",
]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_same_instances_in_the_same_order(schedule):
    body = body_of(schedule)
    for n, m in ((0, 0), (1, 1), (7, 5), (4, 9)):
        env = {"N": n, "M": m}
        assert run(body, env) == instances(schedule, env)


def test_loops_have_exclusive_bounds():
    (loop,) = body_of(SCHEDULES[0])
    assert isinstance(loop, AstFor)
    assert (show(loop.lower), show(loop.upper), loop.step) == ("0", "N", 1)


def test_strides():
    (loop,) = body_of(SCHEDULES[3])
    assert isinstance(loop, AstFor)
    assert loop.step == 3


def test_single_iterations_are_values():
    (call,) = body_of("[N, M] -> { S[i] -> [i] : i = N }", "[N, M] -> { : N > 0 }")
    assert isinstance(call, AstCall)
    assert [show(a) for a in call.arguments] == ["N"]


def test_else_branches():
    """isl writes one where two guards exclude each other."""
    text = "[N, M] -> { S[i] -> [i] : 0 <= i < N and M > 4; T[i] -> [i] : 0 <= i < N and M <= 4 }"
    build = with_iterators(isl.AstBuild.from_context(isl.Set("[N, M] -> { : }")), 1)
    options = "[N, M] -> { [i] -> atomic[0] }"
    build = build.set_options(isl.UnionMap(options))
    body = ast_body(build.node_from_schedule_map(isl.UnionMap(text)), PARAMS)
    assert "AstIf" in repr(body)
    for n, m in ((3, 2), (3, 9), (0, 1)):
        assert run(body, {"N": n, "M": m}) == instances(text, {"N": n, "M": m})
    branches = [step for step in _steps(body) if isinstance(step, AstIf) and step.otherwise]
    assert branches


def _steps(body):
    for step in body:
        yield step
        match step:
            case AstFor() | AstLet():
                yield from _steps(step.body)
            case AstIf():
                yield from _steps(step.then)
                yield from _steps(step.otherwise)
            case AstCall():
                pass


def test_marks_name_the_loop_below():
    schedule = isl.Schedule.from_domain(isl.UnionSet("[N] -> { S[i] : 0 <= i < N }"))
    node = schedule.get_root().child(0)
    node = node.insert_partial_schedule(isl.MultiUnionPwAff("[{ S[i] -> [(i)] }]"))
    node = node.insert_mark(isl.Id("m0"))
    build = with_iterators(isl.AstBuild.from_context(isl.Set("[N] -> { : }")), 1)
    ast = build.node_from_schedule(node.get_schedule())
    (loop,) = ast_body(ast, frozenset({"N"}))
    assert isinstance(loop, AstFor)
    assert (loop.mark, loop.depth) == ("m0", 0)


def test_depth_counts_schedule_dimensions():
    """Also across dimensions of one value, for which isl makes no loop."""
    (loop,) = body_of("[N, M] -> { S[i] -> [3, M, i] : 0 <= i < N }")
    assert isinstance(loop, AstFor)
    assert loop.depth == 2
    first, second = _fors(body_of(SCHEDULES[0]))
    assert (first.depth, second.depth) == (0, 1)


def _fors(body):
    return [step for step in _steps(body) if isinstance(step, AstFor)]


@pytest.mark.parametrize(
    "text",
    [
        "[N, M] -> { : N > M }",
        "[N, M] -> { : N mod 4 = 3 }",
        "[N, M] -> { : N >= 0 and (M < 2 or M > 7) }",
        "[N, M] -> { : }",
        "[N, M] -> { : false }",
        "[N, M] -> { : exists (a : N = 3a + M) }",
    ],
)
def test_conditions(text):
    value = isl.Set(text)
    found = condition_expr(value, PARAMS)
    for n in range(-1, 9):
        for m in range(-1, 9):
            point = value.fix_val(isl.dim_type.param, 0, isl.Val(n))
            inside = not point.fix_val(isl.dim_type.param, 1, isl.Val(m)).is_empty()
            assert bool(evaluate(found, {"N": n, "M": m})) == inside


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("[N, M] -> { [(N + 2M - 3)] }", lambda n, m: n + 2 * m - 3),
        ("[N, M] -> { [(floor((N)/3))] }", lambda n, m: n // 3),
        ("[N, M] -> { [(N - 4*floor((N)/4))] }", lambda n, m: n % 4),
        ("[N, M] -> { [(N)] : N > M; [(M)] : N <= M }", max),
        ("[N, M] -> { [(0)] : N < M; [(5)] : N >= M }", lambda n, m: 0 if n < m else 5),
    ],
)
def test_bounds(text, rule):
    found = bound_expr(isl.PwAff(text), PARAMS)
    for n in range(6):
        for m in range(6):
            assert evaluate(found, {"N": n, "M": m}) == rule(n, m)


def test_bounds_that_are_nowhere_defined():
    assert bound_expr(isl.PwAff("[N] -> { [(N)] : false }"), PARAMS) == integer(0)


def test_plus_goes_inside():
    assert show(plus(least("N", add(integer(3), integer(4))), 1)) == "min(N + 1, 8)"
