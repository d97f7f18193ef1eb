"""Errors travel between processes, and show the lines that they are about."""

from __future__ import annotations

import pickle
import traceback

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import (
    IllegalSchedule,
    InternalError,
    Loc,
    PolyoptError,
    UsageError,
    boundary,
    render_place,
)


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


def _frames(call):
    """Return the functions whose frames the error of a call shows, below the one that calls."""
    with pytest.raises(PolyoptError) as found:
        call()
    error = found.value
    assert error.__cause__ is None
    frames = [frame.f_code.co_name for frame, _ in traceback.walk_tb(error.__traceback__)]
    return frames[frames.index("<lambda>") + 1 :]


def refused(x):
    return open(x)


def out_of_range(x):
    for i in range(x.shape[0]):
        x[i] = x[int(x[i]) + 5]


def steps(x: po.f64[N]):  # noqa: F821
    for i in range(1, x.shape[0]):
        x[i] = x[i - 1]


X = np.ones(3)
CALLS = {
    "call": lambda: po.kernel(refused)(X),
    "compile": lambda: po.kernel(refused).compile(X),
    "schedule": lambda: po.kernel(steps, schedule="reverse(i)").schedule(),
    "options": lambda: po.kernel(steps, fp="nonsense"),
    "later options": lambda: po.kernel(steps).with_options(fp="nonsense"),
    "step": lambda: po.kernel(steps).with_schedule("nonsense(i)").schedule(),
    "file": lambda: po.load_schedule("/nowhere"),
    "lazy": lambda: po.lazy(X).compute(fp="nonsense"),
}


@pytest.mark.parametrize("name", CALLS)
def test_errors_show_the_line_that_calls(name):
    assert len(_frames(CALLS[name])) == 1


@pytest.mark.toolchain
def test_faults_show_the_line_that_calls():
    assert len(_frames(lambda: po.kernel(out_of_range)(X))) == 1
    compiled = po.kernel(out_of_range).compile(X)
    assert len(_frames(lambda: compiled(X))) == 1


def test_all_frames_where_they_are_wanted(monkeypatch):
    monkeypatch.setenv("POLYOPT_DEBUG", "1")
    assert len(_frames(CALLS["call"])) > 5


def test_defects_keep_their_frames():
    def deep():
        raise InternalError("PO0901", "a defect")

    assert _frames(lambda: boundary(deep)())[-1] == "deep"
