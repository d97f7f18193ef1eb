"""Iterators as functions of the instance: they hold at every iteration."""

from __future__ import annotations

from itertools import product

import pytest

import polyopt as po
from polyopt.ir.expr import Expr, Iter, Param, add, integer, mul
from polyopt.ir.integers import evaluate
from polyopt.ir.loops import Body, For, LoopKind
from polyopt.ir.nodes import bodies
from polyopt.ir.scop import Statement
from polyopt.proof.coordinates import Quotients, coordinates
from polyopt.proof.instances import PlacedRun, place_runs
from polyopt.proof.paths import Path
from polyopt.proof.reading import Run, read
from polyopt.proof.source import SourcePart
from tests.unit.proof.edits import SIZE, edited, loops_of, program_of

# ruff: noqa: F821, UP037 - sizes are named by strings


def plane(a: po.f64["N,M"]):
    for i in range(1, a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] = a[i, j] * 0.5


SIZES = {"N": 11, "M": 9}
STEPS = {
    "source": "",
    "interchange": "interchange(i,j)",
    "tiles": "tile(L0,4,3)",
    "tiles of tiles": "tile(L0,4,4);tile(L0.point,2,2)",
    "one loop in tiles": "tile(L0,3)",
    "skewed": "skew(j,i,1)",
    "skewed twice": "skew(j,i,2)",
    "skewed tiles": "skew(j,i,1);tile(L0,4,4)",
    "shifted": "shift(i,S0,3)",
    "reversed": "reverse(j)",
}


def runs_of(body: Body) -> tuple[SourcePart, Statement, list[Run]]:
    scop = program_of(plane).scop
    part = SourcePart(scop, scop.statements, lambda name: False)
    runs = [r for r in read(body, Path(scop.params, scop.context)).runs() if r.statement]
    return part, scop.statements[0], runs


def iterations(body: Body, run: Run, env: dict[str, int]) -> list[dict[str, int]]:
    """Return the values of the loops at each iteration around the run, by counting."""
    found = [env]
    for loop in run.path.loops:
        found = [
            {**at, loop.iter: value}
            for at in found
            for value in range(evaluate(loop.lower, at), evaluate(loop.upper, at), loop.step)
        ]
    return found


def value_of(expr: Expr, quotients: Quotients, env: dict[str, int]) -> int:
    known = dict(env)
    for quotient in quotients.all:
        known[quotient.name] = evaluate(quotient.value, known) // quotient.by
    return evaluate(expr, known)


def check(placed: PlacedRun, body: Body) -> None:
    run, statement = placed.run, placed.quotients.statement
    for at in iterations(body, run, SIZES):
        instance = [evaluate(part, at) for part in run.instance]
        env = {**SIZES, **dict(zip(statement.iters, instance, strict=True))}
        for name, value in placed.known.items():
            assert value_of(value, placed.quotients, env) == at[name], name


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_what_is_told_is_true_and_complete(steps: str) -> None:
    body = loops_of(plane, steps).body
    part, statement, runs = runs_of(body)
    placed = place_runs(part, statement, runs)
    assert placed
    for one in placed:
        assert set(one.known) == {loop.iter for loop in one.run.path.loops}
        check(one, body)


def test_a_guess_that_is_wrong_is_not_kept() -> None:
    """Bounds that read as a tile's, but do not start at a multiple: nothing may be told wrong."""
    body = loops_of(plane, "tile(L0,4,3)").body

    def moved(node: object) -> object:
        if isinstance(node, For) and node.iter == "i_tile":
            return For(node.iter, node.lower, node.upper, 1, LoopKind.SEQUENTIAL, node.body, "x")
        return node

    part, statement, runs = runs_of(edited(body, moved))
    for one in place_runs(part, statement, runs):
        check(one, body)
    overlapping = edited(
        body,
        lambda n: (
            For(n.iter, n.lower, add(n.upper, integer(2)), 1, n.kind, n.body)
            if isinstance(n, For) and n.iter == "j"
            else n
        ),
    )
    part, statement, runs = runs_of(overlapping)
    for one in place_runs(part, statement, runs):
        assert "j_tile" not in one.known  # two tiles run the same instance
        check(one, overlapping)


def test_an_iterator_that_no_instance_tells_is_not_told() -> None:
    (loop,) = (n for n in loops_of(plane).body if isinstance(n, For))
    again = (For("t", integer(0), integer(2), 1, LoopKind.SEQUENTIAL, (loop,)),)
    assert bodies(again[0]) == ((loop,),)
    part, statement, runs = runs_of(again)
    (one,) = place_runs(part, statement, runs)
    assert set(one.known) == {"i", "j"}
    check(one, again)


def test_quotients_of_quotients_are_one() -> None:
    _, statement, runs = runs_of(loops_of(plane).body)
    quotients = Quotients(statement, ("N", "M"))
    assert coordinates(runs[0], quotients)
    i = Iter(statement.iters[0])
    inner = quotients.of(i, 4)
    outer = quotients.of(add(inner, integer(1)), 3)
    assert isinstance(outer, Param)
    for at, more in product(range(-30, 30), (0, 1)):
        env = {**SIZES, statement.iters[0]: at, statement.iters[1]: more}
        assert value_of(outer, quotients, env) == (at // 4 + 1) // 3
    assert quotients.of(mul(integer(2), SIZE), 1) == mul(integer(2), SIZE)
