"""Errors travel between processes."""

from __future__ import annotations

import pickle

import pytest

from polyopt.errors import IllegalSchedule, Loc, PolyoptError, UsageError


@pytest.mark.parametrize(
    "error",
    [
        UsageError("PO0221", "no option", notes=("a note",), hint="look", loc=Loc("f", 1, 1, 1, 2)),
        IllegalSchedule("PO0312", "not parallel", witness=("pair",), repair=None),
    ],
    ids=lambda error: error.code,
)
def test_an_error_is_the_same_after_pickling(error: PolyoptError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


def test_lines_that_nobody_reads_lose_their_middle():
    error = PolyoptError("PO0001", "x" * 100_000 + " is not known", hint="write less")
    first, last = str(error).splitlines()
    assert len(first) < 1100
    assert first.endswith("is not known")
    assert last == "   = help: write less"
