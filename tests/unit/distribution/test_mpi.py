"""Kernels on the ranks of `mpirun`: the results of one process, and what becomes of lost ranks."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
HAS_MPI = shutil.which("mpirun") is not None and importlib.util.find_spec("mpi4py") is not None
pytestmark = [
    pytest.mark.toolchain,
    pytest.mark.machine,
    pytest.mark.skipif(
        not HAS_MPI and os.environ.get("POLYOPT_REQUIRE_TOOLS") != "1",
        reason="mpirun or mpi4py is not installed",
    ),
]
ALL = (
    *("adamw", "conjugate_gradient", "fdtd_2d", "gemm", "heat_3d", "jacobi_2d", "nbody"),
    *("seidel_2d", "softmax", "transpose", "later_product", "running_least"),
)
PROGRAMS = {
    2: ALL,
    3: ("conjugate_gradient", "fdtd_2d", "later_product", "cholesky, blocks in turn"),
    4: ("seidel_2d", "softmax", "transpose", "running_least", "lu, blocks in turn"),
}


def job(ranks: int, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `on_ranks` as a job."""
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks)]
    command += [sys.executable, "-m", "tests.unit.distribution.on_ranks", *words]
    env = {**os.environ, "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=300, check=False
    )


def assert_done(ranks: int, *words: str) -> None:
    found = job(ranks, *words)
    assert found.returncode == 0, found.stdout + found.stderr
    assert found.stdout.count("is done") == ranks


@pytest.mark.parametrize("ranks", PROGRAMS)
def test_programs_have_the_results_of_one_process(ranks: int) -> None:
    assert_done(ranks, "programs", *PROGRAMS[ranks])


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_collectives_are_those_of_mpi(ranks: int) -> None:
    assert_done(ranks, "collectives")


def test_distributed_arrays_stay_where_they_are() -> None:
    assert_done(3, "distributed")


def test_an_exception_on_one_rank_ends_the_job() -> None:
    found = job(3, "raising")
    assert found.returncode != 0
    assert "something of the program's own" in found.stderr
    assert "PO0861: rank 1 ends all 3 ranks" in found.stderr


def test_a_rank_that_dies_ends_the_job() -> None:
    found = job(2, "killed")
    assert found.returncode != 0
    assert "signal 9" in found.stderr


def test_a_rank_that_is_silent_ends_the_job_in_time() -> None:
    start = time.monotonic()
    found = job(2, "silent")
    assert found.returncode != 0
    assert "PO0860" in found.stderr
    assert "rank 0 has waited 1 s for rank" in found.stderr
    assert time.monotonic() - start < 60
