"""Peers in C: the forms by hand with OpenMP compute what the programs do; flags, absent peers.

In: nothing.  Out: nothing.
"""

import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest

import workloads
from bench.baseline import SOURCES, NoCompiler
from bench.check import relative_error
from bench.peers import binders, ccode, folder, registry
from bench.peers.forms import NoForm

IN_OPENMP = [w for w in workloads.all() if ccode.source(w, "gcc-omp") is not None]
SHARED = ("mvt", "atax", "bicg", "gemver", "gesummv", "layernorm-backward")  # sums by thread
needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")


def odd_sizes(workload):
    """Unequal sizes that are no multiples of blocks, and cross one."""
    sizes = {name: 127 + 4 * k for k, name in enumerate(workload.parameters)}
    if len(sizes) > 2:
        sizes = {name: 29 - 2 * k for k, name in enumerate(workload.parameters)}
    for name in ("TSTEPS", "TMAX", "K"):
        if name in sizes:
            sizes[name] = 3
    return sizes


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("POLYOPT_BENCH_DIR", str(tmp_path))


@pytest.mark.matrix
@pytest.mark.toolchain
@needs_gcc
@pytest.mark.parametrize("workload", IN_OPENMP, ids=[w.name for w in IN_OPENMP])
def test_openmp_forms_compute_the_program(workload, monkeypatch):
    monkeypatch.setattr(ccode, "BASE", ("-O1", "-march=native"))  # compiles faster
    kinds = [("strict", str(workload.dtype))]
    if workload.dtype.kind == "f" and workload.name in SHARED:
        kinds.append(("reassociate", "float32"))  # another text
    for fp, dtype in kinds:
        typed = replace(workload, dtype=np.dtype(dtype))
        sizes = odd_sizes(workload)
        arguments = typed.make(sizes)
        expected = typed.reference(arguments)
        bind = ccode.bind(typed, ccode.build(typed, "gcc-omp", dtype, fp))
        returned = bind(sizes, arguments)()
        error = relative_error(typed.results(arguments, returned), expected)
        assert error <= typed.bound(sizes), fp


@needs_gcc
def test_fast_loops_leave_the_process_its_subnormal_numbers():
    workload = workloads.get("jacobi-1d")
    ccode.bind(workload, ccode.build(workload, "gcc", "float64", "reassociate"))
    assert np.all(np.full(4, 1e-310) * 0.5 > 0.0)


def test_every_text_in_c_belongs_to_a_workload():
    stems = {ccode.stem(w) for w in workloads.all()}
    texts = [*SOURCES.glob("*.c"), *SOURCES.glob("omp/*.c")]
    assert {text.stem for text in texts} <= stems
    assert len(IN_OPENMP) >= 50


def test_like_is_compared_with_like():
    strict, fast = (ccode.flags("gcc-omp", "float64", fp) for fp in ("strict", "reassociate"))
    assert "-ffp-contract=off" in strict
    assert "-ffast-math" not in strict
    assert "-ffast-math" in fast
    assert "-DREAL=float" in ccode.flags("clang", "float32", "strict")


def test_pythran_is_asked_once_for_what_it_refuses(monkeypatch):
    asked = []

    def run(command, **_):
        asked.append(command)
        return subprocess.CompletedProcess(command, 1, "", "error: not this")

    monkeypatch.setattr(binders.metadata, "version", lambda _: "1.0")
    monkeypatch.setattr(binders.subprocess, "run", run)
    chosen = {"workload": "gemm", "peer": "pythran", "form": "numpy", "dtype": "float64"}
    chosen |= {"fp": "strict", "threads": 1, "library": "", "function": ""}
    for _ in range(2):
        with pytest.raises(NoForm, match="error: not this"):
            binders.bind(binders.task(chosen))
    assert len(asked) == 1


def test_a_missing_compiler_is_absent_and_says_so(monkeypatch):
    monkeypatch.setenv("PATH", "")
    ccode.compiler.cache_clear()
    registry._first_line.cache_clear()
    try:
        assert registry.version("clang-omp") is None
        with pytest.raises(NoCompiler, match="clang has nothing for gemm"):
            ccode.build(workloads.get("gemm"), "clang", "float64", "strict")
    finally:
        ccode.compiler.cache_clear()
        registry._first_line.cache_clear()


def test_a_peer_is_looked_for_in_the_folder_of_the_moment(tmp_path, monkeypatch):
    program = folder.python("numba")
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho 9.9 NumPy 2\n")
    program.chmod(0o755)
    assert registry.version("numba") == "9.9 NumPy 2"
    monkeypatch.setenv("POLYOPT_BENCH_DIR", str(tmp_path / "other"))
    assert registry.version("numba") is None
