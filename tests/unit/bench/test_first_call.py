"""The benchmark of first calls: what a process tells, and how files are compared."""

from __future__ import annotations

import json

import pytest

from bench import first_call


def test_files_are_compared_form_by_form_and_in_all(tmp_path, capsys):
    row = {"wall": 2.0, "own": 1.0, "children": 1.0, "warm wall": 0.1, "warm own": 0.1}
    before = {"gemm:loops": row, "mvt:loops": row, "lu:loops": row}
    after = {
        "gemm:loops": {**row, "wall": 1.0},
        "mvt:loops": {**row, "children": 0.0},
        "lcs:loops": row,
    }
    for name, rows in (("a.json", before), ("b.json", after)):
        (tmp_path / name).write_text(json.dumps(rows))
    first_call.main(["--compare", str(tmp_path / "a.json"), str(tmp_path / "b.json")])
    lines = {line.split()[0]: line.split()[-5:] for line in capsys.readouterr().out.splitlines()}
    assert lines["gemm:loops"] == ["0.50", "1.00", "1.00", "1.00", "1.00"]
    assert lines["mvt:loops"] == ["1.00", "1.00", "0.00", "1.00", "1.00"]
    assert lines["all"] == ["0.75", "1.00", "0.50", "1.00", "1.00"]
    assert "lu:loops" not in lines


@pytest.mark.toolchain
def test_a_cold_call_compiles_and_a_warm_one_does_not(tmp_path, capsys):
    first_call.main(["mvt", "--repeats", "1", "--json", str(tmp_path / "rows.json")])
    (row,) = json.loads((tmp_path / "rows.json").read_text()).values()
    assert row["children"] > 0.0
    assert row["build"] > 0.0
    assert row["certificate"] > 0.0
    assert row["warm wall"] < row["wall"]
    assert "mvt:loops" in capsys.readouterr().out
