"""Kernels keep signatures and options have types, for mypy and, where installed, pyright."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import polyopt as po
from tests.typed import accepted

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def by_mypy(name: str, cache: Path) -> set[int]:
    """The lines in which mypy finds errors."""
    api = pytest.importorskip("mypy.api")
    text, _, _ = api.run(
        ["--strict", "--config-file=", f"--cache-dir={cache}", "--no-error-summary",
         "--hide-error-context", "--output=json", str(HERE / name)]
    )  # fmt: skip
    found = [json.loads(line) for line in text.splitlines()]
    return {error["line"] for error in found if error["severity"] == "error"}


def by_pyright(name: str, cache: Path) -> set[int]:
    """The lines in which pyright finds errors."""
    pytest.importorskip("pyright")
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run(
        [*command, str(HERE / name)], capture_output=True, text=True, cwd=cache, check=False
    )
    if not done.stdout.startswith("{"):
        pytest.skip("pyright does not run here")
    errors = json.loads(done.stdout)["generalDiagnostics"]
    return {e["range"]["start"]["line"] + 1 for e in errors if e["severity"] == "error"}


Checker = Callable[[str, Path], set[int]]


@pytest.mark.slow
@pytest.mark.parametrize("checker", [by_mypy, by_pyright])
def test_type_checkers_agree(checker: Checker, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("MYPYPATH", str(ROOT))
    monkeypatch.chdir(ROOT)
    assert checker("accepted.py", tmp_path) == set()
    lines = (HERE / "refused.py").read_text(encoding="utf-8").splitlines()
    marked = {number for number, line in enumerate(lines, 1) if line.endswith("# wrong")}
    found = checker("refused.py", tmp_path)
    assert marked <= found
    decorators = {number + 1 for number in marked}  # mypy calls the functions below untyped
    assert found <= marked | decorators


@pytest.mark.toolchain
def test_annotated_types_are_those_of_the_arrays() -> None:
    x = np.ones((2, 3))
    assert accepted.scaled.compile().types == accepted.scaled.compile(x, 2.0).types
    assert accepted.total(np.ones(4)) == 4.0


def test_help_names_every_option() -> None:
    from polyopt.dataclass import fields

    text = po.kernel.__doc__ or ""
    names = [field.name for field in fields(po.Options)]
    assert all(f"\n    - {name}: " in text for name in names)
    assert text.count("seconds") >= 2  # the units of `budget` and `tune`
