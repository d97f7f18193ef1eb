"""The cache between a function and its loaded code: what is reused, and what makes it stale."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import polyopt as po
import polyopt.candidates
import polyopt.compiled
import polyopt.tuning.tune  # imported while a name of building is replaced, they would keep that
from polyopt import building, kernel_entries
from polyopt.errors import FrontendError, ToolchainError
from polyopt.frontend import build
from polyopt.frontend.syntax.annotations import ConstType, NeedConstant
from polyopt.ir.source import Layout
from polyopt.ir.types import DType
from polyopt.runtime import store as store_module
from polyopt.runtime.notices import CacheWarning, PolyoptWarning
from polyopt.runtime.store import open_store
from tests.unit.runtime import sources

pytestmark = pytest.mark.toolchain

TEXT = (
    "N = {n}\n\ndef helper(x):\n    return x + N\n\ndef func(A, B, C):\n    C[:] = helper(A) + B\n"
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("POLYOPT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("polyopt.runtime.notices._GIVEN", {})
    return tmp_path / "cache" / store_module.FORMAT


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Replace front end and pipeline; return the list of what they were asked for."""
    asked: list[Any] = []

    def stages(
        function: Any,
        types: Any,
        options: Any,
        machine: Any = None,
        recording: Any = None,
        accept: Any = None,
        expect: Any = None,
    ) -> Any:
        asked.append(types)
        with contextlib.suppress(FrontendError):
            build(function, types, recording)
        schedule = "tile(L0, 32)"
        return SimpleNamespace(
            source=sources.add_arrays(),
            schedule_text=schedule,
            timings={},
            certificate=None,
            dropped=(),
        )

    monkeypatch.setattr(building, "compile_stages", stages)
    return asked


