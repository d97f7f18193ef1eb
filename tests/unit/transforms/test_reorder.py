"""Reorder: the parts of a body in another order."""

from __future__ import annotations

import pytest

from polyopt.transforms import Reorder
from tests import scops
from tests.checks import assert_computes, assert_illegal, assert_round_trip, story
from tests.reading import read
from tests.unit.transforms.refusing import refused


def three():
    """The second part needs the first, the third needs neither."""
    return read(
        """
        for i in range(N):
            B[i] = A[i]
            C[i] = B[i] + 1
            D[i] = A[i] * 2
        """,
        "A[N]; B[N]; C[N]; D[N]",
    )


def test_golden(golden):
    golden("schedule/reorder_three.tree", story(three(), Reorder("L0", (2, 0, 1))))


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (0, 2, 1)])
def test_same_results(order):
    assert_computes(three(), Reorder("L0", order))


@pytest.mark.parametrize("order", [(1, 0, 2), (1, 2, 0), (2, 1, 0)])
def test_illegal(order):
    error, witness = assert_illegal(three(), "PO0311", Reorder("L0", order))
    assert (witness.kind, witness.array) == ("flow", "B")
    assert (witness.source, witness.target) == (("S0", (0,)), ("S1", (0,)))
    assert error.message.startswith(f"reorder(L0, {', '.join(map(str, order))}) is not legal")


def test_twice_is_the_source_s_order():
    schedule = assert_computes(three(), Reorder("L0", (2, 0, 1)), Reorder("L0", (1, 2, 0)))
    assert str(schedule) == str(assert_computes(three()))


def test_round_trip():
    assert_round_trip(Reorder("L0", (1, 0)), Reorder("L0.point", (2, 0, 1)))


@pytest.mark.parametrize(
    "order", [(), (0,), (0, 1), (0, 0, 1), (1, 2, 3), (0, 1, 2, 3), (-1, 0, 1)]
)
def test_refusals(order):
    code, message, hint = refused(three(), Reorder("L0", order))
    assert (code, message) == ("PO0303", f"{Reorder('L0', order)}: the body has 3 parts")
    assert hint == "name each of 0 to 2 once"


def test_bodies_of_one_part():
    assert refused(scops.prefix(), Reorder("L0", (0,)))[:2] == (
        "PO0306",
        "reorder(L0, 0): the loop has one body",
    )
    assert refused(scops.prefix(), Reorder("L8", (0,)))[0] == "PO0301"
