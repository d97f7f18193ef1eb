"""What nobody can prove gives way to simpler loops; the simplest need no values moved."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt import pipeline, proving
from polyopt.errors import BudgetError
from polyopt.frontend import build
from polyopt.frontend.syntax.type_inference import infer_types
from polyopt.ir.loops import Declare, DeclareArray
from polyopt.ir.nodes import all_nodes
from polyopt.targets import Options, Target, detect_machine

# ruff: noqa: F821, UP037 - sizes are named by strings


def pairs(x: po.f64["N,3"], out: po.f64["N"]):
    energy = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            if i != j:
                d = x[i] - x[j]
                square = (d * d).sum()
                energy += 1.0 / square
                out[i] += d[0] / square
    return energy


def refuse_locals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no loops be proven in time that keep values in locals of their own."""
    certify = proving.certify

    def slow(program, loops):
        if any(isinstance(node, Declare | DeclareArray) for node in all_nodes(loops.body)):
            raise BudgetError("PO0703", "no time is left")
        return certify(program, loops)

    monkeypatch.setattr(proving, "certify", slow)


@pytest.mark.parametrize("target", [Target.C, Target.CUDA])
def test_loops_with_the_values_of_the_source_where_it_has_them(monkeypatch, target):
    refuse_locals(monkeypatch)
    program = build(pairs, infer_types(pairs))
    found = pipeline.compile_program(program, Options(target=target), detect_machine())
    assert "local values" in [dropped.what for dropped in found.dropped]
    assert found.certificate is not None
    assert found.certificate.is_proven
    assert {array.name for array in found.loops.arrays} >= {"d", "square"}


@pytest.mark.toolchain
def test_they_are_right(monkeypatch, tmp_path):
    monkeypatch.setenv("POLYOPT_CACHE_DIR", str(tmp_path))
    refuse_locals(monkeypatch)
    x = np.random.default_rng(3).normal(size=(20, 3))
    out, expected = np.zeros(20), np.zeros(20)
    with pytest.warns(po.BudgetWarning):
        energy = po.kernel(pairs)(x, out)
    assert energy == pytest.approx(pairs(x, expected), rel=1e-14)
    np.testing.assert_allclose(out, expected, rtol=1e-14)
