"""pytest's plug-in, in sessions of its own: options, the fixture, what a failure says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]
ROOT = Path(__file__).resolve().parents[2]

KERNELS = """
import os
import numpy as np
import polyopt as po

@po.kernel
def scaled(x, y, factor):
    y[:] = factor * x

@po.kernel
def total(x):
    return np.sum(x)

def test_kernels(polyopt_verify):
    x, y = np.arange(9.0), np.zeros(9)
    found = polyopt_verify(scaled, x, y, 2.0)
    assert [(c.name, c.is_exact) for c in found] == [("y", True)]
    assert not y.any()
    polyopt_verify(total.with_options(fp="reassociate"), np.random.default_rng(0).random(999))
"""
WRONG = """
import numpy as np
import polyopt as po

@po.kernel
def scaled(x, y):
    y[1:3] = 2.0 * x[1:3]

def other(x, y):
    y[1:3] = 2.5 * x[1:3]

def test_kernel(polyopt_verify):
    x, y = np.arange(5.0), np.zeros(5)
    scaled.compile(x, y).py_func = other
    polyopt_verify(scaled, x, y)
"""
SWITCHED = """
import os
import numpy as np
import polyopt as po

@po.kernel
def called(x):
    return os.environ.get("HERE", "")

def test_switches(request):
    assert os.environ.get("POLYOPT_DISABLE") == ("1" if "reference" in WANTED else None)
    assert os.environ.get("POLYOPT_VERIFY") == ("1" if "verify" in WANTED else None)
    if "reference" in WANTED:
        os.environ["HERE"] = "Python ran"
        assert called(1) == "Python ran"
"""


def run(pytester: pytest.Pytester, text: str, *options: str) -> pytest.RunResult:
    """Run a file of tests in a process of its own that has this plug-in and no other."""
    pytester.makepyfile(text)
    return pytester.runpytest_subprocess("-p", "polyopt.pytest_plugin", *options)


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    for name in ("POLYOPT_DISABLE", "POLYOPT_VERIFY"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.toolchain
def test_right_kernels_pass_and_arguments_stay(pytester: pytest.Pytester) -> None:
    run(pytester, KERNELS).assert_outcomes(passed=1)


@pytest.mark.toolchain
def test_a_wrong_kernel_fails_with_its_worst_element(pytester: pytest.Pytester) -> None:
    result = run(pytester, WRONG)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "`scaled` differs from its function:",
            "  2 of 5 elements of `y` are wrong",
            "  y[[]2[]] is 4.0, expected 5.0, the same bits",
        ]
    )
    result.stdout.no_fnmatch_line("*pytest_plugin.py*")


@pytest.mark.parametrize("wanted", [(), ("reference",), ("verify",)], ids=str)
def test_options_set_variables(pytester: pytest.Pytester, wanted: tuple[str, ...]) -> None:
    text = f"WANTED = {wanted!r}\n{SWITCHED}"
    run(pytester, text, *(f"--polyopt-{name}" for name in wanted)).assert_outcomes(passed=1)


def test_the_project_names_the_plugin() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    found = re.search(r"(?m)^\[project\.entry-points\.pytest11\]\npolyopt = \"([\w.]+)\"$", project)
    assert found is not None
    assert found[1] == "polyopt.pytest_plugin"
