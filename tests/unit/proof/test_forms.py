"""Which nodes and expressions are well formed."""

from __future__ import annotations

from dataclasses import replace

import pytest

import polyopt as po
from polyopt.ir.annotations import Grouped, Lanes, Streams
from polyopt.ir.expr import VectorLoad, integer
from polyopt.ir.loops import Assign
from polyopt.proof.certificate import Verdict
from polyopt.proof.forms import check_forms
from tests.unit.proof.edits import F64, loops_of

# ruff: noqa: F821, UP037 - sizes are named by strings


def plain(a: po.f64["N"]):
    for i in range(a.shape[0]):
        a[i] = 0.0


@pytest.mark.parametrize(
    ("annotations", "is_formed"),
    [
        ((), True),
        ((Lanes(4), Grouped(1)), True),
        ((Lanes(4), Streams(())), True),
        ((Streams(()), Lanes(4)), False),
        ((Lanes(4), Lanes(8)), False),
    ],
)
def test_annotations_are_one_of_a_kind_in_order(annotations, is_formed):
    (loop,) = loops_of(plain).body
    found = check_forms(replace(loops_of(plain), body=(replace(loop, annotations=annotations),)))
    assert (found.verdict is Verdict.PROVEN) is is_formed


@pytest.mark.parametrize(
    ("written", "read", "is_formed"),
    [(1, 1, True), (1, 3, True), (2, 1, False), (1, 0, False), (1, -1, False)],
)
def test_lanes_that_lie_apart_are_read_only(written: int, read: int, is_formed: bool) -> None:
    target, source = (VectorLoad("a", (integer(0),), F64, 4, step) for step in (written, read))
    found = check_forms(replace(loops_of(plain), body=(Assign(target, source),)))
    assert (found.verdict is Verdict.PROVEN) is is_formed
