"""All bombs."""

from __future__ import annotations

from tests.bombs import expressions, nests, numbers, schedules, statements
from tests.bombs.bomb import Bomb

BOMBS: tuple[Bomb, ...] = (
    *nests.BOMBS,
    *statements.BOMBS,
    *numbers.BOMBS,
    *expressions.BOMBS,
    *schedules.BOMBS,
)
