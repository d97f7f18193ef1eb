"""Sums into adjoints that are the first ones after the adjoint was zero: these can define it.

In: the statements of the way forward, what each reads, the loops that run the other way on the way
back.  Out: reads whose sums define.
An element's adjoint is zero before the way back of its last read, from there to the write that
replaces its value; between two such writes the last read of a value is the first sum (value-based
dependences: P. Feautrier, Dataflow Analysis of Array and Scalar References, 1991).  Loops that are
not turned keep their direction, and each sum has such loops of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import islpy as isl

from polyopt.autodiff.instances import Instances
from polyopt.dataclass import dataclass
from polyopt.ir.expr import Load

Read = tuple[int, Load]
"""A statement and an element that it reads."""


def definers(
    instances: Instances,
    arrays: Collection[str],
    reads: Sequence[Read],
    kills: Sequence[int],
    turned: Mapping[int, frozenset[int]],
) -> frozenset[Read]:
    """Return the reads whose sums are the first ones of their values, in every instance.

    `reads` are all those of `arrays` that carry derivatives; `kills` are the statements that write
    elements without regard to what was there.  `turned` are the depths of loops of each statement
    that run the other way on the way back.
    """
    found: set[Read] = set()
    for array in sorted(arrays):
        own = tuple((n, load) for n, load in reads if load.array == array)
        killing = tuple(
            (n, instances.statements[n].target)
            for n in kills
            if instances.statements[n].target.array == array
        )
        if killing:
            search = _Search(instances, own, killing, turned)
            found |= {read for read in own if search.is_first(read)}
    return frozenset(found)


@dataclass(frozen=True, eq=False)
class _Search:
    """The reads of one array, and the writes that replace its elements."""

    instances: Instances
    reads: tuple[Read, ...]
    kills: tuple[Read, ...]
    turned: Mapping[int, frozenset[int]]

    def is_first(self, read: Read) -> bool:
        """Tell whether no other sum of the same value comes before that of a read."""
        number, load = read
        statement = self.instances.statements[number]
        if statement.guard is not None or not self.instances.is_exact(number, load):
            return False
        for other in self.reads:
            is_beside = other[0] == number and other[1] != load
            if is_beside and self.instances.may_be_same(number, load, other[1]):
                return False
            if not self._same_value(read, other).is_empty():
                return False
            before = self._same_value(other, read)
            if not before.is_empty() and not self._is_later(before, other, read):
                return False
        return True

    def _same_value(self, one: Read, two: Read) -> isl.Map:
        """Return instances of `one` with later ones of `two` that read the same value."""
        found = self.instances.later(*one, *two)
        for kill in self.kills:
            if found.is_empty():
                break
            before, after = self.instances.later(*one, *kill), self.instances.later(*kill, *two)
            found = found.subtract(before.apply_range(after))
        return found

    def _is_later(self, pairs: isl.Map, early: Read, late: Read) -> bool:
        """Tell whether on the way back the sums of `early` follow those of `late` in all pairs."""
        one, two = early[0], late[0]
        turned = self.turned[two]
        shared = max((depth + 1 for depth in turned), default=0)
        for depth in range(shared):
            if depth not in turned:
                around = self.instances.same(one, two, 2 * depth + 1)
                inside = self.instances.same(one, two, 2 * depth + 2)
                if not pairs.intersect(around).subtract(inside).is_empty():
                    return False
        if one < two:
            return True
        return bool(pairs.intersect(self.instances.same(one, two, 2 * shared)).is_empty())
