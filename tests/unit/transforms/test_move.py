"""Move: a nest directly before another one."""

from __future__ import annotations

import pytest

from polyopt.errors import ScheduleError
from polyopt.ir.scop import Scop
from polyopt.schedule import source_schedule
from polyopt.schedule.tree import bands
from polyopt.transforms import Fuse, Move, parse_steps
from tests.checks import assert_computes, assert_illegal, assert_round_trip
from tests.reading import read


def three() -> Scop:
    """The third nest uses the first one's values alone."""
    return read(
        """
        for i in range(N):
            B[i] = A[i]
        for j in range(N):
            C[j] = A[j] * 2
        for k in range(N):
            D[k] = B[k] + 1
        """,
        "A[N]; B[N]; C[N]; D[N]",
    )


def test_a_nest_moves_over_independent_ones():
    schedule = assert_computes(three(), Move("L0", "L2"), Fuse("L0", "L2"))
    assert [band.label for band in bands(schedule.tree)] == ["L1", "L0"]
    schedule = assert_computes(three(), Move("L2", "L1"))
    assert [band.label for band in bands(schedule.tree)] == ["L0", "L2", "L1"]
    assert_round_trip(Move("L0", "L2"))


def test_not_over_one_that_needs_its_values():
    _, witness = assert_illegal(three(), "PO0311", Move("L2", "L0"))
    assert witness.array == "B"


@pytest.mark.parametrize(
    ("text", "code"),
    [("move(L0, L9)", "PO0301"), ("move(L0, L0)", "PO0305"), ("move(L0)", "PO0323")],
)
def test_refusals(text: str, code: str):
    with pytest.raises(ScheduleError) as refused:
        source_schedule(three()).apply(*parse_steps(text))
    assert refused.value.code == code
