"""Undo, the history of a schedule and its printing while steps are taken."""

from __future__ import annotations

import pytest

from polyopt.errors import IllegalSchedule, ScheduleError
from polyopt.schedule import source_schedule
from polyopt.transforms import Interchange, Parallelize, Skew, Tile, Vectorize
from tests import scops


def test_undo():
    source = source_schedule(scops.gemm())
    tiled = source.apply(Tile("L0", (4, 4)))
    done = tiled.apply(Parallelize("i_tile"), Interchange("j", "k")).apply(Vectorize("j"))
    assert done.undo(0) is done
    assert done.undo().steps == done.steps[:-1]
    assert done.undo(3) is tiled
    assert done.undo(4) is source
    halfway = done.undo(2)
    assert halfway.steps == done.steps[:2]
    assert str(halfway) == str(tiled.apply(Parallelize("i_tile")))
    assert halfway.apply(*done.steps[2:]).text == done.text


@pytest.mark.parametrize("count", [2, -1])
def test_undo_of_steps_that_were_not_taken(count):
    with pytest.raises(ScheduleError) as refused:
        source_schedule(scops.gemm()).apply(Parallelize("i")).undo(count)
    assert refused.value.code == "PO0309"


def test_undo_proves_what_was_skipped():
    """Two steps that are legal together only: without the second the first is refused."""
    joint = source_schedule(scops.diagonal()).apply(Interchange("i", "j"), Interchange("i", "j"))
    with pytest.raises(IllegalSchedule):
        joint.undo()
    assert joint.undo(2).steps == ()


def test_history():
    source = source_schedule(scops.seidel())
    done = source.apply(Skew("i", "j")).apply(Parallelize("j"))
    assert [one.text for one in done.history()] == [
        "",
        "skew(i, j, 1)",
        "skew(i, j, 1);\nparallelize(j)",
    ]
    assert done.attempt(Vectorize("i")) is None
    chosen = done.attempt(Tile("L0", (1,)))
    assert chosen is not None
    assert chosen.before is done


def test_printing_while_steps_are_taken():
    shown: list[str] = []
    schedule = source_schedule(scops.seidel())
    schedule.apply(Skew("i", "j"), show=shown.append).apply(Parallelize("j"), show=shown.append)
    assert shown[0].splitlines()[:2] == [
        "-- skew(i, j, 1)",
        "for i = i + j:  [L0[0]]  # permutable band",
    ]
    assert shown[1].splitlines()[0] == "-- parallelize(j)"
    with pytest.raises(IllegalSchedule):
        schedule.apply(Parallelize("i"), show=shown.append)
    assert len(shown) == 2


def test_the_story_of_a_schedule():
    story = source_schedule(scops.transposed()).apply(Interchange("i", "j")).story()
    assert story == (
        "-- the order of the source\n"
        "for i = i:  [L0[0]]  # carries no dependence, permutable band\n"
        "  for j = j:  [L0[1]]  # carries no dependence\n"
        "    S0: B[j, i] = A[i, j]\n"
        "\n"
        "-- interchange(i, j)\n"
        "for j = j:  [L0[0]]  # carries no dependence, permutable band\n"
        "  for i = i:  [L0[1]]  # carries no dependence\n"
        "    S0: B[j, i] = A[i, j]"
    )
