"""Lanes across an outer loop, where the inner loop has none."""

import polyopt as po
from polyopt import building
from polyopt.frontend import infer_types
from polyopt.machine import Machine
from polyopt.targets import FpMode, Options

# ruff: noqa: F821 - sizes are named by strings

MACHINE = Machine(cores=2, vector_bytes=32)


def near(x: po.f64["N"], y: po.f64["N"], q: po.f64["N"], reach: float, out: po.f64["N"]):
    for i in range(x.shape[0]):
        pull = 0.0
        for j in range(x.shape[0]):
            dx = x[i] - x[j]
            dy = y[i] - y[j]
            far = q[j] + dx * dx + dy * dy
            if i != j and far < reach:
                w = far / (0.1 + far)
                pull += w * w * dx + w * dy
        out[i] = pull


def test_sums_that_only_their_end_reads_have_lanes_of_their_own():
    """The distances of a pair are computed where they are used, not stored for strips of pairs."""
    options = Options(fp=FpMode.REASSOCIATE)
    made = building.compile_stages(near, infer_types(near), options, MACHINE)
    assert "sink(" not in made.schedule_text
    assert "po_far" not in made.source.text
