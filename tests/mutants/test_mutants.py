"""Every mutant is reported by two layers at least, and by none without the fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutants.layers import Layer
from tests.mutants.mutant import Mutant
from tests.mutants.of_reading import MUTANTS as OF_READING
from tests.mutants.registry import MUTANTS as ALL
from tests.mutants.registry import run, say

pytestmark = pytest.mark.toolchain
MUTANTS = tuple(m for m in ALL if m not in OF_READING)  # those have a test of their own
KNOWN = frozenset((*range(1, 29), *range(33, 54)))


def test_every_known_bug_has_a_mutant() -> None:
    assert {mutant.number for mutant in MUTANTS} == KNOWN
    assert all(len(set(mutant.layers)) >= 2 for mutant in MUTANTS)


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_is_seen(mutant: Mutant) -> None:
    own = dict(mutant.seen)
    for layer in mutant.layers:
        if layer is Layer.RUN and layer not in own:
            continue  # all are built at once
        assert say(mutant, layer, wrong=True) is not None, layer
        if layer is not Layer.LINT:  # the fault itself is what the lint reads
            assert say(mutant, layer, wrong=False) is None, layer


def test_running_sees_mutants(tmp_path: Path) -> None:
    mine = [m for m in MUTANTS if Layer.RUN in m.layers and Layer.RUN not in dict(m.seen)]
    for mutant, (wrong, right) in zip(mine, run(mine, tmp_path), strict=True):
        assert right is None, mutant
        assert wrong is not None, mutant
