"""The gates themselves: what is kept, resumed and printed, and what counts as wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.gates import goals, kernels, kills
from tests.gates.goals import GOALS, Command, Goal, Stage, of_bombs, of_forms, of_mutants
from tests.gates.page import KEPT, PAGE, page
from tests.gates.running import ROOT, read_results, run_all

WRITES = """import json, sys
record = {"count": int(sys.argv[2]), "wrong": dict.fromkeys(range(WRONG))}
json.dump(record, open(sys.argv[1], "w"))
"""


def goal(script: Path, name: str = "G1") -> Goal:
    command = Command(f"{script} {{report}} {{count}}", goals.of_record)
    return Goal(name, "", "", (5, 7, None), (command,))


def script(folder: Path, wrong: int) -> Path:
    path = folder / f"writes{wrong}.py"
    path.write_text(WRITES.replace("WRONG", str(wrong)))
    return path


def test_the_page_is_in_step() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(read_results(KEPT))


def test_every_goal_has_commands_that_exist() -> None:
    assert [one.name for one in GOALS] == [f"G{n}" for n in range(1, 19)]
    for command in (command for one in GOALS for command in one.commands):
        for word in command.arguments.split():
            if word.startswith("tests/"):
                assert (ROOT / word).exists(), word
            elif word.startswith("tests."):
                base = ROOT / word.replace(".", "/")
                assert base.with_suffix(".py").exists() or (base / "__main__.py").exists(), word


def test_a_result_is_kept_and_not_made_again(tmp_path: Path) -> None:
    one = goal(script(tmp_path, 0))
    (first,) = run_all([one], Stage.PULL_REQUEST, tmp_path / "state", 1.0)
    assert (first.verdict, first.count, first.asked) == ("met", 5, 5)
    (tmp_path / "writes0.py").unlink()
    assert list(run_all([one], Stage.PULL_REQUEST, tmp_path / "state", 1.0)) == [first]
    assert list(run_all([one], Stage.RELEASE, tmp_path / "state", 1.0)) == []


def test_what_is_wrong_is_tried_again(tmp_path: Path) -> None:
    (found,) = run_all([goal(script(tmp_path, 2))], Stage.NIGHTLY, tmp_path, 1.0)
    assert (found.verdict, found.wrong) == ("WRONG", 2)
    (found,) = run_all([goal(script(tmp_path, 0))], Stage.NIGHTLY, tmp_path, 1.0)
    assert found.verdict == "met"


def test_what_was_wrong_is_not_resumed(tmp_path: Path) -> None:
    text = """from pathlib import Path
from tests.gates import series
series.series("", lambda n: Path("WRONG").read_text() or None, 3)
"""
    answer, path = tmp_path / "answer", tmp_path / "tries.py"
    head = f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n"
    path.write_text(head + text.replace("WRONG", str(answer)))
    words = f"{path} --state {{state}} --json {{report}} --count {{count}}"
    one = Goal("G9", "", "", (3, 3, 3), (Command(words, goals.of_record),))
    answer.write_text("differs")
    (found,) = run_all([one], Stage.NIGHTLY, tmp_path / "state", 1.0)
    assert found.wrong == 3
    answer.write_text("")
    (found,) = run_all([one], Stage.NIGHTLY, tmp_path / "state", 1.0)
    assert (found.verdict, found.count, found.wrong) == ("met", 3, 0)


@pytest.mark.parametrize("text", ["raise SystemExit(3)", "pass"])
def test_a_command_without_a_report_is_wrong(tmp_path: Path, text: str) -> None:
    path = tmp_path / "fails.py"
    path.write_text(text)
    (found,) = run_all([goal(path)], Stage.NIGHTLY, tmp_path / "state", 1.0)
    assert found.verdict == "WRONG"
    assert "no report" in found.note


def test_reports_are_read(tmp_path: Path) -> None:
    table = "      loops  text  fault\nM1    killed       one\nM2    SURVIVES  another\n"
    assert (of_mutants(tmp_path, table).count, of_mutants(tmp_path, table).wrong) == (2, 1)
    assert of_bombs(tmp_path, "40 bombs, 3 not within 5 + 1 s and 1024 MB\n").wrong == 3
    line = "7 of 9 workloads in 12 forms; barriers: 3 of loops, 2 of texts; wrong: 1\n"
    assert of_forms(tmp_path, line) == goals.Found(7, 1, "12 forms", 9)
    with pytest.raises(ValueError, match="does not say"):
        of_bombs(tmp_path, "")


TESTS = """import pytest
@pytest.mark.parametrize("number", range(4))
def test_one(number):
    if number == 1:
        pytest.skip("never")
    assert number != 2 or not open(PATH).read()
"""


def test_tests_that_passed_are_not_run_again(tmp_path: Path) -> None:
    answer, path = tmp_path / "answer", tmp_path / "test_some.py"
    path.write_text(TESTS.replace("PATH", repr(str(answer))))
    (command,) = goals._tests(str(path))
    one = Goal("G6", "", "tests", (1, 1, 1), (command,))
    answer.write_text("wrong")
    (found,) = run_all([one], Stage.NIGHTLY, tmp_path / "state", 1.0)
    assert (found.count, found.asked, found.wrong, found.verdict) == (3, 3, 1, "WRONG")
    answer.write_text("")
    (found,) = run_all([one], Stage.NIGHTLY, tmp_path / "state", 1.0)
    assert (found.count, found.asked, found.verdict, found.note) == (3, 3, "met", "1 skipped")
    (found,) = run_all([one], Stage.RELEASE, tmp_path / "late", 1e-9)
    assert (found.verdict, found.wrong) == ("part", 0)
    assert found.count < found.asked


@pytest.mark.toolchain
@pytest.mark.machine
def test_a_killed_compilation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYOPT_CACHE_DIR", "")
    monkeypatch.setattr(kills, "_SECONDS", [0.2])
    assert kills.trial(3) is None
    monkeypatch.setattr(kernels, "FUNCTIONS", (lambda a, b: None,))
    assert "the call after the kill" in (kills.trial(3) or "")


def test_quotas_meet_every_order_of_magnitude() -> None:
    from tests.gates.quotas import MOST, quota_of, trial

    found = sorted(map(quota_of, range(200)))
    assert found[0] == 1
    assert found[-1] > MOST / 2
    assert sum(q < 100 for q in found) > 60
    assert trial(1) is None
    assert json.dumps(found)
