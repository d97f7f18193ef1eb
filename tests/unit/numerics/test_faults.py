"""No wrong program passes: one small fault in each of twenty programs leaves its bounds."""

from __future__ import annotations

import copy
from functools import cache

import pytest

from tests.unit.numerics.analysed import Analysed, analysed
from tests.unit.numerics.faults import FAULTS, planted
from workloads import registry

PROGRAMS = (
    *("atax-numpy", "bicg-numpy", "mvt-numpy", "gesummv-numpy", "trisolv-numpy", "durbin-numpy"),
    *("jacobi-1d-loops", "softmax-numpy", "layernorm-numpy", "rmsnorm-numpy", "attention-numpy"),
    *("cross-entropy-numpy", "gelu-numpy", "mlp-numpy", "rnn-numpy", "black-scholes-numpy"),
    *("thomas-loops", "savgol-numpy", "sph-density-numpy", "kalman-numpy"),
)


@cache
def call(name: str) -> Analysed:
    workload, _, form = name.rpartition("-")
    found = registry.get(workload)
    return analysed(found.forms[form], *found.make("MINI", seed=3).values())


@pytest.mark.parametrize("name", PROGRAMS)
def test_faults_leave_the_bounds(name):
    found = call(name)
    assert all(c.holds for c in found.compare(found.interpreted(found.loops)))
    tried = 0
    for title, fault in FAULTS.items():
        wrong = planted(found.loops, fault)
        if wrong is not None:
            tried += 1
            results = found.compare(copy.deepcopy(found.interpreted(wrong)))
            assert not all(c.holds for c in results), f"{title} is inside the bounds: {results}"
    assert tried


def test_every_fault_is_tried():
    assert len(PROGRAMS) == 20
    for title, fault in FAULTS.items():
        places = [name for name in PROGRAMS if planted(call(name).loops, fault) is not None]
        assert len(places) >= 8, title
