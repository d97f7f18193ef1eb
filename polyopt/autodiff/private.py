"""Temporaries that every iteration of a loop fills anew, and the loops that only these order.

In: statements with domains.  Out: for each temporary the loops to give it elements of its own in.
With these the loop's iterations are independent, on the way back too (privatization by expansion:
P. Feautrier, Array Expansion, ICS 1988).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from polyopt.autodiff.instances import Instances
from polyopt.autodiff.order import adds_only
from polyopt.ir.expr import Expr, Load
from polyopt.ir.scop import Statement

Use = tuple[int, Load]
"""A statement and an element that it uses."""


def expansions(
    statements: Sequence[Statement], depth: int, temporaries: Mapping[str, int]
) -> Mapping[str, frozenset[int]]:
    """Return the depths of loops in which temporaries need elements of their own.

    That are loops, inside of `depth` common ones, whose iterations share temporaries alone, each
    of which they fill before they read it.  `temporaries` says how many dimensions more they may
    have.
    """
    return _Expansions(statements, depth, temporaries).found()


class _Expansions:
    """The search for one part of a program."""

    def __init__(
        self, statements: Sequence[Statement], depth: int, temporaries: Mapping[str, int]
    ) -> None:
        self._statements = statements
        self._depth = depth
        self._temporaries = temporaries
        self._instances = Instances(statements)
        self._writes: dict[str, list[Use]] = {}
        self._reads: dict[str, list[Use]] = {}
        self._additions = {n for n, statement in enumerate(statements) if adds_only(statement)}
        for n, statement in enumerate(statements):
            self._writes.setdefault(statement.target.array, []).append((n, statement.target))
            for load in statement.loads:
                self._reads.setdefault(load.array, []).append((n, load))

    def found(self) -> dict[str, frozenset[int]]:
        """Return the loops of each temporary that is expanded."""
        groups: dict[tuple[Expr, ...], list[int]] = {}
        for n, statement in enumerate(self._statements):
            for depth in range(self._depth, len(statement.iters)):
                groups.setdefault(statement.order[: 2 * depth + 2], []).append(n)
        found: dict[str, frozenset[int]] = {}
        for prefix, members in groups.items():
            depth = len(prefix) // 2 - 1
            arrays = self._only_private(frozenset(members), depth)
            if all(len(found.get(array, ())) < self._temporaries[array] for array in arrays):
                found |= {array: found.get(array, frozenset()) | {depth} for array in arrays}
        return found

    def _only_private(self, members: frozenset[int], depth: int) -> tuple[str, ...]:
        """Return the temporaries that order a loop, if nothing else does."""
        written = dict.fromkeys(self._statements[n].target.array for n in sorted(members))
        if not any(array in self._temporaries for array in written):
            return ()
        ordering = [array for array in written if self._is_shared(array, members, depth)]
        if all(self._is_private(array, members, depth) for array in ordering):
            return tuple(ordering)
        return ()

    def _is_shared(self, array: str, members: frozenset[int], depth: int) -> bool:
        """Tell whether the order matters in which two iterations use one element of an array."""
        writes = [use for use in self._writes[array] if use[0] in members]
        uses = [*writes, *(use for use in self._reads.get(array, ()) if use[0] in members)]
        for one, write in writes:
            for two, other in uses:
                if self._is_addition(one, write) and self._is_addition(two, other):
                    continue
                if self._instances.is_carried((one, two), (write, other), 2 * depth + 1):
                    return True
        return False

    def _is_addition(self, n: int, use: Load) -> bool:
        return use == self._statements[n].target and n in self._additions

    def _is_private(self, array: str, members: frozenset[int], depth: int) -> bool:
        """Tell whether a temporary is used in a loop alone, and read after its iteration wrote."""
        if array not in self._temporaries:
            return False
        writes, reads = self._writes[array], self._reads.get(array, [])
        if not {n for n, _ in (*writes, *reads)} <= members:
            return False
        return all(
            self._instances.is_written_before(n, load, writes, 2 * depth + 2) for n, load in reads
        )
