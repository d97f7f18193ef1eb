"""What CONTRIBUTING adds: registered here, used by the public interface, results checked."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import PolyoptError
from polyopt.frontend.numpy import table
from polyopt.ir.target import TARGETS
from polyopt.transforms.text import STEPS, Step, parse_steps
from tests import scops
from tests.checks import assert_computes, assert_illegal, assert_round_trip
from tests.examples import unwrap as unwrapping
from tests.examples.rotate import Rotate
from tests.examples.sketch import SKETCH

# ruff: noqa: F821, UP037 - sizes are named by strings


@pytest.fixture
def rotate(monkeypatch):
    """Add the line of `polyopt/transforms/text.py`."""
    monkeypatch.setitem(STEPS, "rotate", Step("rotate(L0, 1)", Rotate))


@pytest.fixture
def unwrap(monkeypatch):
    """Add the module to `polyopt/frontend/library`, the name to a group of `numpy/table.py`."""
    monkeypatch.setitem(sys.modules, "polyopt.frontend.library.unwrap", unwrapping)
    monkeypatch.setitem(table.FUNCTIONS, "unwrap", table.Function("library.unwrap", "unwrap"))
    table._names_in.cache_clear()
    yield
    table._names_in.cache_clear()


@pytest.mark.usefixtures("rotate")
def test_a_step_is_written_as_its_fields():
    assert_round_trip(Rotate("L0", 2))
    assert parse_steps("rotate(L0)") == (Rotate("L0", 1),)
    with pytest.raises(PolyoptError, match="1 to 2 arguments are needed"):
        parse_steps("rotate(L0, 1, 2)")


def test_a_step_is_judged():
    assert_computes(scops.gemm(), Rotate("L0", 2))
    assert_illegal(scops.diagonal(), "PO0311", Rotate("L0"))


def scaled(A: po.f64["N,M"], B: po.f64["N,M"]):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] = A[i, j] * 2.0


@pytest.mark.toolchain
@pytest.mark.usefixtures("rotate")
def test_a_step_of_a_schedule_runs():
    A, B = np.random.default_rng(0).random((7, 11)), np.zeros((7, 11))
    kernel = po.kernel(scaled, schedule="rotate(L0); parallelize(L0[0])")
    kernel(A, B)
    np.testing.assert_array_equal(B, A * 2.0)
    assert kernel.compile(A, B).schedule_text == "rotate(L0, 1);\nparallelize(L0[0])"


def turns(p: po.f64["N"]):
    return np.unwrap(p) * 0.5


@pytest.mark.toolchain
def test_a_function_is_compiled(request):
    """Without its record the kernel stops for NumPy's own function."""
    p = np.random.default_rng(1).uniform(-9.0, 9.0, 41)
    assert "unwrap" in po.kernel(turns).compile(p).source
    request.getfixturevalue("unwrap")
    kernel = po.kernel(turns, budget=99.0)
    np.testing.assert_allclose(kernel(p), turns(p), rtol=1e-12, atol=1e-12)
    assert "unwrap" not in kernel.compile(p).source


@pytest.fixture
def sketch(monkeypatch):
    """Add the record to `TARGETS` of `polyopt/ir/target.py`."""
    monkeypatch.setitem(TARGETS, SKETCH.value, SKETCH)


@pytest.mark.toolchain
@pytest.mark.usefixtures("sketch")
def test_a_target_prints_and_runs():
    A, B = np.random.default_rng(2).random((9, 13)), np.zeros((9, 13))
    kernel = po.kernel(scaled, target="sketch")
    kernel(A, B)
    np.testing.assert_array_equal(B, A * 2.0)
    assert kernel.compile(A, B).source.startswith("/* a sketch */")
    assert po.kernel(scaled, target=SKETCH).compile(A, B).source == kernel.compile(A, B).source


def test_a_target_that_is_not_listed_is_refused():
    with pytest.raises(PolyoptError, match="option `target` is 'sketch'"):
        po.kernel(scaled, target="sketch")
