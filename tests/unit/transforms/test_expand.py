"""Expand: a copy per iteration, the last value copied out, reads that stand in the way."""

from __future__ import annotations

import pytest

from polyopt.errors import IllegalSchedule
from polyopt.schedule import source_schedule
from polyopt.transforms import Expand, Parallelize, parse_steps
from tests.checks import assert_computes, assert_round_trip, story
from tests.reading import read
from tests.unit.transforms import data_programs
from tests.unit.transforms.refusing import refused


def test_golden(golden):
    golden("schedule/expand_last.tree", story(data_programs.last_value(), Expand("s", ("i",))))


def test_the_loop_becomes_parallel():
    for scop in (data_programs.last_value(), data_programs.rows()):
        name = scop.statements[0].target.array
        assert source_schedule(scop).attempt(Parallelize("i")) is None
        assert_computes(scop, Expand(name, ("i",)), Parallelize("i"))


def test_only_what_is_read_later_is_copied_out():
    schedule = source_schedule(data_programs.rows()).apply(Expand("w", ("i",)))
    (copy,) = [s for s in schedule.scop.statements if s.name == "w_last"]
    inner = copy.domain.intersect(
        copy.domain.read_from_str(
            copy.domain.get_ctx(),
            "[N, M, T] -> { w_last[t, i_last, w0] : t < T - 1 and w0 > 0 }",
        )
    )
    assert inner.is_empty()


def test_values_from_before_the_loop():
    scop = data_programs.before()
    assert_computes(scop, Expand("w", ("i",)), Parallelize("i"))
    assert_computes(scop, Expand("B", ("i",)))


def test_several_loops():
    scop = data_programs.histogram()
    both = read(
        """
        for i in range(N):
            for j in range(M):
                s[0] = A[i, j]
                B[i, j] = s[0] + s[0]
        """,
        "A[N, M]; B[N, M]; s[1]",
        "N M",
    )
    assert_computes(both, Expand("s", ("i", "j")), Parallelize("i"), Parallelize("j"))
    assert_computes(both, Expand("s", ("j",)), Parallelize("j"))
    assert source_schedule(scop).attempt(Expand("c", ("i",))) is None


def test_one_loop_after_the_other():
    steps = (Expand("w", ("i",)), Expand("w", ("t",)), Parallelize("i"))
    assert source_schedule(data_programs.rows(least=1)).attempt(*steps) is not None
    assert source_schedule(data_programs.rows()).attempt(*steps) is None  # no row at N = 0


@pytest.mark.parametrize("make", [data_programs.running, data_programs.chosen])
def test_a_read_of_another_iteration(make):
    with pytest.raises(IllegalSchedule) as found:
        source_schedule(make()).apply(Expand("s", ("i",)))
    assert found.value.code == "PO0316"
    assert found.value.witness.array == "s"
    assert source_schedule(make()).attempt(Expand("s", ("i",))) is None


def test_the_witness_names_both_iterations():
    with pytest.raises(IllegalSchedule) as found:
        source_schedule(data_programs.running()).apply(Expand("s", ("i",)))
    witness = found.value.witness
    assert witness.read == ("S0", (1,))
    assert witness.wanted == ("S0", (0,))
    assert witness.found is None
    assert dict(witness.params) == {"N": 2}


def test_round_trip():
    assert_round_trip(Expand("s", ("i",)), Expand("w", ("L0[0]", "i")))
    assert parse_steps("privatise(s, i)") == (Expand("s", ("i",)),)


def test_refusals():
    scop = data_programs.last_value()
    assert refused(scop, Expand("A", ("i",)))[0] == "PO0331"
    assert refused(scop, Expand("s", ("k",)))[0] == "PO0301"
    assert refused(scop, Expand("s", ()))[0] == "PO0303"
    assert refused(data_programs.pipeline(), Expand("T", ("L0[0]", "L1[0]")))[0] == "PO0303"


def test_elements_that_data_find_have_no_copies():
    scop = read(
        """
        for j in range(N):
            for i in range(N):
                T[i] = A[i, j]
            for i in range(N):
                B[i, j] = T[min(max(P[i], 0), N - 1)]
        """,
        "A[N, N]; B[N, N]; temp T[N]; int64 P[N]",
        "N",
        least=1,
    )
    assert refused(scop, Expand("T", ("L0",)))[0] == "PO0332"
