"""Kernels with one small edit: what enumeration refutes, no certificate takes for the program."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import pytest

from polyopt.errors import BudgetError
from polyopt.ir.affine import quota
from polyopt.ir.loops import LoopFunction
from polyopt.ir.program import Program
from polyopt.proof import certify
from tests.mutants.kernels import KERNELS, Kernel, compiled
from tests.oracle import run_source
from tests.oracle.enumerate import enumerate_kernel
from tests.oracle.mutants import mutants
from tests.oracle.run_source import TooLong

EDITS = 12


@pytest.mark.parametrize("number", range(len(KERNELS)))
def test_no_wrong_edit_is_proven(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_source, "LIMIT", 20_000)
    kernel = KERNELS[number]
    program, loops = compiled(kernel)
    assert refuted(program, loops, kernel) is None
    every = list(mutants(loops))
    wrong = 0
    for name, edited in Random(number).sample(every, min(EDITS, len(every))):
        why = refuted(program, edited, kernel)
        if why is None:
            continue
        wrong += 1
        assert not is_proven(program, edited), (str(kernel), name, why)
    assert wrong >= EDITS // 3


def refuted(program: Program, loops: LoopFunction, kernel: Kernel) -> str | None:
    """Return what enumeration finds wrong at the kernel's sizes."""
    names = {size.param for size in program.signature.sizes}
    for sizes in kernel.sizes:
        given: Mapping[str, int] = {name: sizes[name] for name in names}
        try:
            found = enumerate_kernel(program, loops, given)
        except TooLong:
            return None
        if found:
            return str(found[0])
    return None


def is_proven(program: Program, loops: LoopFunction) -> bool:
    """Tell whether the certificate, in the time it may take, lets the loops run."""
    try:
        with quota(2_000_000):
            return certify(program, loops).is_proven
    except BudgetError:
        return False
