"""Run the command in this process and look at what it left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from polyopt.cli.app import run


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
