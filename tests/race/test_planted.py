"""A loop wrongly marked parallel is caught by the race check."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from polyopt.emit import emit_c
from polyopt.ir.loops import LoopKind
from polyopt.racecheck import Checker, Level
from polyopt.racecheck.texts import has_level
from tests.race.planted import PLANTED, Planted, arguments, plant

pytestmark = pytest.mark.toolchain
LEVELS = {LoopKind.PARALLEL: Level.THREADS, LoopKind.VECTOR: Level.LANES}


@pytest.fixture(scope="module")
def checker() -> Iterator[Checker]:
    with Checker() as made:
        yield made


@pytest.mark.parametrize("planted", PLANTED, ids=str)
def test_a_wrong_mark_is_caught(planted: Planted, checker: Checker) -> None:
    _, loops = plant(planted)
    level = LEVELS[planted.kind]
    found = checker.check(emit_c(loops), arguments(planted), level)
    assert found.races
    assert all(race.first.iteration != race.second.iteration for race in found.races)
    unmarked = replace(planted, kind=LoopKind.SEQUENTIAL)
    assert not has_level(emit_c(plant(unmarked)[1]).text, level)
