"""Schedules as files: saved, loaded, with sizes by name; options of kernels that take them."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import IllegalSchedule, ScheduleError, UsageError
from polyopt.schedulefile import ScheduleText, parse_setting, text_or_file, with_sizes


def smooth(a, b):
    n, m = a.shape
    for i in range(n):
        for j in range(1, m):
            b[i, j] = a[i, j] + b[i, j - 1]


ARGS = (np.zeros((4, 5)), np.zeros((4, 5)))
TEXT = "tile(L0, T, 4); parallelize(i_tile)"


def test_saved_and_loaded(tmp_path: Path) -> None:
    schedule = po.kernel(smooth).with_schedule(TEXT, T=8).schedule(*ARGS)
    place = tmp_path / "smooth.sched"
    schedule.save(place)
    assert place.read_text() == (
        "polyopt-schedule 1\nlet T = 8;\ntile(L0, T, 4);\nparallelize(i_tile)\n"
    )
    for given in (po.load_schedule(place), str(place), place, schedule):
        again = po.kernel(smooth).with_schedule(given).schedule(*ARGS)
        assert again.steps == schedule.steps
        assert str(again) == str(schedule)
    wider = po.kernel(smooth).with_schedule(place, T=64).schedule(*ARGS)
    assert wider.text == schedule.text.replace("8", "64")


def test_the_options_hold_the_text_of_a_file(tmp_path: Path) -> None:
    place = tmp_path / "smooth.sched"
    place.write_text("tile(L0, 8)")
    kernel = po.kernel(schedule=place)(smooth)
    place.write_text("tile(L0, 16)")
    assert kernel.options.schedule == "tile(L0, 8)"
    assert kernel.schedule(*ARGS).text == "tile(L0, 8)"


def test_errors_tell_the_place_in_the_file(tmp_path: Path) -> None:
    place = tmp_path / "smooth.sched"
    place.write_text("# threads\nparallelize(j)\n")
    with pytest.raises(IllegalSchedule) as refused:
        po.kernel(schedule=str(place))(smooth).schedule(*ARGS)
    assert any(f"{place}:2:1" in note for note in refused.value.notes)
    place.write_text("unroll(i)\n  paralelize(j)\n")
    with pytest.raises(ScheduleError) as misspelt:
        po.load_schedule(place)
    assert str(misspelt.value.loc) == f"{place}:2:3"
    place.write_text("unroll(i); unroll(x)\n")
    with pytest.raises(ScheduleError) as unknown:
        po.kernel(schedule=str(place))(smooth).schedule(*ARGS)
    assert str(unknown.value.loc) == f"{place}:1:12"


def test_a_file_may_leave_sizes_open(tmp_path: Path) -> None:
    place = tmp_path / "open.sched"
    place.write_text("tile(L0, T); split(j, 2*T + 1)")
    text = po.load_schedule(place)
    assert po.kernel(smooth).with_schedule(text, T=3).schedule(*ARGS).text.startswith("let T = 3;")
    with pytest.raises(ScheduleError) as refused:
        po.kernel(smooth).with_schedule(text).schedule(*ARGS)
    assert refused.value.code == "PO0326"


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"\xff\xfe\x00", "PO0329"),
        (b"polyopt-schedule 2\n", "PO0329"),
        (b"#" * 5_000_000, "PO0329"),
        (b"tile(L0, 99999999999)", "PO0323"),
        (b"\x00", "PO0321"),
        (b"unroll(\x1b[31m)", "PO0323"),
    ],
)
def test_files_that_are_no_schedules(content: bytes, code: str, tmp_path: Path) -> None:
    place = tmp_path / "bad.sched"
    place.write_bytes(content)
    with pytest.raises(ScheduleError) as refused:
        po.load_schedule(place)
    assert refused.value.code == code
    assert "\x1b" not in str(refused.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for place in (tmp_path / "none.sched", tmp_path, Path("a\0b")):
        with pytest.raises(UsageError) as missing:
            po.kernel(schedule=place)(smooth)
        assert missing.value.code == "PO0601"
    with pytest.raises(UsageError) as missing:
        po.kernel(schedule="fastest")(smooth)
    assert missing.value.code == "PO0601"
    with pytest.raises(UsageError) as unwritable:
        po.kernel(smooth).schedule(*ARGS).save(tmp_path)
    assert unwritable.value.code == "PO0601"


def test_what_is_a_text_and_what_is_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "steps").write_text("unroll(i)")
    (tmp_path / "my steps").write_text("unroll(k)")
    texts = ("", " ", "source", "# none", "unroll(j)", "polyopt-schedule 1", "\n", "tile L0")
    for text in (*texts, "let T = 3"):
        assert text_or_file(text) == text
    assert text_or_file("steps") == "unroll(i)"
    assert text_or_file("my steps") == "unroll(k)"


def test_a_text_remembers_its_file() -> None:
    text = ScheduleText("let T = 1; tile(L0, T)", "a.sched")
    copy = pickle.loads(pickle.dumps(text))
    assert (copy, copy.origin) == (text, "a.sched")
    assert getattr(with_sizes(text, {"T": 4}), "origin", None) == "a.sched"
    assert repr(text) == repr(str(text))


@pytest.mark.parametrize("text", ["T", "T=", "=3", "T=x", "T=1.5", "3=3", "T=99999999999"])
def test_settings_that_are_none(text: str) -> None:
    with pytest.raises(ScheduleError) as refused:
        parse_setting(text)
    assert refused.value.code == "PO0326"
    assert parse_setting(" T = -3 ") == ("T", -3)


@pytest.mark.toolchain
def test_a_compiled_kernel_saves_its_schedule(tmp_path: Path) -> None:
    compiled = po.kernel(smooth).with_schedule(TEXT, T=2).compile(*ARGS)
    place = tmp_path / "smooth.sched"
    compiled.save_schedule(place)
    assert po.load_schedule(place) == f"polyopt-schedule 1\n{compiled.schedule_text}\n"
    a, b = np.random.default_rng(1).random((5, 7)), np.zeros((5, 7))
    want = b.copy()
    smooth(a, want)
    compiled(a, b)
    assert np.array_equal(b, want)
