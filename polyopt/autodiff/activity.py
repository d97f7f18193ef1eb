"""Which arrays matter to a derivative.

In: statements, library calls, the arrays to differentiate by, those that are results.  Out: arrays.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from polyopt.autodiff.partials import active_loads, varies
from polyopt.ir.expr import Expr, Load


class Assigned(Protocol):
    """A statement `target = value`."""

    @property
    def target(self) -> Load:
        """The element that it writes."""
        ...

    @property
    def value(self) -> Expr:
        """What it writes."""
        ...


Flow = tuple[frozenset[str], frozenset[str]]
"""Arrays that a library call reads, and those that it writes."""


def active_arrays(
    statements: Sequence[Assigned],
    calls: Sequence[Flow],
    inputs: Collection[str],
    results: Collection[str],
) -> frozenset[str]:
    """Return the arrays that depend on `inputs` and that `results` depend on."""
    forward, backward = set(inputs), set(results)
    while True:
        found = {s.target.array for s in statements if varies(s.value, forward.__contains__)}
        found = found.union(*(made for given, made in calls if given & forward))
        if found <= forward:
            break
        forward |= found
    while True:
        read = {
            load.array
            for s in statements
            if s.target.array in backward
            for load in active_loads(s.value, forward.__contains__)
        }
        read = read.union(*(given for given, made in calls if made & backward))
        if read <= backward:
            return frozenset(forward & backward)
        backward |= read
