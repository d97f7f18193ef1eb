"""Repairs: solved where there is something to solve, checked, applied in the place of the step."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from polyopt.errors import IllegalSchedule, ScheduleError
from polyopt.schedule import Repair, RepairKind, Witness, source_schedule
from polyopt.schedule.repair import repaired
from polyopt.schedule.replay import How
from polyopt.schedule.skewing import Factor, permuting_factors
from polyopt.schedule.tree import Sequence, find_band
from polyopt.schedule.witness_text import to_record
from polyopt.transforms import parse_steps
from tests import scops
from tests.checks import assert_computes
from tests.reading import read


def _refusal(scop, text) -> IllegalSchedule:
    with pytest.raises(IllegalSchedule) as refused:
        source_schedule(scop).apply(*parse_steps(text))
    return refused.value


def _stencil(statement: str):
    loops = "for i in range(9, N):\n    for j in range(9, N - 9):\n        "
    return read(loops + statement, "A[N, N]")


@pytest.mark.parametrize(
    ("statement", "factor"),
    [
        ("A[i, j] = A[i - 1, j + 1]", 1),
        ("A[i, j] = A[i - 1, j + 5]", 5),
        ("A[i, j] = A[i - 2, j + 5]", 3),
        ("A[i, j] = A[i - 1, j + 1] + A[i - 1, j + 4] + A[i, j - 1]", 4),
        ("A[i, j] = A[i - 1, j - 1]", 0),
    ],
)
def test_the_least_skew_is_solved(statement, factor):
    schedule = source_schedule(_stencil(statement))
    band = find_band(schedule.tree, "L0")
    found = permuting_factors(band.members, schedule.dependences.ordering)
    assert found == ((Factor(1, 0, factor),) if factor else ())


def test_no_skew_makes_up_for_a_distance_without_bound():
    loops = "for i in range(1, N):\n    for j in range(N):\n        "
    scop = read(f"{loops}A[j] = A[N - 1 - j]", "A[N]")
    schedule = source_schedule(scop)
    band = find_band(schedule.tree, "L0")
    assert permuting_factors(band.members, schedule.dependences.ordering) is None


LATE = "for i in range(1, N):\n    A[i] = B[i]\n    C[i] = A[i - 1]"
SCRATCH = "for i in range(N):\n    t[0] = B[i]\n    C[i] = t[0] * t[0]"
AHEAD = "for i in range(1, N):\n    C[i] = A[i - 1]\n    A[i] = B[i]"


@pytest.mark.parametrize(
    ("text", "arrays", "step", "kind", "repair"),
    [
        (LATE, "A[N]; B[N]; C[N]", "parallelize(i)", "SHIFT", "shift(i, S1, -1); parallelize(i)"),
        (SCRATCH, "t[1]; B[N]; C[N]", "parallelize(i)", "PRIVATISE",
         "expand(t, i); parallelize(i)"),
        (AHEAD, "A[N]; B[N]; C[N]", "distribute(L0)", "REORDER",
         "reorder(L0, 1, 0); distribute(L0)"),
        ("for i in range(N):\n    s[0] += B[i]", "s[1]; B[N]", "parallelize(i)", "REDUCTION",
         "strip(i, 64); rfactor(S0, i_tile); parallelize(i_tile)"),
    ],
)  # fmt: skip
def test_kinds(text, arrays, step, kind, repair):
    error = _refusal(read(text, arrays), step)
    assert isinstance(error.repair, Repair)
    assert (error.repair.kind.name, error.repair.text) == (kind, repair)
    assert str(error.repair) == error.hint


@pytest.mark.parametrize(
    ("make", "step"),
    [
        (scops.seidel, "tile(L0, 2, 2); parallelize(L0.tile[0])"),
        (scops.diagonal, "tile(L0, 2, 2); vectorize(L0.point[0])"),
        (scops.ahead, "fuse(L0, L1)"),
        (scops.jacobi, "fuse(L1, L2)"),
        (scops.gemm, "parallelize(k)"),
    ],
)
def test_refused_steps_are_replaced(make, step):
    source = source_schedule(make())
    taken, after = repaired(source, parse_steps(step))
    assert after.trace == taken
    assert taken != parse_steps(step)
    assert_computes(make(), *taken)


def test_what_cannot_be_repaired_stays_refused():
    with pytest.raises(IllegalSchedule):
        repaired(source_schedule(scops.prefix()), parse_steps("parallelize(i)"))


def test_sums_in_the_order_of_the_source_say_how_to_open_it():
    scop = read("for i in range(N):\n    s[0] += B[i]", "s[1]; B[N]")
    (statement,) = scop.statements
    ordered = replace(statement, reduction=replace(statement.reduction, reassociable=False))
    error = _refusal(replace(scop, statements=(ordered,)), "parallelize(i)")
    assert isinstance(error.repair, Repair)
    assert error.repair.kind is RepairKind.MODE
    assert 'fp="reassociate"' in (error.hint or "")
    assert any("whose order the source fixes" in note for note in error.notes)
    with pytest.raises(ScheduleError):
        repaired(source_schedule(replace(scop, statements=(ordered,))), error.repair.steps)


def _witness(error: IllegalSchedule) -> Witness:
    assert isinstance(error.witness, Witness)
    return error.witness


def test_values_of_iterations_that_take_turns():
    witness = _witness(_refusal(scops.jacobi(), "parallelize(t)"))
    assert witness.replay is not None
    assert witness.replay.how is How.IN_TURN


def test_values_of_updates_at_once():
    witness = _witness(_refusal(scops.gemm(), "parallelize(k)"))
    assert witness.replay is not None
    assert witness.replay.how is How.AT_ONCE
    change = witness.replay.change
    assert change is not None
    assert (change.array, change.cell) == ("C", (0, 0))
    assert change.before != change.after


def test_equal_values_are_told_as_equal():
    """Both iterations write the same: no data can show the order."""
    scop = read("for i in range(N):\n    A[0] = 7", "A[1]")
    error = _refusal(scop, "parallelize(i)")
    assert error.notes[1].startswith("values: equal in both orders on 3 sets of small data")


class Drop:
    """A step that forgets the last part of a sequence."""

    def rewrite(self, tree, scop):
        assert isinstance(tree, Sequence)
        return replace(tree, parts=tree.parts[:-1])

    def __str__(self):
        return "drop()"


def test_a_lost_iteration_has_a_witness():
    with pytest.raises(IllegalSchedule) as refused:
        source_schedule(scops.ahead()).apply(Drop())
    assert refused.value.code == "PO0314"
    witness = _witness(refused.value)
    assert (witness.kind, witness.array) == ("lost", "C")
    assert witness.source == witness.target == ("S1", (0,))
    assert witness.replay is not None
    assert witness.replay.change is not None
    assert witness.replay.change.array == "C"


def test_a_witness_as_data():
    scop = scops.prefix()
    record = to_record(_witness(_refusal(scop, "parallelize(i)")), scop)
    assert json.loads(json.dumps(record)) == record
    assert record["source"]["iteration"] == {"i": 1}
    assert record["sizes"] == {"N": 3}
    assert record["values"]["before"] == 12.0
