"""Some faults of the front end; `python -m tests.mutants.reading_table` shows all."""

from __future__ import annotations

import pytest

from tests.mutants.mutant import Mutant
from tests.mutants.of_reading import MUTANTS
from tests.mutants.registry import say

SHARE = 5
"""One in so many is planted here."""


def test_there_are_forty_faults_and_each_has_two_layers() -> None:
    assert len(MUTANTS) >= 40
    assert all(len(set(mutant.layers)) == 2 for mutant in MUTANTS)


@pytest.mark.parametrize("mutant", MUTANTS[::SHARE], ids=str)
def test_a_fault_of_the_front_end_is_seen_twice(mutant: Mutant) -> None:
    for layer in mutant.layers:
        assert say(mutant, layer, wrong=True) is not None, layer
        assert say(mutant, layer, wrong=False) is None, layer
