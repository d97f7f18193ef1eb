"""Modules that are written, edited and imported again."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., ModuleType]]:
    """Return `load(name, text)`: write a module's file and import it anew."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    seconds = count(1_000_000_000)
    names: set[str] = set()

    def make(name: str, text: str) -> ModuleType:
        edit(name, text)
        path = tmp_path / f"{name}.py"
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        names.add(name)
        spec.loader.exec_module(module)
        return module

    def edit(name: str, text: str) -> None:
        path = tmp_path / f"{name}.py"
        path.write_text(text)
        moment = next(seconds)
        os.utime(path, (moment, moment))

    make.edit = edit  # type: ignore[attr-defined]
    yield make
    for name in names:
        sys.modules.pop(name, None)
