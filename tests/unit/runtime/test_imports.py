"""What a first call from the cache imports: little."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
import numpy as np
import polyopt as po


def scaled(x, k):
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[i] = k * x[i]
    return y


assert po.kernel(scaled)(np.ones(3), 2).tolist() == [2, 2, 2]
print(*(name for name in sys.argv[1:] if name in sys.modules))
"""


@pytest.mark.toolchain
def test_a_call_from_the_cache_leaves_out_what_only_others_need(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    names = ("islpy", "numpy.ma", "polyopt.pipeline", "polyopt.frontend.builder")
    root = str(Path(__file__).parents[3])
    env = {**os.environ, "POLYOPT_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": root}
    env.pop("POLYOPT_VERIFY", None)
    said = [
        subprocess.run(
            [sys.executable, "program.py", *names],
            cwd=tmp_path, env=env, check=True, capture_output=True, text=True,
        ).stdout.split()
        for _ in range(2)
    ]  # fmt: skip
    assert "islpy" in said[0]
    assert said[1] == []
