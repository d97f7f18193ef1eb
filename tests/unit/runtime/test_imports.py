"""What a first call imports: what its program needs, and from the cache little."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata
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


STENCIL = """
import sys
import numpy as np
import polyopt as po


def jacobi_2d(steps, A, B):
    n = A.shape[0]
    for _ in range(1, steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                B[i, j] = 0.2 * (A[i, j] + A[i, j - 1] + A[i, j + 1] + A[i + 1, j] + A[i - 1, j])
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                A[i, j] = 0.2 * (B[i, j] + B[i, j - 1] + B[i, j + 1] + B[i + 1, j] + B[i - 1, j])


before = set(sys.modules)
po.kernel(jacobi_2d)(3, np.zeros((9, 9)), np.zeros((9, 9)))
print(*(set(sys.modules) - before))
"""
MOST = 358
"""Modules of polyopt; `polyopt/late.py` says how others wait until they are used."""
ELSEWHERE = {
    *("cgen", "numpy.fft", "numpy.ma", "numpy.typing", "platformdirs", "pytools", "sympy"),
    *("concurrent.futures", "dataclasses", "hashlib", "typing_extensions"),
    *("email", "importlib.metadata", "zipfile"),
    "polyopt.bounding",
    "polyopt.emit.functions.arcs",
    "polyopt.emit.gpu",
    "polyopt.emit.register_transpose",
    "polyopt.frontend.library.sets",
    "polyopt.frontend.python.math_functions",
    "polyopt.frontend.python.sorting",
    "polyopt.hosting",
    "polyopt.ir.interp",
    "polyopt.proof.block_accesses",
    "polyopt.proof.dataflow",
    "polyopt.schedule.refusal",
    "polyopt.schedule.witness",
    "polyopt.strategy.wavefront_vectorization",
    "polyopt.transforms.expand",
    "polyopt.transforms.layout",
    "polyopt.verifying",
}


@pytest.mark.toolchain
def test_a_first_call_imports_what_its_program_needs(tmp_path: Path) -> None:
    found = _said(tmp_path, STENCIL)
    assert ELSEWHERE.isdisjoint(found)
    assert sum(name.partition(".")[0] == "polyopt" for name in found) <= MOST


VERSION = """
import inspect, sys
import polyopt.ir
inspect.getmodule(sys._getframe())  # asks all modules for their files
assert "islpy" not in sys.modules
import islpy
print(islpy.__version__, *islpy.VERSION, islpy.version.VERSION_TEXT, "email" in sys.modules)
"""


@pytest.mark.parametrize("more", ["", "polyopt.ir._names_in = lambda folder: ''\n"])
def test_islpy_has_its_version_without_the_metadata_of_its_package(
    tmp_path: Path, more: str
) -> None:
    """Where no folder tells the version, islpy's own module does."""
    version = metadata.version("islpy")
    program = VERSION.replace("import islpy", f"{more}import islpy")
    expected = [version, *version.split("."), version, str(bool(more))]
    assert _said(tmp_path, program) == expected


@pytest.mark.toolchain
def test_a_call_from_the_cache_leaves_out_what_only_others_need(tmp_path: Path) -> None:
    names = ("islpy", "numpy.ma", "polyopt.pipeline", "polyopt.frontend.program.builder")
    said = [_said(tmp_path, PROGRAM, *names) for _ in range(2)]
    assert "islpy" in said[0]
    assert said[1] == []


def _said(folder: Path, program: str, *arguments: str) -> list[str]:
    """Return the words that a program prints whose cache is in the folder."""
    (folder / "program.py").write_text(program)
    root = str(Path(__file__).parents[3])
    env = {**os.environ, "POLYOPT_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": root}
    env.pop("POLYOPT_VERIFY", None)
    return subprocess.run(
        [sys.executable, "program.py", *arguments],
        cwd=folder, env=env, check=True, capture_output=True, text=True,
    ).stdout.split()  # fmt: skip
