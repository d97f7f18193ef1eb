"""The threads that run parallel regions: every iteration once, whoever comes late."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from polyopt.runtime.process import VARIABLE, is_shared
from polyopt.runtime.store import open_store
from polyopt.runtime.toolchain import find_compiler
from tests.unit.runtime.drivers import SANITIZED, build, said

ROOT = Path(__file__).parents[3]

pytestmark = pytest.mark.toolchain


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("team_driver", tmp_path_factory.mktemp("team"))


@pytest.mark.parametrize("policy", ["", "passive", "active"])
def test_iterations_run_once(plain, policy):
    assert said(plain, "100", "fork", OMP_WAIT_POLICY=policy) == "fine\n"


def test_on_one_core(plain):
    def confine() -> None:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

    done = subprocess.run([str(plain), "20", "fork"], capture_output=True, text=True, timeout=300,
                          preexec_fn=confine, check=False)  # fmt: skip
    assert done.stdout == "fine\n"


def test_no_data_races(tmp_path):
    assert said(build("team_driver", tmp_path, *SANITIZED), "20") == "fine\n"


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
    if not is_shared(find_compiler(open_store())):
        pytest.skip("OpenMP's library runs the regions")
    own = {"POLYOPT_FORCE_CTYPES": way, "PYTHONWARNINGS": "error"}
    program = tmp_path / "program.py"
    program.write_text(FORKING)
    done = subprocess.run([sys.executable, str(program)], cwd=ROOT, env={**os.environ, **own},
                          capture_output=True, text=True, timeout=300, check=False)  # fmt: skip
    assert done.stdout == "fine\n", done.stdout + done.stderr


def test_the_library_of_openmp_can_be_asked_for(monkeypatch):
    monkeypatch.setenv(VARIABLE, "1")
    assert not is_shared(find_compiler(open_store()))
