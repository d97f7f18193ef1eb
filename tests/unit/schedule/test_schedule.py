"""Schedule: steps are judged together, refusals name one, advice works."""

from __future__ import annotations

import pytest

from polyopt.errors import IllegalSchedule, ScheduleError
from polyopt.schedule import source_schedule
from polyopt.schedule.repair import Repair
from polyopt.transforms import (
    Interchange,
    Parallelize,
    Skew,
    Tile,
    Unroll,
    Vectorize,
    parse_schedule,
    parse_steps,
)
from tests import scops
from tests.checks import assert_computes
from tests.reading import read


def test_nothing_to_apply():
    schedule = source_schedule(scops.gemm())
    assert schedule.apply().trace == ()
    assert str(schedule.apply()) == str(schedule)
    assert schedule.text == ""


def test_apply_returns_a_new_value():
    schedule = source_schedule(scops.gemm())
    before = str(schedule)
    after = schedule.apply(Tile("L0", (2,)))
    assert str(schedule) == before
    assert str(after) != before
    assert after.trace == (Tile("L0", (2,)),)
    assert after.apply(Unroll("k")).trace == (Tile("L0", (2,)), Unroll("k"))


def test_steps_in_between_may_be_illegal():
    """Only the order that runs is judged."""
    schedule = source_schedule(scops.diagonal())
    with pytest.raises(IllegalSchedule):
        schedule.apply(Tile("L0", (2, 2)))
    steps = (Interchange("i", "j"), Interchange("j", "i"))
    assert schedule.apply(*steps).trace == steps
    assert schedule.attempt(*steps) is not None


def test_the_refusal_names_the_step():
    schedule = source_schedule(scops.seidel())
    with pytest.raises(IllegalSchedule) as refused:
        schedule.apply(Tile("L0", (2, 2)), Unroll("L0.point[0]"), Vectorize("L0.point[1]"))
    assert refused.value.message.startswith("vectorize(L0.point[1]) is not legal")


def test_attempt_says_no_without_raising():
    schedule = source_schedule(scops.prefix())
    assert schedule.attempt(Parallelize("i")) is None
    assert schedule.attempt(Parallelize("nothing")) is None
    found = schedule.attempt(Unroll("i"))
    assert found is not None
    assert str(found) == str(schedule.apply(Unroll("i")))


@pytest.mark.parametrize(
    ("make", "step"),
    [
        (scops.diagonal, Tile("L0", (2, 2))),
        (scops.diagonal, Interchange("i", "j")),
        (scops.seidel, Parallelize("j")),
        (scops.gemm, Parallelize("k")),
    ],
)
def test_repairs_work(make, step):
    """A repair's text parses to its steps; they are legal and compute the same."""
    schedule = source_schedule(make())
    with pytest.raises(IllegalSchedule) as refused:
        schedule.apply(step)
    repair = refused.value.repair
    assert isinstance(repair, Repair)
    assert refused.value.hint == str(repair)
    assert parse_steps(repair.text) == repair.steps
    assert_computes(make(), *repair.steps)


def test_no_repair_where_there_is_none():
    with pytest.raises(IllegalSchedule) as refused:
        source_schedule(scops.prefix()).apply(Parallelize("i"))
    assert refused.value.repair is None
    assert refused.value.hint is not None


def test_a_replayed_text_is_judged_step_by_step():
    schedule = source_schedule(scops.seidel())
    found = parse_schedule(schedule, "skew(i, j, 1)\nparallelize(j)")
    assert found.trace == (Skew("i", "j", 1), Parallelize("j"))
    with pytest.raises(IllegalSchedule):
        parse_schedule(schedule, "parallelize(j)\nskew(i, j, 1)")


def test_programs_without_loops_or_statements():
    empty = source_schedule(read("", "A[N]"))
    assert str(empty) == ""
    with pytest.raises(ScheduleError) as refused:
        empty.apply(Parallelize("i"))
    assert refused.value.hint == "bands and their loops: none"
    flat = source_schedule(read("A[0] = 1\nA[1] = A[0]", "A[2]"))
    assert str(flat) == "S0: A[0] = 1\nS1: A[1] = A[0]"
