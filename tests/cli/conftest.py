"""Run the command in this process and look at what it left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from polyopt.cli.app import run

DEMO = '''\
import numpy as np

import polyopt as po


@po.kernel
def matmul(C, A, B):
    n, m = C.shape
    for i in range(n):
        for j in range(m):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def blur(u):
    for i in range(1, u.shape[0] - 1):
        u[i] = 0.5 * (u[i - 1] + u[i + 1])


def scale(a: po.f64["N"], factor: float):
    """The result and a changed argument."""
    a *= factor
    return np.sum(a)


def total(a, axis):
    return np.sum(a, axis=axis) + a.shape[1]


def shifted(a: po.f64["N"], b: po.f64["N+1"]):
    for i in range(a.shape[0]):
        a[i] = b[i + 1]


def reads_ahead(a):
    a[0] = a[2]
'''


@dataclass(frozen=True)
class Outcome:
    """Exit code and both streams of one command."""

    code: int
    out: str
    err: str


Command = Callable[..., Outcome]


@pytest.fixture
def polyopt(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Command:
    """Return a function that runs `polyopt ARGUMENTS…` in an empty directory, without colours."""
    monkeypatch.chdir(tmp_path)
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE", "POLYOPT_DEBUG"):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments: str) -> Outcome:
        capfd.readouterr()
        code = run([str(a) for a in arguments])
        captured = capfd.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], Path]:
    """Return `write(name, text)`: makes a file in the command's directory."""

    def make(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return make


@pytest.fixture
def demo(write: Callable[[str, str], Path]) -> Path:
    """Return a file of a few kernels."""
    return write("demo.py", DEMO)
