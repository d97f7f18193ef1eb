"""Threads of OpenMP's library wait busily for a short time, unless the user says how."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from polyopt.runtime.process import VARIABLE as OPENMP
from polyopt.runtime.spinning import CHOSEN, SPINS, VARIABLE, short_waits

PROGRAM = """
import os
import numpy as np
import polyopt as po

def scale(a):
    for i in range(a.shape[0]):
        a[i] *= 2.0

a = np.ones(100_000)
po.kernel(threads=2)(scale)(a)
assert (a == 2.0).all()
print("left:", os.environ.get("GOMP_SPINCOUNT"))
"""


def _run(tmp_path, **own: str) -> tuple[str, str]:
    """Return what a process that runs a kernel prints, and what its OpenMP says of itself."""
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    clean = {name: value for name, value in os.environ.items() if name not in CHOSEN}
    env = {**clean, OPENMP: "1", "OMP_DISPLAY_ENV": "verbose", **own}
    done = subprocess.run(
        [sys.executable, str(path)], env=env, capture_output=True, text=True, check=True
    )
    return done.stdout, done.stderr


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("own", "rounds", "left"),
    [
        ({}, SPINS, "None"),
        ({VARIABLE: "77"}, "77", "77"),
        ({"OMP_WAIT_POLICY": "passive"}, "0", "None"),
    ],
)
def test_what_the_library_was_told(tmp_path, own, rounds, left):
    out, said = _run(tmp_path, **own)
    if VARIABLE not in said:
        pytest.skip("not GNU OpenMP")
    assert f"{VARIABLE} = '{rounds}'" in said
    assert out == f"left: {left}\n"


def test_the_environment_is_as_before_behind_an_error(monkeypatch):
    for name in CHOSEN:
        monkeypatch.delenv(name, raising=False)
    waits = short_waits()
    waits.__enter__()
    assert os.environ[VARIABLE] == SPINS
    error = OSError("no library")
    assert not waits.__exit__(OSError, error, None)
    assert VARIABLE not in os.environ
