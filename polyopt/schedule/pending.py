"""The dependent pairs that the loops above a place in a tree leave equal.

In: the pairs of a Scop, then the functions of loops from outside in.  Out: the pairs that a loop
reverses, separates, leaves equal; exact.  What a tile loop leaves equal is worked out only where it
matters: most often the pairs before it show already that nothing inside is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, TypeVar

import islpy as isl

from polyopt.schedule.dependences import Dependences
from polyopt.schedule.monotone import Part
from polyopt.schedule.tree import BandMember

_Answer = TypeVar("_Answer")


@dataclass(frozen=True, eq=False)
class Pending:
    """Pairs whose order counts, and those of reductions: in any order, but not together.

    Of both only those count on which all `tiles` are equal.  `grown` are functions that are smaller
    at the second instance of no pair of `ordering`, `even` floors on which all pairs are equal.
    """

    ordering: isl.UnionMap
    free: isl.UnionMap
    tiles: tuple[isl.MultiUnionPwAff, ...] = ()
    grown: tuple[Part, ...] = ()
    even: tuple[Part, ...] = ()
    dependences: Dependences | None = None

    @property
    def joins(self) -> isl.UnionMap:
        """Pairs of `ordering` that join partial results of a reduction whose order is open."""
        if self.dependences is None:
            return self.ordering.empty(self.ordering.get_space())
        return self.dependences.joins

    @cached_property
    def exchanges(self) -> isl.UnionMap:
        """Pairs of `free` that no lanes may have partial results of, those that are left."""
        if self.dependences is None or self.free.is_empty():
            return self.free.empty(self.free.get_space())
        return self.free.intersect(self.dependences.exchanges)

    @cached_property
    def settled(self) -> Pending:
        """The same pairs, without tiles."""
        ordering, free = self.ordering, self.free
        for function in self.tiles:
            ordering = ordering.eq_at_multi_union_pw_aff(function)
            free = free.eq_at_multi_union_pw_aff(function)
        return replace(self, ordering=ordering, free=free, tiles=())

    @property
    def is_empty(self) -> bool:
        """Whether no pair is left, tiles aside."""
        return bool(self.ordering.is_empty() and self.free.is_empty())

    @property
    def every(self) -> isl.UnionMap:
        """All pairs that are left."""
        return self.settled.ordering.union(self.settled.free)

    @cached_property
    def memory(self) -> dict[tuple[object, ...], tuple[object, Any]]:
        """Answers by question and the identity of what was asked about, which is kept alive.

        One tree after the other is judged, and most have the same loops above what was changed.
        """
        return {}

    def _once(self, question: object, about: object, answer: Callable[[], _Answer]) -> _Answer:
        key = (question, id(about))
        if key not in self.memory:
            self.memory[key] = (about, answer())
        found: _Answer = self.memory[key][1]
        return found

    def within(self, domain: isl.UnionSet) -> Pending:
        """Return the pairs inside `domain`."""
        return self._once("within", domain, lambda: self._within(domain))

    def _within(self, domain: isl.UnionSet) -> Pending:
        ordering = self.ordering.intersect_domain(domain).intersect_range(domain)
        free = self.free.intersect_domain(domain).intersect_range(domain)
        return replace(self, ordering=ordering, free=free)

    def knowing(self, grown: tuple[Part, ...]) -> Pending:
        """Return the same pairs with `grown` known of them."""
        if grown is self.grown:
            return self
        return self._once("knowing", grown, lambda: replace(self, grown=grown))

    def backwards(self, loop: BandMember) -> tuple[isl.UnionMap, Pending]:
        """Return the pairs of `ordering` that a loop reverses, and all with what was learnt."""
        return self._once("backwards", loop.schedule, lambda: self._backwards(loop))

    def _backwards(self, loop: BandMember) -> tuple[isl.UnionMap, Pending]:
        if self.is_empty:
            return self.ordering, self
        parts = loop.parts
        if parts is not None:
            fresh = [part for part in parts if not _is_among(part, self.grown)]
            if not any(_decreases(part, self.ordering) for part in fresh):
                known = replace(self, grown=(*self.grown, *fresh))
                return self.ordering.empty(self.ordering.get_space()), known
        if self.tiles:
            return self.settled.backwards(loop)
        return self.ordering.lex_gt_at_multi_union_pw_aff(loop.function), self

    def equal(self, loop: BandMember) -> Pending:
        """Return the pairs on which `loop` is equal."""
        return self._once("equal", loop.schedule, lambda: self._equal(loop))

    def _equal(self, loop: BandMember) -> Pending:
        parts = loop.parts
        if parts is None or not loop.is_tile:
            ordering = self.ordering.eq_at_multi_union_pw_aff(loop.function)
            free = self.free.eq_at_multi_union_pw_aff(loop.function)
            return replace(self, ordering=ordering, free=free)
        even = self.even
        if self.free.is_empty() and all(_is_among(part, self.grown) for part in parts):
            even += parts
        return replace(self, tiles=(*self.tiles, loop.function), even=even)

    def separated(self, loop: BandMember, free: bool = True) -> isl.UnionMap:
        """Return the pairs on which a loop that reverses none differs, free ones if asked for."""
        if free and not self.separates(loop):
            return self.ordering.empty(self.ordering.get_space())
        return self._once(free, loop.schedule, lambda: self._separated(loop, free))

    def separates(self, loop: BandMember) -> bool:
        """Tell whether any pair, free ones too, differs on a loop that reverses none."""
        return self._once("separates", loop.schedule, lambda: self._separates(loop))

    def _separates(self, loop: BandMember) -> bool:
        if self._is_even(loop) or not _is_differing(self, loop.function):
            return False
        return not self.tiles or _is_differing(self.settled, loop.function)

    def in_lanes(self, loop: BandMember) -> isl.UnionMap:
        """Return the pairs that lanes of a loop would be in conflict over."""
        found = self.separated(loop, free=False)
        exchanges = self.exchanges
        if exchanges.is_empty():
            return found
        exchanges = self.settled.exchanges
        differing = exchanges.subtract(exchanges.eq_at_multi_union_pw_aff(loop.function))
        return found.union(differing)

    def _separated(self, loop: BandMember, free: bool) -> isl.UnionMap:
        if self._is_even(loop):
            return self.ordering.empty(self.ordering.get_space())
        found = _differing(self, loop.function, free)
        if found.is_empty() or not self.tiles:
            return found
        return _differing(self.settled, loop.function, free)

    def _is_even(self, loop: BandMember) -> bool:
        """Tell whether it is known that all pairs are equal on a loop."""
        parts = loop.parts if self.even else None
        return parts is not None and all(
            any(part.size == known.size and known.holds(part) for known in self.even)
            for part in parts
        )


@lru_cache(maxsize=2)
def pending_of(dependences: Dependences) -> Pending:
    """Return all pairs of a Scop."""
    return Pending(dependences.ordering, dependences.free, dependences=dependences)


def _is_among(part: Part, known: tuple[Part, ...]) -> bool:
    return any(other.holds(part) for other in known)


def _decreases(part: Part, pairs: isl.UnionMap) -> bool:
    """Tell whether the inside of `part` is smaller at the second instance of some pair."""
    return not pairs.lex_gt_at_multi_union_pw_aff(part.function).is_empty()


def _differing(pending: Pending, function: isl.MultiUnionPwAff, free: bool) -> isl.UnionMap:
    found = pending.ordering.lex_lt_at_multi_union_pw_aff(function)
    if not free or pending.free.is_empty():
        return found
    found = found.union(pending.free.lex_lt_at_multi_union_pw_aff(function))
    return found.union(pending.free.lex_gt_at_multi_union_pw_aff(function))


def _is_differing(pending: Pending, function: isl.MultiUnionPwAff) -> bool:
    """Tell whether `_differing` finds any pair, free ones too; the first one decides."""
    return (
        not pending.ordering.lex_lt_at_multi_union_pw_aff(function).is_empty()
        or not pending.free.lex_lt_at_multi_union_pw_aff(function).is_empty()
        or not pending.free.lex_gt_at_multi_union_pw_aff(function).is_empty()
    )