def load(directory: Path, text: str = TEXT.format(n=1)) -> Any:
    path = directory / "cached_functions.py"
    path.write_text(text)
    # bytecode of a file of the same size, written in the same second, would pass for this one's
    Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)
    spec = importlib.util.spec_from_file_location("cached_functions", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["cached_functions"] = module
    spec.loader.exec_module(module)
    return module.func


def call(function: Any, **options: object) -> po.Kernel:
    kernel = po.kernel(function).with_options(**options)
    A, B, C = np.arange(3.0), np.ones(3), np.zeros(3)
    kernel(A, B, C)
    assert C.tolist() == [1, 2, 3]
    return kernel


def test_second_process_compiles_nothing(tmp_path, compiled, monkeypatch):
    function = load(tmp_path)
    call(function)
    monkeypatch.setattr(building.builder, "_begin", None)  # running the compiler would fail
    kernel = call(function)
    assert len(compiled) == 1
    again = kernel.compile(np.zeros(1), np.zeros(1), np.zeros(1))
    assert again.schedule_text == "tile(L0, 32)"
    assert set(again.timings) == {"cache"}
    assert "entry" in again.source


def test_everything_that_matters_makes_a_miss(tmp_path, compiled, monkeypatch):
    function = load(tmp_path)
    call(function)
    changes = 1
    for options in ({"fp": "fast"}, {"threads": 1}, {"schedule": "source"}):
        call(function, **options)
        changes += 1
        assert len(compiled) == changes, options
    for name, value in (("POLYOPT_L2", "4096"), ("POLYOPT_FORCE_CTYPES", "1")):
        monkeypatch.setenv(name, value)
        call(function)
        changes += 1
        assert len(compiled) == changes, name
        monkeypatch.delenv(name)
    for home, part in ((kernel_entries, "versions"), (building, "processor_features")):
        monkeypatch.setattr(home, part, lambda: {"changed": "1"})
        call(function)
        changes += 1
        assert len(compiled) == changes, part
        monkeypatch.undo()
        monkeypatch.setenv("POLYOPT_CACHE_DIR", str(tmp_path / "cache"))
        monkeypatch.setattr(building, "compile_stages", _stages(compiled))
    call(load(tmp_path, TEXT.format(n=2)))
    changes += 1
    assert len(compiled) == changes, "a captured constant"
    call(load(tmp_path, TEXT.format(n=2).replace("x + N", "x - N")))
    changes += 1
    assert len(compiled) == changes, "a helper"
    call(load(tmp_path, TEXT.format(n=1)))
    assert len(compiled) == changes


def _stages(asked: list[Any]) -> Any:
    def stages(
        function: Any,
        types: Any,
        options: Any,
        machine: Any = None,
        recording: Any = None,
        accept: Any = None,
        expect: Any = None,
    ) -> Any:
        asked.append(types)
        with contextlib.suppress(FrontendError):
            build(function, types, recording)
        schedule = ""
        return SimpleNamespace(
            source=sources.add_arrays(),
            schedule_text=schedule,
            timings={},
            certificate=None,
            dropped=(),
        )

    return stages


def test_other_types_have_other_entries(tmp_path, compiled, cache):
    function = load(tmp_path)
    call(function)
    built = set((cache / "libraries").iterdir())
    rows = po.ArrayType(DType.FLOAT64, 1, Layout.ROWS, (False,))
    po.kernel(function).compile(rows, rows, rows)
    assert len(compiled) == 2
    assert len(list((cache / "kernels").iterdir())) == 2
    assert set((cache / "libraries").iterdir()) == built  # the same text, built once


@pytest.mark.parametrize("file", ["source.json", "library.key", "schedule.txt", "manifest.json"])
def test_damaged_entries_are_made_again(tmp_path, compiled, cache, file):
    function = load(tmp_path)
    call(function)
    (entry,) = (cache / "kernels").iterdir()
    (entry / file).write_text("[]")
    with pytest.warns(CacheWarning):
        call(function)
    assert len(compiled) == 2
    call(function)
    assert len(compiled) == 2


def test_entries_with_a_foreign_record_are_misses(tmp_path, compiled, cache):
    function = load(tmp_path)
    call(function)
    (entry,) = (cache / "kernels").iterdir()
    manifest = json.loads((entry / "manifest.json").read_text())
    for text in ('["record", "Popen", "ls"]', "[", '["int", "3"]'):
        data = text.encode()
        (entry / "source.json").write_bytes(data)
        manifest["files"]["source.json"] = {"size": len(data), "digest": store_module.digest(data)}
        (entry / "manifest.json").write_text(json.dumps(manifest))
        before = len(compiled)
        call(function)
        assert len(compiled) == before + 1


def test_lost_library_is_built_again(tmp_path, compiled, cache):
    function = load(tmp_path)
    call(function)
    shutil.rmtree(cache / "libraries")
    call(function)
    assert len(compiled) == 2
    call(function)
    assert len(compiled) == 2


def test_needed_values_are_remembered(tmp_path, monkeypatch):
    asked: list[Any] = []

    def stages(
        function: Any,
        types: Any,
        options: Any,
        machine: Any = None,
        recording: Any = None,
        accept: Any = None,
        expect: Any = None,
    ) -> Any:
        asked.append(types)
        with contextlib.suppress(FrontendError):
            build(function, types, recording)
        if not isinstance(types[1], ConstType):
            raise NeedConstant("axis")
        schedule = ""
        source = sources.constant(types[1].value)
        return SimpleNamespace(
            source=source, schedule_text=schedule, timings={}, certificate=None, dropped=()
        )

    monkeypatch.setattr(building, "compile_stages", stages)
    path = tmp_path / "needs.py"
    path.write_text("def func(A, axis):\n    return A\n")
    spec = importlib.util.spec_from_file_location("needs", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for _ in range(2):
        A = np.ones(2)
        assert po.kernel(module.func)(A, 3) is A
        assert A.tolist() == [2, 2]
    assert len(asked) == 2


def test_functions_without_text_are_not_cached(compiled, cache):
    scope: dict[str, Any] = {}
    exec(TEXT.format(n=1), scope)
    call(scope["func"])
    call(scope["func"])
    assert len(compiled) == 2
    assert not (cache / "kernels").exists()


def test_read_only_cache_is_used_and_not_written(tmp_path, compiled, cache):
    function = load(tmp_path)
    call(function)
    if os.geteuid() == 0:
        pytest.skip("root writes everywhere")
    for path in [cache, *cache.rglob("*")]:
        path.chmod(0o500 if path.is_dir() else 0o400)
    call(function)
    call(function, threads=1)
    assert len(compiled) == 2
    for path in [cache, *cache.rglob("*")]:
        path.chmod(0o700)


def test_without_a_cache_everything_works(compiled, monkeypatch, cache, tmp_path):
    monkeypatch.setenv("POLYOPT_CACHE", "off")
    function = load(tmp_path)
    call(function)
    call(function)
    assert len(compiled) == 2
    assert not cache.exists()
    assert open_store().root is None


@pytest.mark.parametrize("target", ["cuda", "opencl"])
def test_a_kernel_compiles_without_its_device_and_calls_say_so(monkeypatch, target):
    def nothing(*_: object) -> None:
        raise ToolchainError("PO0510", "there is no device")

    def doubled(x):
        x[:] = x * 2.0

    def wrong(x):
        x[:] = unknown(x)  # noqa: F821

    monkeypatch.setattr("polyopt.hosting.provider_for", nothing)
    kernel = po.kernel(target=target)(doubled)
    x = np.ones(3)
    assert "x[" in kernel.compile(x).source
    with pytest.raises(ToolchainError, match="there is no device"):
        kernel(x)
    assert x.tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(FrontendError):
        po.kernel(target=target)(wrong).compile(x)


def test_what_a_call_does_not_fit_is_read_and_not_built(cache: Path) -> None:
    def scaled(a, b):
        return a * b

    k = po.kernel(scaled)
    column, row = np.ones((3, 1)), np.ones((3, 4))
    np.testing.assert_array_equal(k(column, row), row)
    assert len(k._compiled) == 1  # for columns
    assert "signature.json" in {path.name for path in cache.rglob("*")}
    np.testing.assert_array_equal(k(row, row), row)
    assert len(k._compiled) == 2
    assert "signature.json" not in {path.name for path in cache.rglob("*")}


def test_a_missing_python_header_is_named(monkeypatch):
    monkeypatch.setattr("polyopt.runtime.notices._GIVEN", {})
    monkeypatch.delenv("POLYOPT_FORCE_CTYPES", raising=False)
    monkeypatch.setattr(building.builder, "python_headers", lambda: None)
    with pytest.warns(PolyoptWarning, match="install the package python3-dev"):
        assert building.uses_ctypes()
