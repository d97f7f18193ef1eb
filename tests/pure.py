"""Tests that no compiler, no processor and no device can change: `pytest -m pure`.

In: a collected test.  Out: whether it is one.
These run with no program on the PATH and no device, and fail where they ask for a compiler or the
processor.  Runs of one tree that differ in these alone find the same: one of them is enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from polyopt.measuring import overrides
from polyopt.runtime import toolchain

HERE = Path(__file__).parent
FOLDERS = (
    "bombs",
    "errors",
    "gpu/emulator",
    "gpu/mapping",
    "gpu/passes",
    "gpu/printing",
    "gpu/standing",
    "gpu/suite",
    "hostile",
    "mutants",
    "oracle",
    "properties",
    "reader",
    "regress",
    "semantics",
    "test_layers.py",
    "unit/capture",
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
NEEDS = ("toolchain", "machine", "gpu")
NOTHING = {
    "PATH": "",
    "OCL_ICD_VENDORS": "/nowhere",
    "POLYOPT_MACHINE": "/nowhere/asked-for-by-a-pure-test",
    "POLYOPT_REQUIRE_TOOLS": "1",
}
"""The environment of a pure test, and of the processes that it starts."""


def is_pure(item: pytest.Item) -> bool:
    """Tell whether a test needs nothing but Python, NumPy and isl."""
    path = item.path.relative_to(HERE).as_posix()
    inside = any(path == folder or path.startswith(f"{folder}/") for folder in FOLDERS)
    return inside and not any(map(item.get_closest_marker, NEEDS))


@contextmanager
def nothing_outside() -> Iterator[None]:
    """Run a block where no program, device or processor is to be found; asking fails the test."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in NOTHING.items():
            patch.setenv(name, value)
        patch.setattr(toolchain, "_command", _asked_for_a_compiler)
        patch.setattr(toolchain, "listed_features", _asked_for_the_processor)
        patch.setattr(overrides, "_path", _asked_for_the_processor)
        yield


def _asked_for_a_compiler(*_: object) -> None:
    pytest.fail("this test asks for a compiler: mark it `toolchain`, or `machine`")


def _asked_for_the_processor(*_: object) -> None:
    pytest.fail("this test asks for the processor: mark it `machine`")
