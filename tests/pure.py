"""Tests that neither the processor, nor a device, nor a program beside gcc can change.

In: a collected test.  Out: whether it is one; `pytest -m pure` runs these.
They run with no program on the PATH and no device, and fail where they ask for a compiler or the
processor; those marked `toolchain` find gcc, and compile for one level of instruction sets.  Runs
of one tree that differ in these alone find the same: one of them is enough.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from polyopt import building, loading, saving
from polyopt.cregion import preprocessing
from polyopt.measuring import detection
from polyopt.runtime import toolchain
from polyopt.runtime.toolchain import LEVELS

HERE = Path(__file__).parent
DEVICELESS = (
    "bombs",
    "errors",
    "gpu/emulator",
    "gpu/mapping",
    "gpu/passes",
    "gpu/printing",
    "gpu/standing",
    "gpu/suite",
)
FOLDERS = (
    *DEVICELESS,
    "examples",
    "hostile",
    "mutants",
    "oracle",
    "properties",
    "reader",
    "regress",
    "semantics",
    "test_docs.py",
    "test_layers.py",
    "unit/capture",
    "unit/distribution",
    "unit/emit",
    "unit/frontend",
    "unit/ir",
    "unit/lazy",
    "unit/model",
    "unit/numerics",
    "unit/oracle",
    "unit/proof",
    "unit/schedule",
    "unit/strategy",
    "unit/test_workloads.py",
    "unit/transforms",
    "unit/verifying",
)
"""Where tests are pure, but for those marked as to what they need."""
COMPILED = (
    *DEVICELESS,
    "mutants",
    "race",
    "regress/test_numbers_of_lists.py",
    "regress/test_numpy_scalars.py",
    "regress/test_reshaped_views.py",
    "regress/test_sizes_found.py",
    "unit/distribution",
    "unit/frontend",
    "unit/lazy/test_array_api.py",
    "unit/lazy/test_comprehension.py",
    "unit/lazy/test_operations.py",
    "unit/runtime/test_hostile_entries.py",
    "unit/runtime/test_many_arrays.py",
    "unit/runtime/test_wrapper.py",
    "unit/test_captured_values.py",
    "unit/test_edited_files.py",
    "unit/test_sharing.py",
)
"""Where tests marked `toolchain` are pure: what they are about is the same for every processor."""
NEEDS = ("machine", "gpu")
NOTHING = {
    "PATH": "",
    "OCL_ICD_VENDORS": "/nowhere",
    "POLYOPT_MACHINE": "/nowhere/asked-for-by-a-pure-test",
    "POLYOPT_REQUIRE_TOOLS": "1",
}
"""The environment of a pure test, and of the processes that it starts."""
TOOLS = ("gcc", "as", "ld", "nm", "addr2line")
"""The programs that one marked `toolchain` finds."""
LEVEL = "x86-64-v3"
"""What that one compiles for, where the processor has it."""
BOUND = (building, loading, saving, preprocessing)
"""Modules that bind what pure tests replace: imported before, they keep the true functions."""


def is_pure(item: pytest.Item) -> bool:
    """Tell whether a test needs nothing but Python, NumPy, isl, and gcc where it is marked so."""
    if any(map(item.get_closest_marker, NEEDS)):
        return False
    if item.get_closest_marker("toolchain"):
        return _is_in(item.path, COMPILED) and _tools() is not None
    return _is_in(item.path, FOLDERS)


@cache
def _is_in(file: Path, folders: tuple[str, ...]) -> bool:
    path = file.relative_to(HERE).as_posix()
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


@contextmanager
def nothing_outside(item: pytest.Item) -> Iterator[None]:
    """Run a pure test where nothing else is to be found; asking for it fails the test."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in NOTHING.items():
            patch.setenv(name, value)
        if item.get_closest_marker("toolchain"):
            _let_compile(patch)
        else:
            patch.setattr(toolchain, "compiler_command", _asked_for_a_compiler)
            patch.setattr(toolchain, "listed_features", _asked_for_the_processor)
            patch.setattr(detection, "_path", _asked_for_the_processor)
        yield


def _let_compile(patch: pytest.MonkeyPatch) -> None:
    """Let gcc be found, and nothing else, and compile for one level."""
    folder = _tools()
    assert folder is not None
    patch.setenv("PATH", folder.name)
    for name in ("CC", "POLYOPT_CC"):
        patch.delenv(name, raising=False)
    if LEVELS[LEVEL].features <= set(toolchain.listed_features()):
        patch.setenv("POLYOPT_MACHINE", LEVEL)
    else:
        patch.delenv("POLYOPT_MACHINE")


@cache
def _tools() -> tempfile.TemporaryDirectory[str] | None:
    """Return a folder with gcc and what it starts, None where there is no gcc."""
    found = {tool: shutil.which(tool) for tool in TOOLS}
    if found["gcc"] is None:
        return None
    folder = tempfile.TemporaryDirectory(prefix="polyopt-tools-")
    for tool, path in found.items():
        if path is not None:
            (Path(folder.name) / tool).symlink_to(path)
    return folder


def _asked_for_a_compiler(*_: object) -> None:
    pytest.fail("this test asks for a compiler: mark it `toolchain`, or `machine`")


def _asked_for_the_processor(*_: object) -> None:
    pytest.fail("this test asks for the processor: mark it `machine`")
