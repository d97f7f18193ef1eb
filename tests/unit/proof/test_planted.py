"""Loops marked parallel or vector that are not: the certificate refutes each of them."""

from __future__ import annotations

import pytest

from polyopt.proof import ClaimKind, Verdict, certify
from tests.race.planted import PLANTED, Planted, plant


@pytest.mark.parametrize("planted", PLANTED, ids=str)
def test_a_wrong_mark_is_refuted(planted: Planted) -> None:
    program, loops = plant(planted)
    certificate = certify(program, loops)
    assert not certificate.is_proven
    assert any(
        claim.kind in (ClaimKind.CONCURRENCY, ClaimKind.ORDER) and claim.verdict is Verdict.REFUTED
        for claim in certificate.faults
    ), certificate
