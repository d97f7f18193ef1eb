"""Thread counts, and kernels in forked children."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from polyopt.errors import UsageError
from polyopt.runtime.process import VARIABLE
from polyopt.runtime.threads import available_cores, thread_count


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("POLYOPT_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)


def test_order_of_choices(monkeypatch):
    assert thread_count(None) == available_cores()
    monkeypatch.setenv("OMP_NUM_THREADS", "5,2")
    assert thread_count(None) == 5
    monkeypatch.setenv("POLYOPT_NUM_THREADS", "3")
    assert thread_count(None) == 3
    assert thread_count(7) == 7


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5"])
def test_wrong_count_in_the_environment(monkeypatch, text):
    monkeypatch.setenv("POLYOPT_NUM_THREADS", text)
    with pytest.raises(UsageError) as caught:
        thread_count(None)
    assert caught.value.code == "PO0224"


def test_cores_are_those_of_the_affinity():
    assert 1 <= available_cores() <= len(os.sched_getaffinity(0))


FORKING = textwrap.dedent(
    """
    import os, sys, warnings, signal
    import numpy as np
    from polyopt.runtime.notices import ForkWarning
    from polyopt.runtime.threads import warn_forked, is_forked_child
    from tests.unit.runtime import sources
    from tests.unit.runtime.loading import load

    way = sys.argv[1]
    loaded = load(sources.add_arrays(openmp=True), way, threads=4)
    A, B, C = np.arange(1000.0), np.ones(1000), np.zeros(1000)
    assert loaded.call(A, B, C) is None
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        C[:] = 0
        assert is_forked_child()
        assert loaded.call(A, B, C) is NotImplemented
        assert loaded.is_forked()
        loaded.set_threads(1)
        for _ in range(3):
            assert loaded.call(A, B, C) is None
        assert not loaded.is_forked()
        assert (C == A + B).all()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            another = load(sources.negate_in_parallel(), way, threads=4)
            assert another.call(A, C) is None
            again = load(sources.negate_in_parallel(), way, threads=4)
            warn_forked()
        assert [w.category for w in caught] == [ForkWarning], caught
        os._exit(7)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7, status
    assert loaded.call(A, B, C) is None
    assert not loaded.is_forked()
    print("fine")
    """
)


@pytest.mark.toolchain
@pytest.mark.parametrize("way", ["wrapper", "ctypes"])
def test_forked_children_run_on_one_thread_of_openmp(way):
    done = subprocess.run(
        [sys.executable, "-c", FORKING, way], env={**os.environ, VARIABLE: "1"},
        cwd=Path(__file__).parents[3], capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.stdout.strip() == "fine", done.stdout + done.stderr
