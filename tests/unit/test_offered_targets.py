"""Targets that installed packages offer by entry points."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import UsageError
from polyopt.ir.target import TARGETS
from polyopt.offered import target_named
from tests.cli.conftest import polyopt, write  # noqa: F401 - fixtures

MODULE = """
from polyopt.dataclass import replace
from tests.examples.sketch import SKETCH, emit_sketch

def emit_brush(loops):
    return replace(emit_sketch(loops), language="brush")

BRUSH = replace(SKETCH, value="brush", suffix=".brush", printer=emit_brush)
BROKEN = 1 / int("0") if __name__ == "broken" else None
"""
KERNEL = """
import numpy as np

def doubled(x: "f64[:]", y: "f64[:]"):
    y[:] = 2.0 * x
"""


@pytest.fixture
def offer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Install a package that offers targets: `offer("brush = art:BRUSH")`."""
    before = dict(TARGETS)

    def install(points: str, version: str = "1.2") -> None:
        site = tmp_path / "site"
        info = site / "art.dist-info"
        info.mkdir(parents=True, exist_ok=True)
        (site / "art.py").write_text(MODULE)
        (site / "broken.py").write_text(MODULE)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: art\nVersion: {version}\n")
        (info / "entry_points.txt").write_text(f"[polyopt.targets]\n{points}\n")
        monkeypatch.syspath_prepend(str(site))
        importlib.invalidate_caches()

    yield install
    TARGETS.clear()
    TARGETS.update(before)
    for name in ("art", "broken"):
        sys.modules.pop(name, None)


def doubled(x, y):
    y[:] = 2.0 * x


@pytest.mark.toolchain
def test_an_offered_target_prints_and_runs(offer):
    offer("brush = art:BRUSH")
    x, y = np.arange(9.0), np.zeros(9)
    kernel = po.kernel(doubled, target="brush")
    kernel(x, y)
    np.testing.assert_array_equal(y, 2.0 * x)
    assert repr(kernel.options.target) == "Target('brush', package='art 1.2')"


@pytest.mark.toolchain
def test_the_command_takes_an_offered_target(offer, polyopt, write, tmp_path):  # noqa: F811
    offer("brush = art:BRUSH")
    write("k.py", KERNEL)
    outcome = polyopt("compile", "k.py:doubled", "--target", "brush", "-o", "out")
    assert outcome.code == 0
    assert (tmp_path / "out" / "doubled.brush").read_text().startswith("/* a sketch */")
    outcome = polyopt("compile", "k.py:doubled", "--target", "pencil")
    assert outcome.code == 2
    assert "'pencil' is not one of 'c', 'cuda', 'opencl'" in outcome.err


@pytest.mark.parametrize(
    "points, reason",
    [
        ("brush = art:PEN", "AttributeError: module 'art' has no attribute 'PEN'"),
        ("brush = broken", "ZeroDivisionError: division by zero"),
        ("brush = nowhere:BRUSH", "ModuleNotFoundError: No module named 'nowhere'"),
        ("brush = art:BROKEN", "it is None, not a `Target` of this name"),
    ],
)
def test_what_is_no_target_is_refused(offer, points, reason):
    offer(points)
    with pytest.raises(UsageError, match=r"the target `brush` of art 1\.2") as caught:
        po.kernel(doubled, target="brush")
    assert caught.value.code == "PO0238"
    assert reason in caught.value.message


def test_there_is_no_target_of_another_name(offer):
    offer("brush = art:BRUSH")
    assert target_named("pencil") is None
    assert target_named("brush") is TARGETS["brush"]
