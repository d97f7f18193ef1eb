"""A mutant: a fault, a program that shows it, and the layers that must report it.

In: nothing.  Out: the record, and what became of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache

from tests.mutants.case import Case, Made, make
from tests.mutants.layers import Layer
from tests.mutants.planting import Plant


@dataclass(frozen=True, eq=False)
class Mutant:
    """`number` as in the list of known bugs; `stands_for` says of what it is the analogue here.

    `seen` are layers that look for it in a way of their own: they return what is wrong.
    """

    number: int
    says: str
    plants: tuple[Plant, ...]
    layers: tuple[Layer, ...]
    case: Case | None = None
    stands_for: str = ""
    seen: tuple[tuple[Layer, Callable[[], str | None]], ...] = ()

    def __str__(self) -> str:
        return f"M{self.number}"

    @contextmanager
    def planted(self) -> Iterator[None]:
        """Have the fault in the compiler while the block runs."""
        with ExitStack() as stack:
            for plant in self.plants:
                stack.enter_context(plant.planted())
            yield


@cache
def made_of(mutant: Mutant, *, wrong: bool) -> Made:
    """Compile a mutant's case, with the fault or without."""
    assert mutant.case is not None
    if not wrong:
        return make(mutant.case, f"m{mutant.number}_right")
    with mutant.planted():
        return make(mutant.case, f"m{mutant.number}_wrong")
