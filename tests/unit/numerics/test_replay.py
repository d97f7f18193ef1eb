"""The loops run lane by lane give the bits of the compiled code."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt.machine import Machine
from polyopt.numerics.compare import compare
from polyopt.numerics.replay import replay
from polyopt.pipeline import compile_program
from polyopt.targets import Options, detect_machine
from tests.unit.frontend.harness import compiled

X = np.random.default_rng(5).normal(size=1003)


def total(x):
    return np.sum(x)


def dot(x):
    return x[1:] @ x[:-1]


def norm_of_rows(A):
    return np.sum(A * A, axis=1)


def test_the_tree_of_vectors():
    """Four vectors of four: every sixteenth term, the rest to the first, vectors in pairs."""
    program = compiled(total, X)
    made = compile_program(program, Options(threads=1), Machine())
    got = replay(program, made.loops, (X,), 32)["result"]
    whole = len(X) // 16 * 16
    lanes = [np.add.accumulate(X[lane:whole:16])[-1] for lane in range(16)]
    for number, term in enumerate(X[whole:]):
        lanes[number % 4] += term
    a, b, c, d = (np.array(lanes[k : k + 4]) for k in range(0, 16, 4))
    left = (a + b) + (c + d)
    assert got == (left[0] + left[2]) + (left[1] + left[3])


def test_the_tree_of_lanes():
    """Four lanes: every fourth term, the last three terms to the first lane, lanes in turn."""
    program = compiled(total, X)
    made = compile_program(program, Options(threads=1), Machine(vector_bytes=8))
    got = replay(program, made.loops, (X,), 32)["result"]
    whole = len(X) // 4 * 4
    lanes = [np.add.accumulate(X[lane:whole:4])[-1] for lane in range(4)]
    lanes[0] = reduce(lambda a, b: a + b, X[whole:], lanes[0])
    assert got == reduce(lambda a, b: a + b, lanes, np.float64(0.0))
    in_order = replay(program, made.loops, (X,), 8)["result"]
    assert in_order == np.add.accumulate(X)[-1]
    assert got != in_order


def _is_gcc() -> bool:
    found = shutil.which("gcc")
    if found is None:
        return False
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
    return "Free Software Foundation" in said


@pytest.mark.toolchain
@pytest.mark.skipif(not _is_gcc(), reason="another compiler may join lanes in another order")
@pytest.mark.parametrize(
    "func, values", [(total, (X,)), (dot, (X,)), (norm_of_rows, (X[:1000].reshape(8, 125),))]
)
def test_replay_gives_the_bits_of_c(func: Callable[..., Any], values: tuple[Any, ...]) -> None:
    kernel = po.kernel(func, threads=1).compile(*values)
    again = replay(kernel.program, kernel.loops, values, detect_machine().vector_bytes)["result"]
    result = compare("result", kernel(*values), again, None)
    assert result.bitwise, result
