"""Files that are handed over: compilers of C and C++ take them with all warnings; contracts."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import polyopt as po
from polyopt.building import compile_stages
from polyopt.emit.text import emit_for_readers
from polyopt.ir.source import Source
from polyopt.machine import Machine
from polyopt.targets import Options
from workloads import registry

# ruff: noqa: F821, UP037 - sizes are named by strings

MACHINE = Machine(cores=4, vector_bytes=64, vector_registers=32, fma=True)
WARNINGS = ("-Wall", "-Wextra", "-Werror")
CLANG = shutil.which("clang")
CPLUSPLUS = shutil.which("g++")
MODES = ("strict", "reassociate", "fast")
SOME = ("gemm", "softmax", "spmv")


def handed_over(function, fp: str = "strict") -> Source:
    """Return the files of a function whose types are told by its annotations."""
    options = Options().changed({"fp": fp})
    stages = compile_stages(function, po.frontend.infer_types(function), options, MACHINE)
    made = emit_for_readers(stages.loops, "c", stages.written or stages.program, "9.9")
    assert isinstance(made, Source)
    return made


def accepts(command: list[str], text: str, path: Path, *flags: str) -> None:
    """Check that a compiler takes a text without a word."""
    path.write_text(text)
    done = subprocess.run(
        [*command, *WARNINGS, *flags, "-c", str(path), "-o", "/dev/null"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{flags}\n{done.stderr[:2000]}"
    assert "warning" not in done.stderr


OPTIMIZED = ("-O1", "-march=x86-64-v3")
TWO = (("-O0",), ("-fopenmp", *OPTIMIZED))
FOUR = (*TWO, ("-fopenmp", "-O0"), OPTIMIZED)


def check_files(
    function, fp: str, tmp_path: Path, options: tuple[tuple[str, ...], ...] = FOUR
) -> None:
    made = handed_over(function, fp)
    for compiler in ("gcc", *(["clang"] if CLANG else [])):
        for flags in options:
            accepts([compiler, "-std=c11"], made.text, tmp_path / "f.c", *flags)
    (tmp_path / "f.h").write_text(made.header)
    use = '#include "f.h"\n#include "f.h"\n'
    accepts(["gcc", "-std=c11"], use, tmp_path / "use.c")
    cplusplus = [[CPLUSPLUS, "-std=c++17"], [CPLUSPLUS, "-std=c++20"]] if CPLUSPLUS else []
    for command in [*cplusplus, *([["clang++", "-std=c++17"]] if CLANG else [])]:
        accepts(command, use, tmp_path / "use.cpp")
        accepts(command, use, tmp_path / "use.cpp", "-fopenmp")


FUNCTIONS = {w.name: next(iter(w.forms.values())) for w in registry.all()}


@pytest.mark.toolchain
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name in SOME])
def test_compilers_take_the_files(name, tmp_path):
    check_files(FUNCTIONS[name], "strict", tmp_path)


@pytest.mark.toolchain
@pytest.mark.matrix
@pytest.mark.parametrize("fp", MODES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_compilers_take_the_files_of_every_workload(name, fp, tmp_path):
    check_files(FUNCTIONS[name], fp, tmp_path, TWO)


def scaled(out: po.f64["N,M"], x: po.f64["N,M"], y: po.f64["N,M"], a: float):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = a * x[i, j] + y[i, j]


def test_the_header_tells_the_contract():
    header = handed_over(scaled).header
    assert "  N: the extent of dimension 0 of `out`" in header
    assert "  a: a number, the argument `a`" in header
    assert "  out: N * M elements of double, row-major, contiguous; read and written" in header
    assert "  x: N * M elements of double, row-major, contiguous; read only" in header
    words = " ".join(header.replace("\n *", " ").split())
    assert "out is written and must not overlap with another array" in words
    assert "Returns 0, always." in header
    assert "Thread-safe" in header
    assert "-ffast-math" in header
    assert "double *POLYOPT_RESTRICT out" in header
    assert "const double *POLYOPT_RESTRICT x" in header


def gathered(out: po.f64["N"], x: po.f64["M"], at: po.i64["N"]):
    for i in range(out.shape[0]):
        out[i] = x[at[i]]


def test_the_header_tells_faults_and_conditions():
    header = handed_over(gathered).header
    assert "  2: " in header, "an index that is outside"
    assert "had been computed so far" in header

    def both(x: po.f64["N"], y: po.f64["N"]):
        for i in range(x.shape[0]):
            x[i] = x[i] + y[i + 2]

    assert "Required, and not checked here" in handed_over(both).header
    assert "or else" in handed_over(both).header


@pytest.mark.toolchain
def test_fast_math_is_refused(tmp_path):
    path = tmp_path / "f.c"
    path.write_text(handed_over(scaled).text)
    command = ["gcc", "-ffast-math", "-c", str(path), "-o", "/dev/null"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "-ffast-math" in done.stderr


@pytest.mark.toolchain
@pytest.mark.skipif(CPLUSPLUS is None, reason="no g++")
def test_a_program_of_cplusplus_calls_the_kernel(tmp_path):
    made = handed_over(scaled)
    (tmp_path / "scaled.c").write_text(made.text)
    (tmp_path / "scaled.h").write_text(made.header)
    (tmp_path / "main.cpp").write_text("""
#include "scaled.h"
int main() {
    double x[6] = {1, 2, 3, 4, 5, 6}, y[6] = {1, 1, 1, 1, 1, 1}, out[6];
    int status = polyopt_scaled(2, 3, 10.0, out, x, y);
    return status == 0 && out[0] == 11.0 && out[5] == 61.0 ? 0 : 1;
}
""")
    object_file = str(tmp_path / "scaled.o")
    subprocess.run(["gcc", "-O2", "-c", str(tmp_path / "scaled.c"), "-o", object_file], check=True)
    program = str(tmp_path / "main")
    main = str(tmp_path / "main.cpp")
    subprocess.run([CPLUSPLUS, "-std=c++17", main, object_file, "-o", program, "-lm"], check=True)
    assert subprocess.run([program], check=False).returncode == 0
