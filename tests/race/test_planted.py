"""A loop wrongly marked parallel is caught by the race check."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from polyopt.emit import emit_c
from polyopt.ir.loops import LoopKind
from polyopt.racecheck import Checker, Level
from polyopt.racecheck.checker import has_level
from tests.race.planted import PLANTED, Planted, arguments, plant
from tests.unit.emit.test_thread_privatization import FUSED, given, shares

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


@pytest.mark.parametrize("is_shared", [False, True])
def test_memory_of_threads(is_shared: bool, checker: Checker) -> None:
    """A row that each thread has for itself is no race; one row for all of them is."""
    _, loops = given(shares, f"{FUSED}; parallelize(L0[0])")
    source = emit_c(loops)
    own = "double *restrict powers_ = po_alloc(po_bytes(sizeof(double), M));"
    assert source.text.count(own) == 2
    if is_shared:
        head, _, rest = source.text.partition(own)
        region = head.rindex("#pragma omp parallel")
        text = f"{head[:region]}double *powers_ = po_alloc(64 * M);\n{head[region:]}{rest}"
        source = replace(source, text=text.replace("free(powers_);", "", 1))
    rng = np.random.default_rng(0)
    found = checker.check(source, (rng.uniform(size=(9, 5)), np.zeros((9, 5))), Level.THREADS)
    assert bool(found.races) == is_shared
    assert found.longest == 9
