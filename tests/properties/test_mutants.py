"""Kernels with one planted change: what enumeration refutes, no certificate proves."""

from __future__ import annotations

from random import Random

import pytest

from polyopt.errors import BudgetError
from polyopt.ir.affine import quota
from polyopt.proof import certify
from tests.oracle.enumerate import enumerate_kernel
from tests.oracle.mutants import mutants
from tests.oracle.run_source import TooLong
from tests.properties.pair_trial import run_program

SIZES = ((4, 5), (6, 3), (5, 7))
CHANGES = 12


@pytest.mark.parametrize("number", range(4))
def test_no_certificate_for_a_wrong_kernel(number: int) -> None:
    wrong = 0
    for case, loops, _, steps in run_program(17, number).kernels[:3]:
        every = list(mutants(loops))
        for name, mutant in Random(number).sample(every, min(CHANGES, len(every))):
            for n, m in SIZES:
                try:
                    found = enumerate_kernel(case.program, mutant, {"N": n, "M": m})
                except TooLong:
                    continue
                if found:
                    break
            else:
                continue
            wrong += 1
            try:
                with quota(20_000_000):
                    proven = certify(case.program, mutant).is_proven
            except BudgetError:
                continue
            assert not proven, (name, steps, str(found[0]))
    assert wrong >= CHANGES
