"""Statements whose values nobody reads.

In: statements in textual order, the arrays that matter afterwards.  Out: statements to leave out.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from polyopt.autodiff.instances import Instances
from polyopt.ir.expr import Load, loads
from polyopt.ir.scop import Statement


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
            for read in _reads(statement)
        ]
        more = {
            n
            for n in left - found
            if not instances.is_value_read(n, [(m, read) for m, read in reads if m != n])
        }
        if not more:
            return frozenset(found)
        found |= more


def _reads(statement: Statement) -> tuple[Load, ...]:
    exprs = [statement.value, *statement.target.index]
    exprs += [] if statement.guard is None else [statement.guard]
    return tuple(dict.fromkeys(load for e in exprs for load in loads(e)))
