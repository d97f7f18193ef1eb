"""Settings: the environment before a project's file before a user's; what is refused, and where."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click.testing
import pytest

import polyopt as po
from polyopt.cli.app import cli
from polyopt.errors import UsageError, is_debugging
from polyopt.measuring.detection import detect_machine
from polyopt.runtime.threads import thread_count
from polyopt.settings import SETTINGS, chosen, forget_files, is_set, setting, variable_of
from polyopt.targets import Options, seconds_to_compile


class Files:
    """A project's file and a user's, each written as a text."""

    def __init__(self, root: Path) -> None:
        self.project = root / "project" / "pyproject.toml"
        self.user = root / "settings" / "polyopt" / "config.toml"
        (self.project.parent / "inner").mkdir(parents=True)
        self.user.parent.mkdir(parents=True)

    def write(self, project: str = "", user: str = "") -> None:
        self.project.write_text(project, encoding="utf-8")
        self.user.write_text(user, encoding="utf-8")
        forget_files()


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Files]:
    """Files of this test alone, seen from a directory inside the project."""
    made = Files(tmp_path)
    monkeypatch.chdir(made.project.parent / "inner")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    for name in SETTINGS:
        monkeypatch.delenv(variable_of(name), raising=False)
    forget_files()
    yield made
    forget_files()


def test_nothing_is_chosen_without_files(files: Files) -> None:
    assert {chosen(name) for name in SETTINGS} == {(None, None)}


def test_a_variable_goes_before_a_project_and_that_before_a_user(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    files.write(user="budget = 7\nverify = true\n")
    assert chosen("budget") == ("7", str(files.user))
    files.write("[tool.polyopt]\nbudget = 8.5\n", "budget = 7\nverify = true\n")
    assert chosen("budget") == ("8.5", str(files.project))
    assert is_set("verify")
    monkeypatch.setenv("POLYOPT_BUDGET", "9")
    assert chosen("budget") == ("9", "POLYOPT_BUDGET")


def test_settings_reach_what_they_are_for(files: Files) -> None:
    files.write("[tool.polyopt]\nnum-threads = 1\nbudget = 3\nmachine = 'x86-64-v2'\n")
    assert thread_count(None) == 1
    assert seconds_to_compile(Options()) == 3
    assert detect_machine().vector_bytes == 16


def test_a_file_of_a_machine_lies_beside_the_file_that_names_it(files: Files) -> None:
    (files.project.parent / "m.json").write_text(json.dumps({"machine": {"cores": 13}}))
    files.write("[tool.polyopt]\nmachine = 'm.json'\n")
    assert detect_machine().cores == 13


def test_a_project_without_the_table_is_not_the_project(files: Files) -> None:
    inner = files.project.parent / "inner" / "pyproject.toml"
    inner.write_text("[project]\nname = 'inner'\n")
    files.write("[tool.polyopt]\nbudget = 4\n")
    assert setting("budget") == "4"


@pytest.mark.parametrize("name", [name for name, known in SETTINGS.items() if not known.by_project])
def test_a_project_chooses_no_program_and_no_directory_of_code(files: Files, name: str) -> None:
    files.write(f"[tool.polyopt]\n{name} = 'x'\n")
    with pytest.raises(UsageError, match="a project may not choose it") as caught:
        setting("budget")
    assert caught.value.code == "PO0237"
    files.write(user=f"{name} = 'x'\n")
    assert setting(name) == "x"


@pytest.mark.parametrize(
    "text, line, reason",
    [
        ("budgets = 1", 3, "there is no setting `budgets`"),
        ("budget = [1]", 3, r"`budget` is \[1\]"),
        ("budget = ''", 3, "`budget` is ''"),
        ("budget = ", 2, "pyproject.toml is not TOML"),
    ],
)
def test_a_wrong_file_is_refused_with_its_line(
    files: Files, text: str, line: int, reason: str
) -> None:
    files.write(f"# budget and budgets\n[tool.polyopt]\n{text}\n")
    with pytest.raises(UsageError, match=reason) as caught:
        setting("machine")
    assert caught.value.loc is not None
    assert (caught.value.loc.file, caught.value.loc.line) == (str(files.project), line)


def test_a_wrong_number_names_the_file_that_has_it(files: Files) -> None:
    files.write("[tool.polyopt]\nnum-threads = 0\n")
    with pytest.raises(UsageError, match=r"pyproject\.toml is `0`, not a positive number"):
        thread_count(None)


def test_the_command_lists_every_setting_with_its_origin(files: Files) -> None:
    files.write("[tool.polyopt]\nbudget = 4\n")
    run = click.testing.CliRunner().invoke(cli, ["config", "--json"])
    found = json.loads(run.output)
    assert list(found) == list(SETTINGS)
    assert found["budget"]["value"] == "4"
    assert found["budget"]["origin"] == str(files.project)
    shown = click.testing.CliRunner().invoke(cli, ["config", "--origin"]).output
    assert f"4                             {files.project}" in shown


def test_python_chooses_settings_for_a_time(files, monkeypatch):
    files.write(project="[tool.polyopt]\nbudget = 7\n")
    monkeypatch.delenv("POLYOPT_BUDGET", raising=False)
    with po.config(budget=3, cache_size="5M", verify=True):
        assert chosen("budget") == ("3", "POLYOPT_BUDGET")
        assert setting("cache-size") == "5M"
        assert is_set("verify")
    assert setting("budget") == "7"
    po.config(budget=4)
    assert seconds_to_compile(Options()) == 4.0
    with po.config(budget=None):
        assert setting("budget") == "7"
    assert setting("budget") == "4"
    po.config(budget=None)


def test_python_shows_all_frames_on_request(monkeypatch):
    monkeypatch.delenv("POLYOPT_DEBUG", raising=False)
    with po.config(debug=True):
        assert is_debugging()
    assert not is_debugging()


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"num_thread": 1}, "did you mean `num_threads`"),
        ({"zzz": 1}, "settings are num_threads"),
        ({"budget": ""}, "setting `budget` is ''"),
        ({"budget": []}, r"setting `budget` is \[\]"),
    ],
)
def test_python_chooses_known_settings_only(values, words, monkeypatch):
    monkeypatch.delenv("POLYOPT_BUDGET", raising=False)
    with pytest.raises(UsageError, match=words) as caught:
        po.config(verify=True, **values)
    assert caught.value.code == "PO0237"
    assert not is_set("verify"), "nothing is chosen by a refused call"
