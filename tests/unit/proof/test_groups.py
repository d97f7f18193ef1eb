"""Nests without common storage are proven separately: same verdicts, none left out."""

from __future__ import annotations

from dataclasses import replace

import pytest

import polyopt as po
from polyopt.ir import scop
from polyopt.ir.expr import Load, add, integer
from polyopt.ir.loops import Body, Comment, For, LoopKind, While
from polyopt.proof import certify
from polyopt.proof.groups import groups_of
from tests.unit.proof.edits import F64, faults, first, loops_of, program_of

# ruff: noqa: F821 - sizes are named by strings


def apart(a: po.f64[N], b: po.f64[M], c: po.f64[M], x: po.f64[K]):
    for i in range(a.shape[0]):
        a[i] = x[0] * 2.0
    for i in range(1, b.shape[0]):
        b[i] += b[i - 1] + x[1]
    for i in range(c.shape[0]):
        c[i] = b[i] * x[0]


BODY = loops_of(apart).body
ALONE, SWEEP, LAST = (node for node in BODY if isinstance(node, For))
STRAY = replace(first((ALONE,)), target=Load("b", (integer(0),), F64), statement="", instance=())
LONGER = replace(LAST, upper=add(LAST.upper, integer(1)))
OF_OTHERS = replace(ALONE, upper=SWEEP.upper)
CHANGED = {
    "nothing": BODY,
    "independent nests in another order": (SWEEP, LAST, ALONE),
    "a nest left out": (ALONE, SWEEP),
    "an independent nest left out": (SWEEP, LAST),
    "a nest twice": (*BODY, ALONE),
    "a sweep twice": (ALONE, SWEEP, SWEEP, LAST),
    "a nest before what it reads": (ALONE, LAST, SWEEP),
    "a parallel sweep": (ALONE, replace(SWEEP, kind=LoopKind.PARALLEL), LAST),
    "an element too much": (ALONE, SWEEP, LONGER),
    "another nest's size": (OF_OTHERS, SWEEP, LAST),
    "a write that the source does not have": (*BODY, STRAY),
    "a node that is no loop": (*BODY, While(first((ALONE,)).value, ())),
    "a comment": (Comment("nothing"), *BODY),
}
RIGHT = ("nothing", "independent nests in another order", "a nest twice", "a comment")


@pytest.fixture
def many(monkeypatch):
    monkeypatch.setattr(scop, "FEW", 0)
    vars(program_of(apart).scop).pop("sizes", None)


def test_only_what_is_written_joins_nests(many):
    groups = groups_of(program_of(apart).scop, BODY)
    assert [[s.name for s in part.statements] for part, _ in groups] == [["S0"], ["S1", "S2"]]
    assert [body for _, body in groups] == [(ALONE,), (SWEEP, LAST)]
    assert len(groups[0][0].params) == 2


@pytest.mark.parametrize("name", CHANGED)
def test_verdicts_are_those_of_the_whole(name, request):
    def kinds(body: Body) -> set[str]:
        found = faults(apart, replace(loops_of(apart), body=body))
        return {f"{claim.kind.value} {claim.subject}" for claim in found}

    whole = kinds(CHANGED[name])
    assert (not whole) == (name in RIGHT)
    request.getfixturevalue("many")
    assert kinds(CHANGED[name]) == whole


def test_a_claim_is_made_once(many):
    claims = certify(program_of(apart), loops_of(apart)).claims
    assert len(claims) == len(set(claims))
    assert {c.subject for c in claims} >= {"S0", "S1", "S2", "a", "b", "c", "x"}
