"""Questions about the instances of statements: who writes an element after it was read.

In: statements with domains and an order.  Out: answers that hold for all sizes in the domains.
A subscript that is not affine stands for the whole dimension, so answers err towards conflicts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import islpy as isl

from polyopt.ir.affine import covering_map
from polyopt.ir.expr import Expr, Load
from polyopt.ir.scop import Statement

_OUT = isl.dim_type.out


class Instances:
    """The statements of one part, in textual order, and the order of their instances."""

    def __init__(self, statements: Sequence[Statement]) -> None:
        self.statements = tuple(statements)
        self._length = max((len(s.order) for s in statements), default=1)
        self._relations: dict[tuple[int, Load], isl.Map] = {}
        self._conflicts: dict[tuple[int, Load, int, Load], isl.Map] = {}

    def overwriting(self, reader: int, read: Load, after: bool = False) -> frozenset[int]:
        """Return the statements that are the first to write elements after `reader` read them.

        `after`: an element is read just after that instance wrote; or else before it does.
        """
        pairs: dict[int, isl.Map] = {}
        for writer, statement in enumerate(self.statements):
            if statement.target.array == read.array:
                or_same = reader == writer and not after
                found = self.later(reader, read, writer, statement.target, or_same)
                if not found.is_empty():
                    pairs[writer] = found
        return frozenset(writer for writer in pairs if not self._earlier(pairs, writer).is_empty())

    def later(
        self, one: int, first: Load, two: int, second: Load, or_same: bool = False
    ) -> isl.Map:
        """Return instances of `one`, with later ones of `two` that use the same element.

        `or_same`: an instance is paired with itself too.
        """
        early, late = self._time(one), self._time(two)
        order = early.lex_le_map(late) if or_same else early.lex_lt_map(late)
        return self._conflict(one, first, two, second).intersect(order)

    def _earlier(self, pairs: Mapping[int, isl.Map], writer: int) -> isl.Map:
        """Return the pairs of a reader and `writer` without those with another write between."""
        found = pairs[writer]
        target = self.statements[writer].target
        if not self.is_exact(writer, target):
            return found
        for other, before in pairs.items():
            statement = self.statements[other]
            if statement.guard is not None or not self.is_exact(other, statement.target):
                continue
            again = self.later(other, statement.target, writer, target)
            found = found.subtract(before.apply_range(again))
        return found

    def is_exact(self, number: int, load: Load) -> bool:
        """Tell whether an element is known for certain in every instance of a statement."""
        return covering_map(self.statements[number].domain, load.array, load.index)[1]

    def is_value_read(self, writer: int, reads: Sequence[tuple[int, Load]]) -> bool:
        """Tell whether any of `reads` may read a value that statement `writer` wrote."""
        write = self.statements[writer].target
        own = [(reader, read) for reader, read in reads if read.array == write.array]
        between = [
            (other, statement.target)
            for other, statement in enumerate(self.statements)
            if statement.target.array == write.array
            and statement.guard is None
            and self.is_exact(other, statement.target)
        ]
        for reader, read in own:
            found = self.later(writer, write, reader, read)
            for other, target in between if self.is_exact(writer, write) else ():
                if found.is_empty():
                    break
                before = self.later(writer, write, other, target)
                found = found.subtract(before.apply_range(self.later(other, target, reader, read)))
            if not found.is_empty():
                return True
        return False

    def is_used_before(self, user: int, use: Load, writer: int) -> bool:
        """Tell whether an element is used by `user` in an instance before `writer` writes it."""
        write = self.statements[writer].target
        if write.array != use.array:
            return False
        return not self.later(user, use, writer, write).is_empty()

    def is_written_before(
        self, reader: int, read: Load, writes: Sequence[tuple[int, Load]], length: int
    ) -> bool:
        """Tell whether every instance reads what one of `writes` wrote for certain before.

        The times of both agree in the first `length` places.
        """
        left = self.statements[reader].domain
        for writer, target in writes:
            statement = self.statements[writer]
            if statement.guard is None and self.is_exact(writer, target):
                before = self.later(writer, target, reader, read)
                left = left.subtract(before.intersect(self.same(writer, reader, length)).range())
        return left.is_empty()

    def may_be_same(self, number: int, one: Load, two: Load) -> bool:
        """Tell whether an instance of a statement may use one element as both."""
        if one.array != two.array:
            return False
        both = self._relation(number, one).intersect(self._relation(number, two))
        return not both.is_empty()

    def is_carried(self, pair: tuple[int, int], loads: tuple[Load, Load], position: int) -> bool:
        """Tell whether two iterations of a loop use one element.

        The loop's time is at `position` of the order; those around it are in the same iteration.
        """
        one, two = pair
        if loads[0].array != loads[1].array:
            return False
        conflict = self._conflict(one, loads[0], two, loads[1])
        around, inside = (self.same(one, two, length) for length in (position, position + 1))
        return not conflict.intersect(around).subtract(inside).is_empty()

    def defines(self, number: int, load: Load, elements: isl.Set | None) -> bool:
        """Tell whether the instances of a statement use all `elements`, each one once."""
        statement = self.statements[number]
        if elements is None or statement.guard is not None:
            return False
        relation, is_exact = covering_map(statement.domain, load.array, load.index)
        if not is_exact or not relation.is_injective():
            return False
        return bool(elements.is_subset(relation.range()))

    def is_within(self, number: int, load: Load, elements: isl.Set | None) -> bool:
        """Tell whether every instance of a statement finds an element among `elements`."""
        if elements is None:
            return False
        return bool(self._relation(number, load).range().is_subset(elements))

    def is_apart(self, number: int, index: tuple[Expr, ...]) -> bool:
        """Tell whether subscripts are those of another element in every instance."""
        statement = self.statements[number]
        relation, is_exact = covering_map(statement.domain, "?", index)
        return is_exact and bool(relation.is_injective())

    def _relation(self, number: int, load: Load) -> isl.Map:
        key = (number, load)
        if key not in self._relations:
            domain = self.statements[number].domain
            self._relations[key] = covering_map(domain, load.array, load.index)[0]
        return self._relations[key]

    def _conflict(self, one: int, first: Load, two: int, second: Load) -> isl.Map:
        key = (one, first, two, second)
        if key not in self._conflicts:
            left, right = self._relation(one, first), self._relation(two, second)
            self._conflicts[key] = left.apply_range(right.reverse())
        return self._conflicts[key]

    def _time(self, number: int) -> isl.Map:
        return self.statements[number].time(self._length)

    def same(self, one: int, two: int, length: int) -> isl.Map:
        """Return the pairs of instances whose times agree in the first `length` places."""
        drop = self._length - length
        left, right = (self._time(number).project_out(_OUT, length, drop) for number in (one, two))
        return left.apply_range(right.reverse())
