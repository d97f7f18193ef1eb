"""Bombs end within a small budget, as a kernel that is right or an error with a code.

The limit of time is wide: other processes may have the cores.  `python -m tests.bombs` is strict.
"""

from __future__ import annotations

import pytest

from tests.bombs.bomb import Bomb
from tests.bombs.listing import BOMBS
from tests.bombs.trial import run_all

BUDGET, LIMIT, MEMORY = 0.5, 120.0, 1024


def test_there_are_enough_and_their_names_differ() -> None:
    assert len({bomb.name for bomb in BOMBS}) == len(BOMBS) >= 40


@pytest.mark.toolchain
@pytest.mark.parametrize("bomb", BOMBS, ids=lambda bomb: bomb.name)
def test_it_ends_as_a_kernel_or_an_error(bomb: Bomb) -> None:
    (found,) = run_all([bomb], BUDGET, 1, LIMIT)
    assert found.is_good(LIMIT, MEMORY), found


@pytest.mark.toolchain
def test_the_trial_notices_what_must_not_happen() -> None:
    wrong = Bomb("leaves", "def f(a):\n    import os\n    os._exit(0)\n", "np.ones(2)")
    spins = Bomb("spins", "def f(a):\n    return a\n\n\nwhile True:\n    pass\n", "np.ones(2)")
    assert [found.kind for found in run_all([wrong], BUDGET, 1, LIMIT)] == ["error"]
    assert [found.kind for found in run_all([spins], BUDGET, 1, 1.0)] == ["fault"]
