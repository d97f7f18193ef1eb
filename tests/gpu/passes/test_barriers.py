"""Barriers: sufficient and necessary, by the proof and by running blocks thread by thread."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import islpy as isl
import pytest

from polyopt.emit.gpu.barriers import place_barriers
from polyopt.ir.loops import Barrier, Body, Kernel, LoopFunction, Node, Scope
from polyopt.ir.nodes import all_nodes, map_bodies
from polyopt.proof.barriers import check_synchronisation
from polyopt.proof.certificate import Verdict
from polyopt.proof.paths import Path
from tests.gpu.passes.drawn import drawn
from tests.gpu.passes.races import races

NOWHERE = Path((), isl.Set("{ : }").params())


def count_barriers(body: Body) -> int:
    return sum(isinstance(node, Barrier) for node in all_nodes(body))


def without_barrier(body: Body, number: int) -> Body:
    """Return `body` without the barrier that has this number from the top."""
    left = [number]

    def visit(part: Body) -> Body:
        kept: list[Node] = []
        for node in part:
            if isinstance(node, Barrier):
                left[0] -= 1
                if left[0] == -1:
                    continue
            kept.append(map_bodies(node, visit))
        return tuple(kept)

    return visit(body)


def has_race(fn: LoopFunction) -> bool:
    (kernel,) = fn.body
    assert isinstance(kernel, Kernel)
    return any(races(kernel.body, kernel.threads))


def is_proven(fn: LoopFunction) -> bool:
    claims = list(check_synchronisation(fn, NOWHERE))
    return all(claim.verdict is Verdict.PROVEN for claim in claims)


@pytest.mark.parametrize("seed", range(30))
def test_drawn_kernels_get_the_barriers_they_need_and_no_other(seed: int) -> None:
    bare = drawn(Random(seed))
    fn = place_barriers(bare)
    assert not has_race(fn)
    assert is_proven(fn)
    for number in range(count_barriers(fn.body)):
        less = replace(fn, body=without_barrier(fn.body, number))
        assert has_race(less), number
        assert not is_proven(less), number


@pytest.mark.parametrize("seed", range(30))
def test_the_proof_sees_the_races_that_threads_run_into(seed: int) -> None:
    random = Random(1000 + seed)
    fn = place_barriers(drawn(random))

    def change(body: Body) -> Body:
        kept: list[Node] = []
        for node in body:
            if isinstance(node, Barrier):
                fate = random.random()
                if fate < 0.3:
                    continue
                node = replace(node, scope=Scope.WARP) if fate < 0.6 else node
            kept.append(map_bodies(node, change))
        return tuple(kept)

    changed = replace(fn, body=change(fn.body))
    assert is_proven(changed) is not has_race(changed)
