"""`polyopt compile FILE.c`: files, what is printed, options."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("tree_sitter_c")
pytestmark = pytest.mark.toolchain

TEXT = """\
void scaled(int n, double x[n])
{
#pragma scop
  for (int i = 0; i < n; i++)
    x[i] *= FACTOR;
#pragma endscop
}
"""
FACTOR = "-DFACTOR=2.0"


def test_it_writes_a_file_beside_the_source(polyopt, write):
    source = write("scaled.c", TEXT)
    done = polyopt("compile", "scaled.c", FACTOR)
    assert done.code == 0
    assert done.out == "scaled.polyopt.c\n"
    assert "scaled, lines 3 to 6" in done.err
    assert "polyopt_done(polyopt_scaled_1(" in source.with_suffix(".polyopt.c").read_text()
    assert source.read_text() == TEXT


def test_it_prints_the_text(polyopt, write):
    write("scaled.c", TEXT)
    done = polyopt("compile", "scaled.c", "-o", "-", FACTOR)
    assert done.code == 0
    assert "void scaled(int n, double x[n])" in done.out


def test_json_tells_the_steps(polyopt, write):
    write("scaled.c", TEXT)
    record = json.loads(polyopt("compile", "scaled.c", "-o", "made.c", FACTOR, "--json").out)
    assert record["file"] == "made.c"
    assert [(r["function"], r["lines"]) for r in record["regions"]] == [("scaled", [3, 6])]
    assert record["regions"][0]["schedule"]


def test_the_source_is_never_overwritten(polyopt, write):
    source = write("scaled.c", TEXT)
    done = polyopt("compile", "scaled.c", "-o", "scaled.c", FACTOR)
    assert done.code != 0
    assert "PO0614" in done.err
    assert source.read_text() == TEXT


def test_an_undeclared_name_is_refused_at_its_place(polyopt, write):
    write("scaled.c", TEXT)
    done = polyopt("compile", "scaled.c", "-o", "-")
    assert done.code != 0
    assert "error[PO0192]: `FACTOR` is not declared\n  --> scaled.c:5:13" in done.err


def test_a_schedule_is_for_one_region(polyopt, write):
    write("scaled.c", TEXT)
    write("twice.c", TEXT + TEXT.replace("scaled", "again"))
    steps = ("-o", "-", FACTOR, "--schedule", "tile(L0, 32)")
    done = polyopt("compile", "scaled.c", *steps)
    assert done.code == 0
    assert "32 *" in done.out
    assert "PO0627" in polyopt("compile", "twice.c", *steps).err
