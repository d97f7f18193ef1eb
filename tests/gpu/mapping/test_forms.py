"""Kernels whose proof takes too long give way to kernels without copies, not to one thread."""

from __future__ import annotations

from polyopt import pipeline, proving
from polyopt.errors import BudgetError
from polyopt.frontend import build
from polyopt.frontend.syntax.annotations import ArrayType
from polyopt.ir.loops import Kernel
from polyopt.ir.source import Layout
from polyopt.ir.types import DType
from polyopt.machine import Machine
from polyopt.targets import Options, Target
from tests.gpu.mapping import programs


def test_kernels_without_copies(monkeypatch):
    certify = proving.certify

    def slow(program, loops):
        if any("pack" in step for step in loops.trace):
            raise BudgetError("PO0703", "no time is left")
        return certify(program, loops)

    monkeypatch.setattr(proving, "certify", slow)
    matrix = ArrayType(DType.FLOAT32, 2, Layout.C, (False, False))
    program = build(programs.product, (matrix,) * 3)
    found = pipeline.compile_program(program, Options(target=Target.CUDA), Machine())
    assert [d.what for d in found.dropped] == ["kernels", "copies in turn"]
    assert found.certificate is not None
    assert found.certificate.is_proven
    assert "pack" not in found.schedule_text
    assert "grid" in found.schedule_text
    assert any(isinstance(n, Kernel) and n.threads > 1 for n in found.loops.body)
