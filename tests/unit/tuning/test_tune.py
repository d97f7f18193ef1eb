"""Tuning kernels: candidates built and proven, the measuring made up."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

import polyopt as po
from polyopt.cli.app import run
from polyopt.errors import UsageError
from polyopt.runtime.notices import PolyoptWarning
from polyopt.targets import Options
from polyopt.tuning import tune as module
from polyopt.tuning.kept import tuned, tuned_of
from polyopt.tuning.saved import append, last_saved
from polyopt.tuning.timing import Copies, overlap


def scale(a, b):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] = 2.0 * b[i, j]


BETTER = "tile(L0, 8, 16);\nparallelize(L0.tile[0])"


class Bench(module.Bench):
    """Tiles of 8 rows and 16 columns win; after three candidates the time is over."""

    def build(self, candidate, seconds):
        self.tried = getattr(self, "tried", 0) + 1
        return super().build(candidate, seconds)

    def race(self, champion, challenger):
        self.copies.seconds(challenger.loaded.call)
        return 1.0, 0.5 if "tile(L0, 8, 16)" in challenger.schedule_text else 2.0

    def clock(self):
        return 0.0 if getattr(self, "tried", 0) < 3 else 1e9


@pytest.fixture
def bench(monkeypatch, tmp_path):
    monkeypatch.setenv("POLYOPT_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("POLYOPT_CACHE", raising=False)
    monkeypatch.setattr(module, "Bench", Bench)
    monkeypatch.setattr(module, "alternative_texts", lambda *_: ["nonsense(", BETTER])


def _arrays():
    return np.zeros((5, 7)), np.random.default_rng(1).random((5, 7))


def test_the_best_is_kept_and_used_by_other_kernels(bench):
    a, b = _arrays()
    before = a.copy()
    kernel = po.kernel(scale)
    found = kernel.tune(50.0, a, b)
    assert found.text.splitlines() == ["tile(L0, 8, 16);", "parallelize(L0.tile[0])"]
    assert found.sizes == ("a=5x7", "b=5x7")
    assert found.before / found.seconds == 2.0
    np.testing.assert_array_equal(a, before)
    kernel(a, b)
    np.testing.assert_array_equal(a, 2 * b)
    assert kernel.compile(a, b).schedule_text == found.text
    later = po.kernel(scale)
    assert later.compile(a, b).schedule_text == found.text
    assert later.schedule(a, b).text == found.text
    assert "2.00 times" in found.lines()[1]
    assert "tile" not in po.kernel(scale, fp="reassociate").compile(a, b).schedule_text


def test_the_option_tunes_at_the_first_call(bench):
    a, b = _arrays()
    kernel = po.kernel(tune=20)(scale)
    kernel(a, b)
    np.testing.assert_array_equal(a, 2 * b)
    found = tuned(scale, kernel.compile(a, b).types, Options())
    assert found is not None
    assert kernel.compile(a, b).schedule_text == found.text
    fresh = po.kernel(tune=20)(scale)
    fresh._tune = None  # what is known is not searched for again
    fresh(a, b)


def test_calls_that_cannot_be_repeated(bench):
    a, _ = _arrays()
    with pytest.raises(UsageError) as caught:
        po.kernel(scale).tune(5.0, a[1:], a[:-1])
    assert caught.value.code == "PO0227"
    with pytest.raises(UsageError, match="the target is"):
        po.kernel(scale, target="cuda", device="emulated").tune(5.0, *_arrays())
    kernel = po.kernel(tune=5.0)(scale)
    with pytest.warns(PolyoptWarning, match="share memory"):
        kernel(a[1:], a[:-1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel(a[1:], a[:-1])


@pytest.mark.parametrize("seconds", [0, -1, "long", True, 1e9])
def test_wrong_seconds(seconds):
    with pytest.raises(UsageError) as caught:
        po.kernel(scale, tune=seconds)
    assert caught.value.code == "PO0222"
    assert "`tune`" in caught.value.message


def test_races_restore_what_a_call_writes():
    a, b = _arrays()
    copies = Copies((a, b), [0])
    seen = []

    def add(x, y):
        seen.append(x.sum())
        x += y

    first, second = copies.race(add, add)
    assert first >= 0
    assert second >= 0
    assert set(seen) == {0.0}
    assert not a.any()
    assert overlap((a, b, a[1:]))
    assert not overlap((a, b, 3))


def test_random_numbers_of_the_caller_stay(bench):
    np.random.seed(3)
    expected = np.random.random()
    np.random.seed(3)
    po.kernel(scale).tune(5.0, *_arrays())
    assert np.random.random() == expected


def test_explain_tells_of_it(bench, tmp_path, capfd):
    path = tmp_path / "program.py"
    path.write_text(
        "def twice(a, b):\n    for i in range(a.shape[0]):\n"
        "        for j in range(a.shape[1]):\n            a[i, j] = 2.0 * b[i, j]\n"
    )
    target = f"{path}:twice"
    assert run(["tune", target, "--sizes", "a=6x9,b=6x9", "--seconds", "9", "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert found["text"].startswith("tile(L0, 8, 16)")
    assert found["sizes"] == ["a=6x9", "b=6x9"]
    assert run(["explain", target, "--level", "full"]) == 0
    shown = capfd.readouterr().out
    assert "schedules measured at a=6x9, b=6x9" in shown
    assert "tile(L0, 8, 16)" in shown


@pytest.fixture
def ledger(bench, monkeypatch, tmp_path):
    """A file of tunings with a line for `scale`, and an empty cache."""
    path = tmp_path / "tunings.jsonl"
    kernel = po.kernel(scale)
    found = kernel.tune(50.0, *_arrays())
    append(path, scale, kernel.compile(*_arrays()).types, kernel.options, found.record())
    monkeypatch.setenv("POLYOPT_CACHE_DIR", str(tmp_path / "other"))
    monkeypatch.setenv("POLYOPT_TUNINGS", str(path))
    return path


@pytest.mark.toolchain
def test_a_file_of_tunings_serves_without_the_cache(ledger, monkeypatch):
    a, b = _arrays()
    kernel = po.kernel(scale)
    kernel(a, b)
    np.testing.assert_array_equal(a, 2 * b)
    assert "tile(L0, 8, 16)" in kernel.compile(a, b).schedule_text
    assert "tile(L0, 8, 16)" in po.kernel(scale).schedule(a, b).text
    assert "tile(L0, 8, 16)" not in po.kernel(scale, fp="reassociate").compile(a, b).schedule_text
    monkeypatch.setenv("POLYOPT_L1", "16384")  # another machine
    assert "tile(L0, 8, 16)" not in po.kernel(scale).compile(a, b).schedule_text


@pytest.mark.toolchain
def test_an_option_names_the_file(ledger, monkeypatch, tmp_path):
    monkeypatch.delenv("POLYOPT_TUNINGS")
    a, b = _arrays()
    assert "tile(L0, 8, 16)" not in po.kernel(scale).compile(a, b).schedule_text
    kernel = po.kernel(scale, tuned=ledger)
    kernel(a, b)
    np.testing.assert_array_equal(a, 2 * b)
    assert "tile(L0, 8, 16)" in kernel.compile(a, b).schedule_text
    other = po.kernel(scale).with_options(tuned=str(ledger), fp="reassociate")
    with pytest.warns(PolyoptWarning, match=r"tunings\.jsonl` has no schedule of `scale`"):
        other(a, b)
    with pytest.raises(UsageError, match="cannot be read") as caught:
        po.kernel(scale, tuned=tmp_path / "missing.jsonl").compile(a, b)
    assert caught.value.code == "PO0639"
    with pytest.raises(UsageError, match="option `tuned` is 3"):
        po.kernel(scale, tuned=3)


@pytest.mark.toolchain
def test_what_was_found_is_added_to_a_file(bench, tmp_path):
    path = tmp_path / "mine.jsonl"
    po.kernel(scale).tune(50.0, *_arrays(), save=path)
    assert "tile(L0, 8, 16)" in json.loads(path.read_text())["found"]["text"]
    fresh = po.kernel(scale, tuned=path)
    assert "tile(L0, 8, 16)" in fresh.schedule(*_arrays()).text


@pytest.mark.toolchain
def test_the_last_line_wins_and_others_stay(ledger):
    a, b = _arrays()
    entry = json.loads(ledger.read_text())
    entry["found"]["text"] = "tile(L0, 4, 4)"
    ledger.write_text(ledger.read_text() + "\n" + json.dumps({**entry, "added": 1}) + "\n")
    assert "tile(L0, 4, 4)" in po.kernel(scale).compile(a, b).schedule_text
    kernel = po.kernel(scale, fp="reassociate")
    append(ledger, scale, kernel.compile(a, b).types, kernel.options, entry["found"])
    assert len(ledger.read_text().split("\n")) == 5
    assert "tile(L0, 4, 4)" in po.kernel(scale, fp="reassociate").compile(a, b).schedule_text


@pytest.mark.toolchain
def test_a_schedule_that_is_refused_is_left_out_with_its_line(ledger):
    a, b = _arrays()
    entry = json.loads(ledger.read_text())
    entry["found"]["text"] = "tile(L7, 4, 4)"
    ledger.write_text(json.dumps(entry))
    kernel = po.kernel(scale)
    with pytest.warns(PolyoptWarning, match=r"the schedule of .*tunings\.jsonl:1 is refused"):
        kernel(a, b)
    np.testing.assert_array_equal(a, 2 * b)
    assert "L7" not in kernel.compile(a, b).schedule_text


@pytest.mark.parametrize(
    "text, line",
    [("{}", 1), ("\n[1]", 2), ("{", 1), ('{"program": 1, "types": [], "fp": 1}', 1)],
)
def test_a_line_that_is_none_is_refused_with_its_number(tmp_path, text, line):
    path = tmp_path / "t.jsonl"
    path.write_text(text)
    with pytest.raises(UsageError, match="line of tuning") as caught:
        last_saved(str(path), scale, (), Options(), tuned_of)
    assert caught.value.code == "PO0639"
    assert caught.value.loc.line == line


@pytest.mark.toolchain
def test_the_command_saves_a_line(bench, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.py").write_text(
        "def scale(a: 'f64[:,:]', b: 'f64[:,:]'):\n"
        "    for i in range(a.shape[0]):\n"
        "        for j in range(a.shape[1]):\n"
        "            a[i, j] = 2.0 * b[i, j]\n"
    )
    call = ["tune", "k.py:scale", "--sizes", "a=9x9,b=9x9", "--save"]
    assert run([*call, "out.jsonl"]) == 0
    entry = json.loads((tmp_path / "out.jsonl").read_text())
    assert entry["function"] == "scale"
    assert entry["found"]["sizes"] == ["a=9x9", "b=9x9"]
    assert "tile(L0, 8, 16)" in entry["found"]["text"]
    assert run([*call, "nowhere/out.jsonl"]) == 2
    assert "error[PO0614]: `nowhere/out.jsonl` cannot be written" in capsys.readouterr().err
