"""All mutants, in the order of their numbers.

In: nothing.  Out: `MUTANTS`, and what each layer says of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.mutants import (
    of_calls,
    of_loops,
    of_random,
    of_reading,
    of_schedules,
    of_storage,
    of_text,
)
from tests.mutants.layers import LOOK, Layer
from tests.mutants.mutant import Mutant, made_of
from tests.mutants.running import run_all

_FILES = (of_schedules, of_loops, of_storage, of_text, of_random, of_calls, of_reading)
MUTANTS: tuple[Mutant, ...] = tuple(
    sorted((m for part in _FILES for m in part.MUTANTS), key=lambda m: m.number)
)


def say(mutant: Mutant, layer: Layer, *, wrong: bool) -> str | None:
    """Return what a layer reports of a mutant, or of the compiler without it."""
    own = dict(mutant.seen)
    if layer in own:
        if not wrong:
            return own[layer]()
        with mutant.planted():
            return own[layer]()
    made = made_of(mutant, wrong=wrong)
    if not wrong:
        return LOOK[layer](made)
    with mutant.planted():
        return LOOK[layer](made)


def run(mutants: Sequence[Mutant], directory: Path) -> list[tuple[str | None, str | None]]:
    """Return what running says of each mutant's case: with the fault, and without."""
    made = [made_of(m, wrong=wrong) for m in mutants for wrong in (True, False)]
    found = run_all(made, directory)
    return list(zip(found[::2], found[1::2], strict=True))
