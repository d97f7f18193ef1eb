"""Random programs under random schedules: accepted ones compute the same, refusals are real."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest

from tests.oracle.hashed import hashed
from tests.properties.fuzz import check_spec
from tests.properties.random_specs import random_spec
from tests.properties.schedules import random_schedule, source_schedule
from tests.properties.spec import build_scop

COUNT = int(os.environ.get("POLYOPT_RANDOM_COUNT", "25"))


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
