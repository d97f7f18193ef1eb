"""`polyopt compile`: the files it writes, what it says, what it refuses."""

from __future__ import annotations

import json
import subprocess

import pytest

SOURCE = ("--schedule", "source")
"""Options of tests that ask for nothing of the schedule."""


def test_compile_writes_four_files(polyopt, demo, tmp_path):
    outcome = polyopt("compile", "demo.py:matmul", "-o", "out/deep")
    assert outcome.code == 0
    names = ["matmul.c", "matmul.h", "matmul.schedule.txt", "matmul.certificate.json"]
    assert outcome.out.splitlines() == [f"out/deep/{name}" for name in names]
    assert outcome.err.startswith("matmul(C: f64[:,:], A: f64[:,:], B: f64[:,:])\n")
    source = (tmp_path / "out/deep/matmul.c").read_text()
    assert "int polyopt_matmul(" in (tmp_path / "out/deep/matmul.h").read_text()
    assert "for (" in source
    assert {p.name for p in (tmp_path / "out/deep").iterdir()} == set(names)


def test_quiet_leaves_out_talk_and_no_errors(polyopt, demo, tmp_path):
    outcome = polyopt("compile", "demo.py:matmul", *SOURCE, "-o", "out", "-q")
    assert (outcome.code, outcome.err) == (0, "")
    assert "out/matmul.c" in outcome.out
    assert polyopt("compile", "demo.py:matmul", *SOURCE, "-o", "out").err
    outcome = polyopt("compile", "-q", "demo.py:matmull")
    assert outcome.err.startswith("error[PO0605]")


@pytest.mark.toolchain
def test_verbose_shows_the_cache_and_the_compiler(polyopt, demo, tmp_path, monkeypatch):
    monkeypatch.setenv("POLYOPT_CACHE_DIR", str(tmp_path / "cache"))
    call = ("run", "demo.py:scale", "--sizes", "N=5")
    said = polyopt(*call, "-v").err
    assert "polyopt.build: in " in said
    assert " -c kernel.c " in said
    assert "polyopt.compile: scale: " in said
    again = polyopt(*call, "--verbose").err
    assert "polyopt.build: " not in again
    assert " found\n" in again
    assert "polyopt." not in polyopt(*call).err


@pytest.mark.toolchain
def test_the_written_c_compiles_on_its_own(polyopt, demo, tmp_path):
    polyopt("compile", "demo.py:matmul", "-o", "out")
    (tmp_path / "use.c").write_text('#include "out/matmul.h"\nint main(void) { return 0; }\n')
    for file in ("out/matmul.c", "use.c"):
        command = ["cc", "-std=gnu11", "-fopenmp", "-c", file, "-o", "object.o"]
        assert subprocess.run(command, cwd=tmp_path).returncode == 0


def test_the_written_schedule_can_be_given_back(polyopt, demo, tmp_path):
    polyopt("compile", "demo.py:matmul", "-o", "first")
    arguments = ("--schedule", "first/matmul.schedule.txt", "-o", "second")
    assert polyopt("compile", "demo.py:matmul", *arguments).code == 0
    first, second = ((tmp_path / d / "matmul.c").read_text() for d in ("first", "second"))
    assert first == second


def test_compile_as_json(polyopt, demo):
    outcome = polyopt("compile", "demo.py:matmul", "--schedule", "source", "--json")
    record = json.loads(outcome.out)
    names = ["matmul.c", "matmul.h", "matmul.schedule.txt", "matmul.certificate.json"]
    assert record["files"] == names
    assert record["schedule"] == []
    stages = {"frontend", "schedule", "lower", "optimize", "certificate", "emit"}
    assert set(record["seconds"]) == stages


