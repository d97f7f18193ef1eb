"""Hold: copies of what a nest reads of an array that it writes, from directly before the nest."""

from __future__ import annotations

import re

import pytest

from polyopt.emit.lower import lower
from polyopt.errors import IllegalSchedule
from polyopt.ir.showing import show
from polyopt.proof import certify
from polyopt.schedule import source_schedule
from polyopt.transforms import Cut, Hold, Strip, parse_steps
from tests import scops
from tests.checks import assert_computes, assert_round_trip
from tests.oracle.program import as_program
from tests.reading import read
from tests.unit.transforms.refusing import refused

CUT = Cut("L0", 1)
INNER = Hold("A", ("L0.inner",))
BELOW = """
    for k in range(N):
        for i in range(k):
            for j in range(k):
                A[i, j] = min(A[i, j], A[i, k] + A[k, j])
    """
EVERYWHERE = BELOW.replace("range(k)", "range(N)")


def below():
    return read(BELOW, "A[N, N]")


def test_rows_and_columns_that_the_nest_does_not_write():
    schedule = assert_computes(below(), CUT, INNER)
    copies = [s.name for s in schedule.scop.statements]
    assert copies == ["A_hold", "A_hold2", "S0"]
    assert [len(schedule.scop.array(a).shape) for a in ("A_held", "A_held2")] == [2, 2]


def test_cells_are_counted_from_where_a_block_begins():
    steps = (CUT, Strip("L0[0]", 4), INNER)
    schedule = assert_computes(below(), *steps)
    extent = schedule.scop.array("A_held").shape[1]
    assert str(extent.value) == "4"


def test_reads_alone_are_copied():
    assert_computes(scops.gemm(), Hold("A", ("L0",)))


def test_two_nests_in_one_step():
    text = """
    for k in range(N):
        for i in range(N):
            A[i] = A[i] + A[N + k]
        for i in range(N):
            A[2 * N + i] = A[2 * N + i] + A[k]
    """
    scop = read(text, "A[3 * N]")
    schedule = assert_computes(scop, Hold("A", ("L1", "L2")))
    assert len(schedule.scop.statements) == 4


def test_a_read_of_what_the_nest_writes_first_is_refused():
    with pytest.raises(IllegalSchedule) as found:
        source_schedule(read(EVERYWHERE, "A[N, N]")).apply(CUT, INNER)
    assert found.value.code == "PO0316"


def test_round_trip():
    step = Hold("A", ("L1", "L2"))
    assert str(step) == "hold(A, L1, L2)"
    assert_round_trip(step)
    assert parse_steps("hold(A, L1)") == (Hold("A", ("L1",)),)


@pytest.mark.parametrize(
    ("step", "code"),
    [
        (Hold("B", ("L0.inner",)), "PO0331"),
        (Hold("A", ("L9",)), "PO0301"),
        (Hold("A", ("L0.inner", "L0.inner")), "PO0303"),
        (Hold("A", ("L0", "L0.inner")), "PO0303"),
    ],
)
def test_refused(step, code):
    assert refused(below(), CUT, step)[0] == code


def test_a_nest_that_reads_only_what_it_writes_is_refused():
    scop = read("for i in range(N):\n    A[i] = A[i] + 1\n", "A[N]")
    assert refused(scop, Hold("A", ("L0",)))[0] == "PO0331"


def test_subscripts_of_the_target_read_the_copy_too():
    scop = read(
        """
        for i in range(N):
            A[min(max(P[i], 0), N - 1)] = A[min(max(P[i], 0), N - 1)] + B[i]
        """,
        "A[N]; B[N]; int64 P[N]",
        "N",
        least=1,
    )
    held = source_schedule(scop).apply(Hold("P", ("L0",))).scop.statement("S0")
    assert not re.search(r"\bP\[", show(held.target) + show(held.value))


def test_elements_that_data_find_are_not_held():
    scop = read(
        "for i in range(N):\n    B[i] = A[min(max(P[i], 0), N - 1)]\n",
        "A[N]; B[N]; int64 P[N]",
        "N",
        least=1,
    )
    assert refused(scop, Hold("A", ("L0",)))[0] == "PO0332"


def test_a_nest_of_one_version():
    assert_computes(below(), CUT, *parse_steps("version(N <= 7); hold(A, L0.v1)"))


def test_a_copy_that_is_made_before_the_loop_it_is_read_in():
    """isl runs the copy for the first iteration outside of the loop over tiles."""
    steps = """
        rearrange(B, L1, 1+2*0, 0); tile(L1, 8); pack(B_pack, L1.point[0]); split(L1.point[0], 1);
        tile(L1.point.high, 1); hold(A, L1.point.low, L1.point.high.tile)
    """
    scop = read(
        """
        for i in range(N):
            for j in range(N):
                C[i, j] = C[i, j] * 0.5
                for k in range(M):
                    C[i, j] = C[i, j] + A[i, k] * B[k, j]
        """,
        "C[N, N]; A[N, M]; B[M, N]",
        "N M",
    )
    schedule = assert_computes(scop, *parse_steps(" ".join(steps.split())))
    program = as_program(scop)
    assert certify(program, lower(schedule, program)).is_proven
