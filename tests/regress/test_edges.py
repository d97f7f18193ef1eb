"""Stencils with a rule for each edge: tiled, skewed and proven within the budget.

isl takes tile loops apart for every way in which a tile meets an edge; nobody could prove that.
"""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.frontend import build
from polyopt.frontend.syntax.type_inference import infer_types
from polyopt.pipeline import compile_program
from polyopt.targets import Options, Target
from tests.machines import NARROW


def edges(p: po.f64["H,W"], q: po.f64["H,W"], steps: int):  # noqa: F821, UP037
    for _ in range(steps):
        old = p.copy()
        p[1:-1, 1:-1] = 0.25 * (old[2:, 1:-1] + old[:-2, 1:-1] + old[1:-1, 2:] + old[1:-1, :-2])
        p[1:-1, 1:-1] -= q[1:-1, 1:-1]
        p[0, :] = p[1, :]
        p[-1, :] = -p[-2, :]
        p[:, 0] = 0.5 * p[:, 1] + 0.5 * p[:, 2]
        p[:, -1] = p[:, -2]
    return p.sum(axis=0), np.abs(p).max()


@pytest.mark.toolchain
def test_edges_are_tiled_and_right():
    rng = np.random.default_rng(3)
    kernel = po.kernel(edges)
    for shape, steps in (((3, 3), 1), ((20, 31), 7), ((300, 41), 35), ((5, 600), 2)):
        p, q = rng.normal(size=shape), rng.normal(size=shape)
        want = p.copy()
        (sums, most), (own_sums, own_most) = edges(want, q, steps), kernel(p, q, steps)
        assert p.tobytes() == want.tobytes()
        assert sums.tobytes() == own_sums.tobytes()
        assert most == own_most
    stages = kernel.compile(p, q, steps).stages
    assert stages.dropped == ()
    assert "tile(L0" in stages.schedule_text


def test_blocks_have_the_fewest_barriers_whatever_the_sizes_that_checks_allow():
    """Checks are unions (no step, or three rows): their pieces do not multiply."""
    program = build(edges, infer_types(edges))
    stages = compile_program(program, Options(target=Target.CUDA), NARROW)
    assert not [d for d in stages.dropped if "barriers" in d.what]
    assert stages.source.text.count("__syncthreads()") == 2