def test_the_text_alone_on_stdout(polyopt, demo, tmp_path):
    before = sorted(tmp_path.iterdir())
    outcome = polyopt("compile", "demo.py:matmul", *SOURCE, "-o", "-")
    assert outcome.code == 0
    assert outcome.out.startswith("/*\n * matmul: generated from demo.py by polyopt ")
    assert outcome.out.endswith("}\n")
    assert sorted(tmp_path.iterdir()) == before
    outcome = polyopt("compile", "demo.py:matmul", *SOURCE, "-o", "-", "--json")
    assert outcome.code == 2
    assert "PO0600" in outcome.out


@pytest.mark.parametrize("name", ["made/one.c", "made/one.h"])
def test_a_file_names_the_text_and_the_header(polyopt, demo, tmp_path, name):
    assert polyopt("compile", "demo.py:matmul", *SOURCE, "-o", name).code == 0
    made = sorted(path.name for path in (tmp_path / "made").iterdir())
    assert made == ["one.c", "one.certificate.json", "one.h", "one.schedule.txt"]


@pytest.mark.parametrize("name", ["out.cu", "out.so", "out.json", "sub/out.H"])
def test_a_name_of_another_kind_of_file(polyopt, demo, tmp_path, name):
    outcome = polyopt("compile", "demo.py:matmul", *SOURCE, "-o", name)
    assert outcome.code == 2
    assert f"error[PO0614]: `{name}` is a name of a file that is not written" in outcome.err
    assert not (tmp_path / name).exists()
    assert polyopt("compile", "demo.py:matmul", *SOURCE, "-o", f"{name}/").code == 0
    assert (tmp_path / name / "matmul.c").is_file()
    assert polyopt("compile", "demo.py:matmul", *SOURCE, "-o", name).code == 0


def test_a_directory_that_cannot_be_written(polyopt, demo, write):
    write("taken", "a file")
    outcome = polyopt("compile", "demo.py:matmul", *SOURCE, "-o", "taken")
    assert outcome.code == 2
    assert outcome.err.endswith(
        "error[PO0614]: `taken` cannot be written: File exists\n"
        "   = help: choose another directory with -o\n"
    )


def test_temporaries_are_recomputed(polyopt, write):
    body = "    y = x + 1.0\n    return y[::-1] / y\n"
    write("twice.py", f"import polyopt as po\n\n\ndef f(x: po.f64['N']):\n{body}")
    outcome = polyopt("compile", "twice.py:f", "--fuse", "all", "--json")
    assert outcome.code == 0
    (step,) = json.loads(outcome.out)["schedule"]
    assert step.startswith("recompute(y, ")
    refused = polyopt("compile", "twice.py:f", "--fuse", "all", "--schedule", "source")
    assert refused.code == 2
    assert refused.err.startswith("error[PO0249]: --fuse and --schedule are both given")


def test_temporaries_have_a_limit(polyopt, write):
    body = "    y = x + 1.0\n    return y[::-1] / y\n"
    write("twice.py", f"import polyopt as po\n\n\ndef f(x: po.f64['N']):\n{body}")
    given = ("explain", "twice.py:f", "--sizes", "N=1000", "--level", "full", "--memory")
    wide = polyopt(*given, "64kB")
    assert "at most at once, heap: 1000 * 8 bytes = 8000" in wide.out
    assert "the option `memory` allows 64000 bytes at once" in wide.out
    least = polyopt(*given, "7kB")
    assert least.code == 1
    assert least.err.startswith("error[PO0708]: temporaries do not fit in 7000 bytes: the least")
    unknown = polyopt(*given, "some")
    assert unknown.code == 2
    assert unknown.err.startswith("error[PO0222]: option `memory` is 'some'")


def test_a_function_that_is_refused(polyopt, write):
    write("loop.py", "def f(a):\n    while True:\n        a[0] *= 0.5\n")
    outcome = polyopt("compile", "loop.py:f")
    assert outcome.code == 1
    assert outcome.out == ""
    assert outcome.err.startswith("error[PO0110]: ")
    assert "  --> loop.py:2:5\n" in outcome.err
