"""The threads that run parallel regions: every iteration once, whoever comes late."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from polyopt.runtime.store import open_store
from polyopt.runtime.team import NATIVE, VARIABLE, calls_text
from polyopt.runtime.toolchain import Family, environment, find_compiler

DRIVER = Path(__file__).with_name("native") / "team_driver.c"
ROOT = Path(__file__).parents[3]

pytestmark = pytest.mark.toolchain


def _driver(directory: Path, *flags: str) -> Path | None:
    """Build the driver and the team; None where the compiler does not know a flag."""
    compiler = find_compiler(open_store())
    if compiler.family is not Family.GCC:
        pytest.skip("the calls are gcc's")
    common = [*compiler.command, "-std=gnu11", "-g", "-Wall", "-Wextra", "-Werror", *flags]
    include = ["-I", str(NATIVE)]

    def run(*arguments: str) -> bool:
        command = [*common, *arguments]
        done = subprocess.run(command, cwd=directory, env=environment(None), capture_output=True,
                              text=True, check=False)  # fmt: skip
        if done.returncode != 0 and not flags:
            pytest.fail(done.stderr)
        return done.returncode == 0

    own = [str(NATIVE / "team.c"), str(NATIVE / "calls.c")]
    built = run("-fopenmp", *include, "-c", str(DRIVER), "-o", "driver.o") and run(
        *include, *own, "driver.o", "-o", "driver", "-pthread"
    )
    return directory / "driver" if built else None


def _said(driver: Path, *arguments: str, **own: str) -> str:
    done = subprocess.run([str(driver), *arguments], env={**os.environ, **own}, capture_output=True,
                          text=True, timeout=300, check=False)  # fmt: skip
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = _driver(tmp_path_factory.mktemp("team"))
    assert built is not None
    return built


@pytest.mark.parametrize("policy", ["", "passive", "active"])
def test_iterations_run_once(plain, policy):
    assert _said(plain, "100", "fork", OMP_WAIT_POLICY=policy) == "fine\n"


def test_on_one_core(plain):
    def confine() -> None:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

    done = subprocess.run([str(plain), "20", "fork"], capture_output=True, text=True, timeout=300,
                          preexec_fn=confine, check=False)  # fmt: skip
    assert done.stdout == "fine\n"


def test_no_data_races(tmp_path):
    driver = _driver(tmp_path, "-O1", "-fsanitize=thread")
    if driver is None:
        pytest.skip("no ThreadSanitizer")
    said = _said(driver, "20")
    if "unexpected memory mapping" in said:
        pytest.skip("ThreadSanitizer cannot run here")
    assert said == "fine\n"


FORKING = textwrap.dedent(
    """
    import os, signal, sys
    import numpy as np
    import polyopt as po

    def scale(A, B):
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                B[i, j] = A[i, j] * 2.0

    A, B = np.random.rand(500, 400), np.zeros((500, 400))
    kernel = po.kernel(scale, threads=4)
    threads = lambda: len(os.listdir("/proc/self/task"))
    kernel(A, B)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        B[:] = 0
        assert threads() == 1
        kernel(A, B)
        os._exit(7 if (B == 2.0 * A).all() and threads() == 4 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    B[:] = 0
    kernel(A, B)
    assert (B == 2.0 * A).all()
    print("fine")
    """
)


@pytest.mark.parametrize("way", ["0", "1"])
def test_forked_children_have_threads(tmp_path, way):
    if calls_text(find_compiler(open_store()), openmp=True) is None:
        pytest.skip("OpenMP's library runs the regions")
    own = {"POLYOPT_FORCE_CTYPES": way, "PYTHONWARNINGS": "error"}
    program = tmp_path / "program.py"
    program.write_text(FORKING)
    done = subprocess.run([sys.executable, str(program)], cwd=ROOT, env={**os.environ, **own},
                          capture_output=True, text=True, timeout=300, check=False)  # fmt: skip
    assert done.stdout == "fine\n", done.stdout + done.stderr


def test_the_library_of_openmp_can_be_asked_for(monkeypatch):
    compiler = find_compiler(open_store())
    assert calls_text(compiler, openmp=False) is None
    monkeypatch.setenv(VARIABLE, "1")
    assert calls_text(compiler, openmp=True) is None
