"""The benchmark of first calls: what a process tells, and how files are compared."""

from __future__ import annotations

import json

import pytest

from bench import first_call, first_call_numba


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


ROW = {"wall": 0.5, "own": 0.25, "children": 0.125, "warm wall": 0.01, "warm own": 0.01}


def test_the_table_has_numba_beside_the_programs_that_it_takes():
    taken = {**ROW, "numba wall": 2.0, "numba own": 1.5, "numba import": 0.5}
    head, *lines = first_call.table({"mvt:loops": taken, "knn:numpy": ROW}).splitlines()
    assert head.split()[-6:] == ["numba", "wall", "numba", "own", "numba", "import"]
    ends = {line[:28].strip(): line.split()[-5:] for line in lines}
    assert ends == {
        "mvt:loops": ["10", "10", "2000", "1500", "500"],
        "knn:numpy": ["10", "10", "-", "-", "-"],
        "all 2": ["20", "20", "-", "-", "-"],
        "with numba 1": ["10", "10", "2000", "1500", "500"],
    }


def test_numba_counts_where_every_call_was_one_of_it(tmp_path, monkeypatch):
    (tmp_path / "primed").mkdir()
    peer = iter(
        [{"wall": 3.0, "own": 2.0, "import": 1.0}, {"wall": 1.0, "own": 2.0, "import": 1.0}]
    )
    monkeypatch.setattr(first_call, "_worker", lambda name, form, cache: ROW)
    monkeypatch.setattr(first_call_numba, "first_call", lambda name, form: next(peer, None))
    row = first_call.measure("mvt", "loops", 2, tmp_path)
    assert (row["numba wall"], row["numba own"], row["numba import"]) == (2.0, 2.0, 1.0)
    assert "numba wall" not in first_call.measure("mvt", "loops", 2, tmp_path)


def test_there_is_no_numba_where_none_is_installed(monkeypatch):
    monkeypatch.setattr(first_call_numba, "interpreter", lambda: None)
    assert first_call_numba.first_call("mvt", "loops") is None


@pytest.mark.toolchain
def test_a_cold_call_compiles_and_a_warm_one_does_not(tmp_path, capsys):
    first_call.main(["mvt", "--repeats", "1", "--json", str(tmp_path / "rows.json")])
    (row,) = json.loads((tmp_path / "rows.json").read_text()).values()
    assert row["children"] > 0.0
    assert row["build"] > 0.0
    assert row["certificate"] > 0.0
    assert row["warm wall"] < row["wall"]
    assert "mvt:loops" in capsys.readouterr().out
