"""Arrays that share memory: the certificate's own check of when each of them lives."""

from __future__ import annotations

import pytest

from polyopt.dataclass import replace
from polyopt.emit.memory_plan import plan_memory
from polyopt.ir.expr import Compare, CompareOp, Param, integer
from polyopt.ir.loops import AllocateArray, If
from polyopt.ir.scop import Role
from polyopt.ir.types import DType
from polyopt.proof.certificate import Verdict
from polyopt.proof.turns import check_turns
from tests.unit.emit.kernels import array, function, loop
from tests.unit.emit.test_memory_plan import nest

CONDITION = Compare(CompareOp.GT, Param("N"), integer(3))


def shared(*body, turns=(("a", "b"),)):
    """Loops in which temporaries share memory."""
    arrays = [array(name, "N", role=Role.TEMP) for name in "abc"]
    arrays += [array("x", "N"), array("f", "N", dtype=DType.FLOAT32, role=Role.TEMP)]
    arrays.append(array("s", role=Role.TEMP))
    return replace(function("f", arrays, ["N"], *body), turns=turns)


def verdicts(loops):
    return [(claim.verdict, claim.reason) for claim in check_turns(loops)]


@pytest.mark.parametrize(
    "body",
    [
        (nest("a"), nest("x", "a"), nest("b"), nest("x", "b")),
        (nest("b"), nest("x", "b"), nest("a"), nest("x", "a")),
        (nest("a"), If(CONDITION, (nest("x", "a"),), (nest("x"),)), nest("b"), nest("x", "b")),
        (If(CONDITION, (nest("a"), nest("x", "a")), (nest("b"), nest("x", "b"))),),
    ],
)
def test_arrays_that_live_one_after_another_may_share(body):
    assert verdicts(shared(*body)) == [(Verdict.PROVEN, "")]


@pytest.mark.parametrize(
    "body, reason",
    [
        ((nest("a"), nest("b"), nest("x", "a")), "`a` is used after `b`, which overwrites it"),
        ((nest("a"), nest("b", "a"), nest("x", "b")), "`a` and `b` are used by one nest"),
        (
            (loop("t", 0, "N", nest("a"), nest("x", "a"), nest("b")),),
            "`a` and `b` are used by one nest",
        ),
        (
            (nest("a"), If(CONDITION, (nest("b"), nest("x", "b")), ()), nest("x", "a")),
            "`a` is used after `b`, which overwrites it",
        ),
    ],
)
def test_a_planted_overlap_is_refused(body, reason):
    assert verdicts(shared(*body)) == [(Verdict.REFUTED, reason)]


@pytest.mark.parametrize(
    "turns, reason",
    [
        ((("a", "x"),), "`x` is no temporary array"),
        ((("a", "s"),), "`s` is no temporary array"),
        ((("a", "nowhere"),), "`nowhere` is no temporary array"),
        ((("a", "f"),), "the arrays are not of one type in the memory of the host"),
        ((("a", "a"),), "`a` has memory of its own"),
    ],
)
def test_only_temporaries_of_one_type_share(turns, reason):
    body = nest("a"), nest("x", "a"), nest("b"), nest("x", "b")
    assert verdicts(shared(*body, turns=turns)) == [(Verdict.REFUTED, reason)]


def test_an_array_lies_in_one_memory():
    body = nest("a"), nest("x", "a"), nest("b"), nest("x", "b"), nest("c"), nest("x", "c")
    found = verdicts(shared(*body, turns=(("a", "b"), ("b", "c"))))
    assert found == [(Verdict.PROVEN, ""), (Verdict.REFUTED, "`b` has memory of its own")]


def test_memory_that_is_given_on_the_way_is_not_shared():
    late = AllocateArray(array("b", "N", role=Role.TEMP))
    body = nest("a"), nest("x", "a"), late, nest("b"), nest("x", "b")
    assert verdicts(shared(*body)) == [(Verdict.REFUTED, "`b` has memory of its own")]
    assert plan_memory(shared(*body, turns=())).turns == ()
