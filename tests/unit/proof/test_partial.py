"""Partial results of a sum that are joined: the sum itself, and what only looks like it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

import polyopt as po
from polyopt.ir.expr import Binary, BinaryOp, Expr, Iter, Load, add, integer, rewrite, sub
from polyopt.ir.loops import Assign, Body, For, LoopKind, Node
from polyopt.proof.certification import context_of
from polyopt.proof.partial import mentioned, without_partial_results
from polyopt.proof.paths import Path
from tests.unit.proof.edits import F64, I64, element, local, loops_of, number, program_of, reasons

# ruff: noqa: F821, UP037 - sizes are named by strings

STEPS = "tile(L0, 8); rfactor(S1, L0.tile[0]); parallelize(L0.tile[0])"
SUM, PART = element("out", integer(0)), "out_part"


def total(x: po.f64["N"], out: po.f64["1"]):
    out[0] = x.sum()


def pairs(x: po.f64["N,M"], out: po.f64["1"]):
    out[0] = x.sum()


def undone(function: Callable[..., object], body: Body) -> Body:
    """Return the body with its partial results undone."""
    program = program_of(function)
    path = Path(program.scop.params, context_of(program))
    statements = {s.name: s for s in program.scop.statements}
    return without_partial_results(body, path, statements, frozenset(), mentioned(body))


def parts_of(function: Callable[..., object] = total, steps: str = STEPS) -> list[Node]:
    """Return the start of the sum, the loop over parts and the loop that joins them."""
    return list(loops_of(function, steps).body)


def test_updates_go_to_the_sum():
    body = undone(total, tuple(parts_of()))
    assert PART not in mentioned(body)
    loop = body[1]
    assert isinstance(loop, For)
    assert [(op, symbol.name) for op, symbol in loop.reductions] == [(BinaryOp.ADD, "out")]


@pytest.mark.parametrize(
    ("function", "steps"),
    [
        (total, STEPS),
        (total, "tile(L0, 8); rfactor(S1, L0.tile[0])"),
        (pairs, "rfactor(S1, L0[0]); parallelize(L0[0])"),
        (pairs, "tile(L0, 4); rfactor(S1, L0.tile[0]); parallelize(L0.tile[0])"),
    ],
)
def test_what_steps_make_is_proven(function, steps):
    body = loops_of(function, steps).body
    assert PART not in mentioned(undone(function, body))
    assert reasons(function, body, steps) == ""


def starting(value: float) -> Body:
    start, loop, join = parts_of()
    assert isinstance(loop, For)
    first, *rest = loop.body
    assert isinstance(first, Assign)
    return start, replace(loop, body=(replace(first, value=number(value)), *rest)), join


def bounded(*, lower: int = 0, upper: int = 0) -> Body:
    """Return loops whose join has other bounds."""
    start, loop, join = parts_of()
    assert isinstance(join, For)
    low, high = add(join.lower, integer(lower)), add(join.upper, integer(upper))
    return start, loop, replace(join, lower=low, upper=high)


def updating(change: Callable[[Assign], tuple[Node, ...]], *, sequential: bool = False) -> Body:
    """Return loops with another update of the parts."""
    start, loop, join = parts_of()
    assert isinstance(loop, For)
    first, inner = loop.body
    assert isinstance(inner, For)
    (update,) = inner.body
    assert isinstance(update, Assign)
    kind = LoopKind.SEQUENTIAL if sequential else loop.kind
    body = (first, replace(inner, body=change(update)))
    return start, replace(loop, kind=kind, body=body), join


def joining(change: Callable[[Assign], tuple[Node, ...]]) -> Body:
    """Return loops that join the parts in another way."""
    start, loop, join = parts_of()
    assert isinstance(join, For)
    (update,) = join.body
    assert isinstance(update, Assign)
    return start, loop, replace(join, body=change(update))


def twice(update: Assign) -> tuple[Node, ...]:
    return (replace(update, value=add(update.value, update.target)),)


def elsewhere(update: Assign) -> tuple[Node, ...]:
    """Update the next part."""
    (place,) = update.target.index

    def rule(part: Expr) -> Expr | None:
        if isinstance(part, Load) and part.array == PART:
            return element(PART, sub(integer(3), place))
        return None

    target = rewrite(update.target, rule)
    assert isinstance(target, Load)
    return (replace(update, target=target, value=rewrite(update.value, rule)),)


def without_start() -> Body:
    start, loop, join = parts_of()
    assert isinstance(loop, For)
    return start, replace(loop, body=loop.body[1:]), join


def started_late() -> Body:
    start, loop, join = parts_of()
    assert isinstance(loop, For)
    return start, replace(loop, body=tuple(reversed(loop.body))), join


def reset_between() -> Body:
    start, loop, join = parts_of()
    assert isinstance(start, Assign)
    return start, loop, replace(start, statement="", value=number(0.0)), join


def joined_first() -> Body:
    start, loop, join = parts_of()
    return start, join, loop


def joined_twice() -> Body:
    start, loop, join = parts_of()
    return start, loop, join, join


WRONG = {
    "starts at one": lambda: starting(1.0),
    "does not start": without_start,
    "starts late": started_late,
    "joins too few": lambda: bounded(lower=1),
    "joins too many": lambda: bounded(upper=1),
    "joins before": joined_first,
    "joins twice": joined_twice,
    "joins what was doubled": lambda: joining(twice),
    "doubles the part": lambda: updating(twice),
    "doubles the part in turn": lambda: updating(twice, sequential=True),
    "updates other parts": lambda: updating(elsewhere),
    "updates twice": lambda: updating(lambda update: (update, update)),
    "sets the sum between": reset_between,
}


@pytest.mark.parametrize("name", WRONG)
def test_what_only_looks_like_it_is_refused(name):
    assert reasons(total, WRONG[name](), STEPS) != ""


def test_a_zero_that_can_be_seen_is_no_start():
    """-0.0 + x is x for every x."""
    body = starting(0.0)
    assert undone(total, body) == body


def test_sums_whose_order_counts_stay_in_parts():
    """The rule asks the source's statement, not the loops."""
    body = tuple(parts_of())
    program = program_of(total)
    path = Path(program.scop.params, context_of(program))
    statements = {
        s.name: s
        if s.reduction is None
        else replace(s, reduction=replace(s.reduction, reassociable=False))
        for s in program.scop.statements
    }
    kept = without_partial_results(body, path, statements, frozenset(), mentioned(body))
    assert kept == body


def test_parts_that_others_see_stay():
    body = tuple(parts_of())
    program = program_of(total)
    path = Path(program.scop.params, context_of(program))
    statements = {s.name: s for s in program.scop.statements}
    more = mentioned(body)
    more[PART] += 1
    assert without_partial_results(body, path, statements, frozenset(), more) == body
    own = frozenset({PART})
    assert without_partial_results(body, path, statements, own, mentioned(body)) == body


def test_sums_at_a_place_that_may_change_stay_in_parts():
    """Between the loops a local may come to be another element."""
    start, loop, join = parts_of()
    assert isinstance(join, For)
    (update,) = join.body
    assert isinstance(update, Assign)
    there = element("out", local("place", I64))
    moved = replace(
        update,
        target=there,
        value=Binary(BinaryOp.ADD, there, element(PART, Iter("i_tile_join")), F64),
    )
    body = (start, loop, replace(join, body=(moved,)))
    assert undone(total, body) == body
