"""The race check finds every planted race and says nothing of the twins without one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from polyopt.racecheck import Checker
from tests.race.controls import CONTROLS, Control, source

pytestmark = pytest.mark.toolchain
N = 50


@pytest.fixture(scope="module")
def checker() -> Iterator[Checker]:
    with Checker() as made:
        yield made


def arguments() -> tuple[Any, ...]:
    rng = np.random.default_rng(7)
    return rng.random(N), rng.random(N), rng.random((N, N))


@pytest.mark.parametrize("control", CONTROLS, ids=lambda c: c.name)
def test_the_race_is_found(control: Control, checker: Checker) -> None:
    found = checker.check(
        source(control.racing, control.before), arguments(), control.level, control.rules
    )
    assert {race.kind for race in found.races} == control.kinds
    assert all(race.first.place.text and race.second.place.text for race in found.races)
    starts = ("#pragma omp", "GOMP_parallel")
    assert all(race.loop.text.startswith(starts) for race in found.races)
    if control.cell is not None:
        assert str(found.races[0].cell) == control.cell
    if control.pair is not None:
        pairs = {tuple(sorted((r.first.iteration, r.second.iteration))) for r in found.races}
        assert control.pair in pairs


@pytest.mark.parametrize("control", CONTROLS, ids=lambda c: c.name)
def test_the_twin_is_silent(control: Control, checker: Checker) -> None:
    found = checker.check(
        source(control.silent, control.before), arguments(), control.level, control.rules
    )
    assert found.races == ()
    if not control.rules.obeys_if:
        assert found.longest > N // 4
