"""Large programs are scheduled and proven in parts: same results, each statement once, in order."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import polyopt as po
from polyopt.emit.lower import lower
from polyopt.frontend import build, infer_types
from polyopt.ir.loops import For
from polyopt.proof import certify
from polyopt.proof.sequence import pieces_of
from polyopt.schedule import large_parts, source_schedule
from polyopt.schedule.large_parts import split_large

# ruff: noqa: F821, UP037 - sizes are named by strings


def chain(a: po.f64["N"], out: po.f64["N"]):
    x = a * 2.0
    for _ in (0, 1, 2, 3, 4):
        y = x + 1.0
        y[0] = y.sum()
        x = y * a
        out += x


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(large_parts, "STATEMENTS", 10)
    monkeypatch.setattr(large_parts, "TOGETHER", 6)
    monkeypatch.setattr("polyopt.pipeline.FEWEST", 0)
    monkeypatch.setattr("polyopt.proof.certification.MANY", 0)
    monkeypatch.setattr("polyopt.proof.sequence.LEAST", 2)


def program():
    return build(chain, infer_types(chain))


def test_every_statement_is_in_one_part(few):
    whole = program()
    parts = split_large(whole).scops
    assert len(parts) > 2
    assert all(len(part.statements) <= 6 for part in parts)
    names = [s.name for part in parts for s in part.statements]
    assert names == [s.name for s in whole.scop.statements]


def test_small_programs_stay_whole():
    whole = program()
    assert split_large(whole) is whole


@pytest.mark.toolchain
def test_parts_compute_the_whole(few):
    a, out = np.linspace(-1.0, 1.0, 37), np.ones(37)
    expected = out.copy()
    chain(a, expected)
    compiled = po.kernel(chain, budget=59.0).compile(a, out)
    assert len(compiled.schedules) > 2
    assert compiled.stages.dropped == ()
    compiled(a, out)
    assert np.allclose(out, expected, rtol=1e-12)


def loops():
    whole = program()
    return whole, lower(source_schedule(whole.scop), whole)


def test_pieces_follow_the_source(few):
    whole, function = loops()
    pieces = pieces_of(whole.scop, function.body)
    assert len(pieces) > 2
    assert [s.name for p in pieces for s in p.scop.statements] == [
        s.name for s in whole.scop.statements
    ]
    assert tuple(node for p in pieces for node in p.body) == function.body
    assert certify(whole, function).is_proven


@pytest.mark.parametrize("change", ["left out", "twice", "swapped", "later"])
def test_no_piece_hides_a_wrong_order(few, change):
    """Each pair of neighbouring nests that depend on each other, changed: nothing is proven."""
    whole, function = loops()
    nests = [n for n, node in enumerate(function.body) if isinstance(node, For)]
    wrong = 0
    for first, second in pairwise(nests):
        body = list(function.body)
        match change:
            case "left out":
                del body[first]
            case "twice":
                body.insert(second, body[first])
            case "swapped":
                body[first], body[second] = body[second], body[first]
            case _:
                body.append(body.pop(first))
        found = certify(whole, replace(function, body=tuple(body))).is_proven
        wrong += not found
        assert not (found and change in ("left out", "later"))
    assert wrong > 0
