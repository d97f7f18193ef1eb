"""Clone: nests with temporaries of their own, and values that nests exchange."""

from __future__ import annotations

import pytest

from polyopt.errors import IllegalSchedule, ScheduleError
from polyopt.ir.scop import Role
from polyopt.schedule import source_schedule
from polyopt.transforms import (
    Clone,
    Contract,
    Fuse,
    LayOut,
    Parallelize,
    Split,
    Tile,
    Vectorize,
    parse_schedule,
)
from polyopt.transforms.amount import amount
from polyopt.transforms.layout import Dimension
from tests.checks import assert_computes, assert_round_trip
from tests.reading import read


def rows():
    """Each row makes a row of a temporary, and uses it in another order."""
    return read(
        """
        for i in range(N):
            for j in range(M):
                T[i, j] = 2 * A[i, j]
            for j in range(M):
                B[i, j] = T[i, j] + T[i, M - 1 - j]
        """,
        "A[N, M]; B[N, M]; temp T[N, M]",
        "N M",
    )


def neighbours():
    """Each row uses the temporary of the row before."""
    return read(
        """
        for i in range(N):
            T[i] = 2 * A[i]
        for i in range(1, N):
            B[i] = T[i] + T[i - 1]
        """,
        "A[N]; B[N]; temp T[N]",
        "N",
    )


APART = (Split("L0[0]", amount("4 * (N // 4)")), Clone("L0.high"))


def test_each_nest_has_arrays_of_its_own():
    schedule = assert_computes(rows(), *APART)
    own = [a.name for a in schedule.scop.arrays if a.role is Role.TEMP]
    assert own == ["T", "T_own"]
    inside = {s.name: s for s in schedule.scop.statements}
    assert [inside[name].target.array for name in ("S0", "S0_in")] == ["T", "T_own"]
    assert_round_trip(*APART)


def test_each_nest_is_stored_and_run_on_its_own():
    assert_computes(
        rows(),
        *APART,
        LayOut("T", (Dimension(1), Dimension(0))),
        Tile("L0.low", (4,)),
        Contract("T_own", (1, 0)),
        Parallelize("L0.low.tile[0]"),
        Vectorize("L1.high[0]"),
    )


def test_a_nest_that_is_not_split_takes_the_arrays_along():
    schedule = assert_computes(rows(), Clone("L0"))
    assert [a.name for a in schedule.scop.arrays if a.role is Role.TEMP] == ["T_own"]


def test_exchanged_values_are_refused():
    steps = (Fuse("L0", "L1", 1), Split("L0[0]", amount("N - 3")))
    schedule = source_schedule(neighbours()).apply(*steps)
    with pytest.raises(IllegalSchedule) as refused:
        schedule.apply(Clone("L0.high"))
    assert "T" in str(refused.value)


@pytest.mark.parametrize(
    ("text", "code"), [("clone(L7)", "PO0301"), ("clone()", "PO0323"), ("clone(L0)", "PO0331")]
)
def test_refusals(text, code):
    plain = read(
        """
        for i in range(N):
            B[i] = 2 * A[i]
        """,
        "A[N]; B[N]",
        "N",
    )
    with pytest.raises(ScheduleError) as found:
        parse_schedule(source_schedule(plain), text)
    assert found.value.code == code
