"""Which arrays matter to a derivative.

In: statements, library calls, the arrays to differentiate by, those that are results.  Out: arrays.
Statements whose values nobody reads are left out.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from polyopt.autodiff.instances import Instances
from polyopt.autodiff.partials import active_loads, varies
from polyopt.ir.expr import Expr, Load
from polyopt.ir.scop import Statement


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


def unread(
    statements: Sequence[Statement], kept: Collection[str], candidates: Collection[int]
) -> frozenset[int]:
    """Return those of `candidates` whose values no other statement reads, nor what follows them.

    Arrays in `kept` are read afterwards.  What only such statements read is left out, too.
    """
    instances = Instances(statements)
    left = {n for n in candidates if statements[n].target.array not in kept}
    found: set[int] = set()
    while True:
        reads = [
            (reader, read)
            for reader, statement in enumerate(statements)
            if reader not in found
            for read in statement.loads
        ]
        more = {
            n
            for n in left - found
            if not instances.is_value_read(n, [(m, read) for m, read in reads if m != n])
        }
        if not more:
            return frozenset(found)
        found |= more
