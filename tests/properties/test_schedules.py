"""Random programs under random schedules: accepted ones compute the same, refusals are real."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest

from polyopt.errors import ScheduleError
from polyopt.schedule.legality import check_legal, mark_facts
from polyopt.schedule.tree import Tree, show_tree
from tests.oracle.hashed import hashed
from tests.properties.fuzz import check_spec
from tests.properties.random_specs import random_spec
from tests.properties.schedules import random_schedule, random_step, source_schedule
from tests.properties.spec import build_scop

COUNT = int(os.environ.get("POLYOPT_RANDOM_COUNT", "25"))


@pytest.mark.matrix(2)
@pytest.mark.parametrize("seed", range(COUNT))
def test_interpreted(seed: int) -> None:
    check_spec(random_spec(Random(seed)), seed)


@pytest.mark.toolchain
@pytest.mark.parametrize("seed", range(1000, 1000 + max(1, COUNT // 5)))
def test_compiled(seed: int, tmp_path: Path) -> None:
    check_spec(random_spec(Random(seed)), seed, directory=tmp_path)


def test_steps_are_accepted_and_refused() -> None:
    accepted = refused = 0
    for seed in range(20):
        rng = Random(seed)
        scop = hashed(build_scop(random_spec(rng)))
        _, outcome = random_schedule(rng, source_schedule(scop), 10)
        accepted, refused = accepted + outcome.accepted, refused + outcome.refused
    assert accepted >= 30
    assert refused >= 15


def test_the_verdict_does_not_depend_on_what_is_known() -> None:
    """Judging with the tree before a step and judging from nothing agree, and so do the facts."""
    accepted = refused = 0
    for seed in range(300, 340):
        rng = Random(seed)
        schedule = source_schedule(hashed(build_scop(random_spec(rng))))
        scop, dependences = schedule.scop, schedule.dependences
        for _ in range(8):
            step = random_step(rng, schedule.tree)
            try:
                tree: Tree | None = step.rewrite(schedule.tree, scop) if step else None
            except ScheduleError:
                continue
            if step is None or tree is None:
                continue
            whole = check_legal(scop, dependences, tree)
            known = check_legal(scop, dependences, tree, schedule.tree)
            assert (whole is None) == (known is None), (seed, str(step))
            if whole is not None:
                refused += 1
                assert known is not None
                assert known.fault is whole.fault
                continue
            accepted += 1
            again = show_tree(mark_facts(dependences, tree), scop)
            schedule = schedule.apply(step)
            assert show_tree(schedule.tree, scop) == again
    assert accepted >= 60
    assert refused >= 30
