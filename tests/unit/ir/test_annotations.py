"""Annotations of loops: absent ones are defaults, equal loops stay equal."""

from __future__ import annotations

import pytest

from polyopt.dataclass import fields, replace
from polyopt.ir.annotations import Finishes, Grouped, Lanes, Pipeline, Reductions, Streams
from polyopt.ir.expr import BinaryOp, Param, Symbol, integer
from polyopt.ir.loops import For, LoopKind
from polyopt.ir.types import DType

T = Symbol("t", DType.FLOAT64)
PLAIN = For("i", integer(0), Param("N"), 1, LoopKind.SEQUENTIAL, ())
DEFAULTS = {
    "reductions": (), "lanes": 1, "pipeline": None, "group": 1, "finishes": False, "streams": (),
}  # fmt: skip
OTHERS = {
    "reductions": ((BinaryOp.ADD, T),), "lanes": 8, "pipeline": Pipeline(3, True), "group": 4,
    "finishes": True, "streams": (("A", T),),
}  # fmt: skip
RECORDS = {
    "reductions": Reductions(((BinaryOp.ADD, T),)), "lanes": Lanes(8),
    "pipeline": Pipeline(3, True), "group": Grouped(4), "finishes": Finishes(),
    "streams": Streams((("A", T),)),
}  # fmt: skip


def values(loop: For) -> dict[str, object]:
    return {name: getattr(loop, name) for name in DEFAULTS}


def test_a_loop_has_few_fields():
    assert len(fields(For)) <= 8


def test_absent_annotations_are_defaults():
    assert values(PLAIN) == DEFAULTS
    assert PLAIN.annotated(**DEFAULTS) is PLAIN


@pytest.mark.parametrize("name", DEFAULTS)
def test_each_is_set_and_taken_away_by_itself(name):
    one = PLAIN.annotated(**{name: OTHERS[name]})
    assert values(one) == DEFAULTS | {name: OTHERS[name]}
    assert one.annotations == (RECORDS[name],)
    assert one != PLAIN
    assert one.annotated(**{name: DEFAULTS[name]}) == PLAIN
    rest = {other: value for other, value in OTHERS.items() if other != name}
    every = one.annotated(**rest)
    assert values(every) == OTHERS
    assert values(every.annotated(**{name: DEFAULTS[name]})) == OTHERS | {name: DEFAULTS[name]}


def test_loops_are_equal_in_whatever_order_they_were_annotated():
    one = other = PLAIN
    for name, value in OTHERS.items():
        one = one.annotated(**{name: value})
    for name, value in reversed(OTHERS.items()):
        other = other.annotated(**{name: value})
    assert one == other == PLAIN.annotated(**OTHERS)
    assert hash(one) == hash(other)
    assert one.annotated(**OTHERS) is one


def test_other_fields_keep_annotations():
    one = replace(PLAIN.annotated(lanes=4), kind=LoopKind.VECTOR)
    assert (one.lanes, one.kind) == (4, LoopKind.VECTOR)
