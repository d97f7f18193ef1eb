"""Errors travel between processes, and show the lines that they are about."""

from __future__ import annotations

import pickle

import pytest

from polyopt.errors import IllegalSchedule, Loc, PolyoptError, UsageError, render_place


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


def test_the_line_is_that_of_the_file_as_it_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "demo.py"
    file.write_text("first = 1\n")
    assert "first = 1" in render_place(Loc("demo.py", 1, 1, 1, 6))[2]
    file.write_text("another_name = 2\n")
    assert "another_name = 2" in render_place(Loc("demo.py", 1, 1, 1, 6))[2]
    file.unlink()
    assert render_place(Loc("demo.py", 1, 1, 1, 6)) == ["  --> demo.py:1:1"]
