"""Contract: rolling windows, the fewest cells, values that would share a cell."""

from __future__ import annotations

import pytest

from polyopt.emit.lower import lower
from polyopt.errors import IllegalSchedule
from polyopt.ir.showing import show
from polyopt.schedule import source_schedule
from polyopt.transforms import Contract, Expand, Fuse, Parallelize
from tests import scops
from tests.checks import assert_computes, assert_round_trip, story
from tests.oracle.program import as_program
from tests.unit.transforms import data_programs
from tests.unit.transforms.refusing import refused

PIPELINE = data_programs.pipeline()


def cells(schedule, name):
    return [show(e) for e in schedule.scop.array(name).shape]


def test_golden(golden):
    golden(
        "schedule/contract_rows.tree", story(PIPELINE, Fuse("L0", "L1", 1), Contract("T", (2, 0)))
    )


def test_the_fewest_cells():
    assert cells(assert_computes(PIPELINE, Fuse("L0", "L1"), Contract("T")), "T") == ["2", "M"]
    assert cells(assert_computes(PIPELINE, Fuse("L0", "L1", 1), Contract("T")), "T") == ["2", "M"]


def test_more_than_needed():
    assert_computes(PIPELINE, Fuse("L0", "L1"), Contract("T", (3, 0)))


def test_other_steps_follow():
    assert_computes(PIPELINE, Fuse("L0", "L1", 1), Contract("T", (2, 0)), Parallelize("L1[0]"))


@pytest.mark.parametrize(("steps", "sizes"), [((Fuse("L0", "L1"),), (1, 0)), ((), (2, 0))])
def test_values_that_would_share_a_cell(steps, sizes):
    schedule = source_schedule(PIPELINE).apply(*steps)
    with pytest.raises(IllegalSchedule) as found:
        schedule.apply(Contract("T", sizes))
    witness = found.value.witness
    assert found.value.code == "PO0316"
    (_, first), (_, second) = witness.wanted, witness.found
    assert first != second
    assert first[0] % sizes[0] == second[0] % sizes[0]
    assert first[1] == second[1]


def test_the_hint_works():
    with pytest.raises(IllegalSchedule) as found:
        source_schedule(PIPELINE).apply(Fuse("L0", "L1"), Contract("T", (1, 0)))
    assert found.value.hint == "enough cells: contract(T, 2, 0)"


def test_iterations_that_run_together_need_cells_each():
    """Fewer cells than iterations would make a loop sequential: the judge sees it."""
    scop = data_programs.last_value()
    schedule = source_schedule(scop).apply(Expand("s", ("i",)), Parallelize("i"))
    with pytest.raises(IllegalSchedule) as found:
        schedule.apply(Contract("s_own", (1,)))
    assert found.value.code in ("PO0312", "PO0316")


def test_loops_use_the_window():
    fn = lower(
        source_schedule(PIPELINE).apply(Fuse("L0", "L1", 1), Contract("T")), as_program(PIPELINE)
    )
    assert [show(e) for e in next(a for a in fn.arrays if a.name == "T").shape] == ["2", "M"]


def test_round_trip():
    assert_round_trip(Contract("T", (2, 0)), Contract("T"))


def test_refusals():
    assert refused(PIPELINE, Contract("T", (2,)))[0] == "PO0335"
    assert refused(PIPELINE, Contract("T"))[0] == "PO0335"
    assert refused(PIPELINE, Contract("T", (-1, 0)))[0] == "PO0335"
    assert refused(scops.gemm(), Contract("C", (2, 2)))[0] == "PO0331"
