"""README's table of speeds: made by the command from kept runs.

In: nothing.  Out: nothing.
"""

import json

import pytest

from bench import readme
from bench.process import ROOT
from bench.readme import README, load, main, markdown, named, written


def test_readmes_table_is_what_the_command_prints(capsys):
    page = README.read_text(encoding="utf-8")
    assert main([]) == 0
    table = capsys.readouterr().out
    assert f"<!-- speed: {' '.join(named(page))} -->\n{table}<!-- end of speed -->" in page
    assert written(page, load(named(page))) == page, "python -m bench.readme --write"


def test_the_table_has_two_instruction_sets_with_machine_and_date():
    runs = load(named(README.read_text(encoding="utf-8")))
    assert len({run.isa for run in runs}) == len(runs) >= 2
    text = " ".join(markdown(runs).split())
    for run in runs:
        environment = run.report.environment
        assert environment["machine"]["cpu"] in text
        assert f"`{run.isa}`: `{run.name}`, {environment['date'][:10]}" in text


def test_a_number_is_the_fastest_peers_time_over_the_faster_forms(tmp_path, monkeypatch, capsys):
    (name, *_) = named(README.read_text(encoding="utf-8"))
    found = json.loads((ROOT / name).read_text())
    (cell,) = found["cells"] = found["cells"][:1]
    for outcome in cell["outcomes"]:
        outcome["samples"] = [3.0 if outcome["peer"] != "polyopt" else 6.0]
    cell["outcomes"][0] |= {"peer": "polyopt", "samples": [2.0]}
    (tmp_path / "run.json").write_text(json.dumps(found))
    (tmp_path / "README.md").write_text("before\n<!-- speed: x -->\n<!-- end of speed -->\nafter\n")
    monkeypatch.setattr(readme, "README", tmp_path / "README.md")
    monkeypatch.setattr(readme, "ROOT", tmp_path)
    assert main(["run.json", "--write"]) == 0
    lines = (tmp_path / "README.md").read_text().splitlines()
    assert lines[:2] == ["before", "<!-- speed: run.json -->"]
    assert f"| {cell['workload']} | 1.50 |  |  |  |  |" in lines
    assert lines[-2:] == ["<!-- end of speed -->", "after"]
    assert "1 of 1 programs are" in " ".join(lines)


@pytest.mark.parametrize(
    "page, files, message",
    [
        ("no marks", [], "readme: README.md has no marks"),
        ("no marks", ["missing.json"], "readme: [Errno 2] No such file or directory"),
    ],
)
def test_what_cannot_be_read_is_refused(page, files, message, tmp_path, monkeypatch, capsys):
    (tmp_path / "README.md").write_text(page)
    monkeypatch.setattr(readme, "README", tmp_path / "README.md")
    assert main(files) == 2
    assert capsys.readouterr().err.startswith(message)
