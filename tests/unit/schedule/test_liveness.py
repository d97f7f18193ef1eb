"""What a part needs from before and leaves behind, and copies that its loops could have."""

from __future__ import annotations

from polyopt.schedule import source_schedule
from polyopt.schedule.liveness import Private, live, privatisable
from tests import scops
from tests.checks import assert_same
from tests.reading import read


def test_needed_and_left():
    found = {one.array: one for one in live(scops.prefix())}
    assert set(found) == {"A"}
    assert_same(found["A"].needed, "[N] -> { A[i] : 0 <= i < N and N >= 2 }")
    assert_same(found["A"].left, "[N] -> { A[i] : 0 < i < N }")
    assert found["A"].certain


def test_what_is_made_first_is_not_needed():
    found = {one.array: one for one in live(scops.ahead())}
    assert found["B"].needed.is_empty()
    assert not found["A"].needed.is_empty()
    assert found["A"].left.is_empty()


def test_a_write_through_an_index_may_leave_anything():
    found = {one.array: one for one in live(scops.scatter())}
    assert not found["A"].certain


def test_a_scratch_element_could_be_private_and_its_last_value_is_seen():
    scop = read(
        """
        for i in range(N):
            t[0] = B[i]
            C[i] = t[0]
        """,
        "t[1]; B[N]; C[N]",
    )
    schedule = source_schedule(scop)
    assert privatisable(schedule.dependences, schedule.tree) == (Private("t", "L0[0]", True),)


def test_values_that_cross_iterations_are_no_copies():
    for make in (scops.prefix, scops.seidel):
        schedule = source_schedule(make())
        assert privatisable(schedule.dependences, schedule.tree) == ()
    schedule = source_schedule(scops.jacobi())  # B is made anew in every time step, A is not
    assert privatisable(schedule.dependences, schedule.tree) == (Private("B", "L0[0]", True),)
