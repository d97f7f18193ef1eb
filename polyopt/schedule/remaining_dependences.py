"""Track the dependent pairs that remain unordered by the loops above a place in a tree.

In: the pairs of a Scop, then the functions of loops from outside in.  Out: the pairs that a loop
reverses, separates, leaves equal; exact.  The pairs that a tile loop leaves equal are computed only
on demand: mostly a superset shows already that nothing inside is wrong.

Each two statements are treated apart, and each answer is memoized with what it depends on: their
two functions of the loop, or their parts of a filter.  When one tree after another is checked, most
pairs of statements meet the same loops and filters again.
Whether iterations of a loop access disjoint elements.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from enum import Enum, unique
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any, TypeAlias, TypeVar

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.ir.parameters import joined
from polyopt.ir.scop import Role, Scop, Statement
from polyopt.schedule.dependences import Dependence, Dependences
from polyopt.schedule.monotone import FloorTerm, floor_terms
from polyopt.schedule.tree import BandMember, Filter

_Answer = TypeVar("_Answer")
_Piece = Any  # a function or a set of isl's, None where there is none

FEW = 24
"""Pairs of statements, for each of these, that are all looked at, whatever is asked."""


@unique
class PairOrder(Enum):
    """The order required of pairs."""

    ORDERED = "ordered"  # the first one first
    JOIN = "join"  # ordered, joins of partial results: warps may exchange these
    REDUCTION = "reduction"  # in any order, not together; lanes may have partial results
    EXCHANGE = "exchange"  # in any order, not together, not in lanes either

    @property
    def is_free(self) -> bool:
        """Whether the pairs may run in any order."""
        return self in (PairOrder.REDUCTION, PairOrder.EXCHANGE)


@dataclass(frozen=True, eq=False)
class DependentPairs:
    """Dependent pairs of instances of two statements, those on which `tiles` are equal.

    `own`: both are updates by one statement of its target.  `grown` are functions that decrease on
    no pair of `relation`, if these are ordered; `even` floors on which all pairs are equal.
    """

    source: str
    target: str
    order: PairOrder
    own: bool
    relation: isl.UnionMap
    tiles: tuple[isl.MultiUnionPwAff, ...] = ()
    grown: tuple[FloorTerm, ...] = ()
    even: tuple[FloorTerm, ...] = ()

    @cached_property
    def is_empty(self) -> bool:
        """Whether no pair is left, regardless of tiles."""
        return bool(self.relation.is_empty())

    @cached_property
    def settled(self) -> DependentPairs:
        """The same pairs, with tiles applied."""
        relation = self.relation
        for function in self.tiles:
            relation = relation.eq_at_multi_union_pw_aff(function)
        return replace(self, relation=relation, tiles=()) if self.tiles else self

    @cached_property
    def memory(self) -> dict[str, list[tuple[_Piece, _Piece, Any]]]:
        """Memoized answers by question, with the pieces they depend on."""
        return {}

    def _once(
        self, question: str, about: BandMember | Filter, answer: Callable[[], _Answer]
    ) -> _Answer:
        first, second = about.pieces.get(self.source), about.pieces.get(self.target)
        known = self.memory.setdefault(question, [])
        for one, two, found in known:
            if _is_same(one, first) and _is_same(two, second):
                kept: _Answer = found
                return kept
        fresh = answer()
        known.append((first, second, fresh))
        return fresh

    def within(self, part: Filter) -> DependentPairs | None:
        """Return the pairs inside the instances of `part`; None if there are none."""
        return self._once("within", part, lambda: self._within(part))

    def _within(self, part: Filter) -> DependentPairs | None:
        inside = self.relation.intersect_domain(part.domain).intersect_range(part.domain)
        return self._with(inside)

    def _with(self, relation: isl.UnionMap) -> DependentPairs | None:
        """Return the pairs restricted to `relation`; the same object if none is lost."""
        if relation.is_empty():
            return None
        if self.relation.is_subset(relation):
            return self
        return replace(self, relation=relation)

    def _parts(self, loop: BandMember) -> tuple[FloorTerm, ...] | None:
        """Return the floor terms of the loop for the two statements."""
        names = dict.fromkeys((self.source, self.target))
        return floor_terms([loop.pieces[name] for name in names])

    def backwards(self, loop: BandMember) -> tuple[isl.UnionMap | None, DependentPairs]:
        """Return the pairs that a loop reverses (or None), and all pairs with the learnt facts."""
        if self.order.is_free:
            return None, self
        return self._once("backwards", loop, lambda: self._backwards(loop))

    def _backwards(self, loop: BandMember) -> tuple[isl.UnionMap | None, DependentPairs]:
        parts = self._parts(loop)
        if parts is not None:
            fresh = [part for part in parts if not _is_among(part, self.grown)]
            if not any(_decreases(part, self.relation) for part in fresh):
                return None, replace(self, grown=(*self.grown, *fresh)) if fresh else self
        if self.tiles:
            return self.settled.backwards(loop)
        found = self.relation.lex_gt_at_multi_union_pw_aff(loop.function)
        return None if found.is_empty() else found, self

    def equal(self, loop: BandMember) -> DependentPairs | None:
        """Return the pairs on which `loop` is equal; None if none of them is."""
        return self._once("equal", loop, lambda: self._equal(loop))

    def _equal(self, loop: BandMember) -> DependentPairs | None:
        parts = self._parts(loop)
        if parts is None or not any(part.size for part in parts):
            return self._with(self.relation.eq_at_multi_union_pw_aff(loop.function))
        even = self.even
        if not self.order.is_free and all(_is_among(part, self.grown) for part in parts):
            even += parts
        return replace(self, tiles=(*self.tiles, loop.function), even=even)

    def separated(self, loop: BandMember) -> isl.UnionMap | None:
        """Return the pairs that a loop separates, None for none; it must reverse none."""
        return self._once("separated", loop, lambda: self._separated(loop))

    def _separated(self, loop: BandMember) -> isl.UnionMap | None:
        if self._is_even(loop):
            return None
        found = self._differing(loop)
        if found is None or not self.tiles:
            return found
        return self.settled._differing(loop)

    def _differing(self, loop: BandMember) -> isl.UnionMap | None:
        found = self.relation.lex_lt_at_multi_union_pw_aff(loop.function)
        if self.order.is_free:
            found = found.union(self.relation.lex_gt_at_multi_union_pw_aff(loop.function))
        return None if found.is_empty() else found

    def _is_even(self, loop: BandMember) -> bool:
        """Tell whether all pairs are known to be equal on a loop."""
        parts = self._parts(loop) if self.even else None
        return parts is not None and all(
            any(part.size == known.size and known.holds(part) for known in self.even)
            for part in parts
        )


Step: TypeAlias = Callable[[DependentPairs], "DependentPairs | None"]


@dataclass(frozen=True, eq=False)
class RemainingDependences:
    """The pairs of each two statements that remain.

    These are the pairs of statements called `names` that the `steps` leave, computed on demand.
    `outer` are the functions of loops around on which all of them are equal.  `known` memoizes
    answers about trees for the same pairs.
    """

    dependences: Dependences
    names: frozenset[str]
    steps: tuple[Step, ...] = ()
    outer: tuple[BandMember, ...] = ()
    before: RemainingDependences | None = None

    @property
    def known(self) -> dict[tuple[object, ...], Any]:
        """Memoized answers about trees."""
        return self.dependences.known

    @cached_property
    def groups(self) -> tuple[DependentPairs, ...]:
        """The remaining pairs of each two statements."""
        return tuple(self._found())

    @cached_property
    def is_small(self) -> bool:
        """Whether there are few enough pairs to look at all of them."""
        if len(self.names) <= FEW or (self.before is not None and self.before.is_small):
            return True
        most = FEW * len(self.names)
        return sum(1 for _ in islice(self.dependences.pairs(self.names), most + 1)) <= most

    def _found(self) -> Iterator[DependentPairs]:
        if self.before is not None and "groups" in vars(self.before):
            return _through(self.before.groups, self.names, self.steps[-1:])
        return _through(self._all(), self.names, self.steps)

    def _all(self, of: frozenset[str] | None = None) -> Iterator[DependentPairs]:
        asked = self.dependences.asked
        for pair in self.dependences.pairs(self.names, of):
            key = (remaining_dependences, *pair)
            if key not in asked:
                asked[key] = tuple(_pairs_of(self.dependences, *pair))
            yield from asked[key]

    def __iter__(self) -> Iterator[DependentPairs]:
        return iter(self.groups if self.is_small else self._found())

    def touching(self, names: frozenset[str]) -> Iterator[DependentPairs]:
        """Yield the pairs with an instance of a statement of `names`."""
        if self.is_small:
            yield from (p for p in self.groups if p.source in names or p.target in names)
        else:
            yield from _through(self._all(names), self.names, self.steps)

    def _after(self, step: Step, loop: BandMember | None = None) -> RemainingDependences:
        outer = self.outer if loop is None else (*self.outer, loop)
        return RemainingDependences(self.dependences, self.names, (*self.steps, step), outer, self)

    @property
    def is_empty(self) -> bool:
        """Whether no pair is left, regardless of tiles."""
        return all(pairs.is_empty for pairs in self)

    @property
    def left(self) -> isl.UnionMap | None:
        """All remaining pairs, None for none."""
        return union(pairs.settled.relation for pairs in self if not pairs.settled.is_empty)

    @cached_property
    def memory(self) -> dict[tuple[str, int], tuple[object, Any]]:
        """Memoized answers by question and identity of objects, which are kept alive."""
        return {}

    def _once(self, question: str, about: object, answer: Callable[[], _Answer]) -> _Answer:
        key = (question, id(about))
        if key not in self.memory:
            self.memory[key] = (about, answer())
        found: _Answer = self.memory[key][1]
        return found

    def within(self, part: Filter) -> RemainingDependences:
        """Return the pairs inside the instances of `part`."""
        return self._once("within", part.domain, lambda: self._within(part))

    def _within(self, part: Filter) -> RemainingDependences:
        names = self.names.intersection(part.pieces)
        steps = (*self.steps, lambda pairs: pairs.within(part))
        return RemainingDependences(self.dependences, names, steps, self.outer, self)

    def backwards(self, loop: BandMember) -> isl.UnionMap | None:
        """Return the pairs that a loop reverses, None for none."""
        if self.is_local(loop):
            return None
        return self._once(
            "backwards", loop.schedule, lambda: union(p.backwards(loop)[0] for p in self)
        )

    def reverses(self, loop: BandMember) -> bool:
        """Tell whether a loop reverses any pair."""
        if self.is_small or self.is_local(loop):
            return self.backwards(loop) is not None
        return any(pairs.backwards(loop)[0] is not None for pairs in self)

    def learnt(self, loop: BandMember) -> RemainingDependences:
        """Return all pairs, with the facts learnt about a loop that reverses none."""
        return self._once(
            "learnt", loop.schedule, lambda: self._after(lambda pairs: pairs.backwards(loop)[1])
        )

    def equal(self, loop: BandMember) -> RemainingDependences:
        """Return the pairs on which `loop` is equal."""
        return self._once(
            "equal", loop.schedule, lambda: self._after(lambda pairs: pairs.equal(loop), loop)
        )

    def separates(self, loop: BandMember) -> bool:
        """Tell whether a loop that reverses none separates any pair, including free ones."""
        if self.is_local(loop):
            return False
        return any(pairs.separated(loop) is not None for pairs in self)

    def is_local(self, loop: BandMember) -> bool:
        """Tell whether a loop separates no pair, from the elements that its iterations access."""
        return not self.is_small and self._once(
            "local",
            loop.schedule,
            lambda: has_disjoint_iterations(self.dependences.scop, self.names, self.outer, loop),
        )

    def separated(
        self, loop: BandMember, but: Callable[[DependentPairs], bool] = lambda _: False
    ) -> isl.UnionMap | None:
        """Return the pairs that a loop which reverses none separates, including free ones."""
        if self.is_local(loop):
            return None
        return union(pairs.separated(loop) for pairs in self if not but(pairs))


def _through(
    found: Iterable[DependentPairs], names: frozenset[str], steps: tuple[Step, ...]
) -> Iterator[DependentPairs]:
    """Yield the pairs of some statements that the steps leave."""
    for pairs in found:
        left: DependentPairs | None = pairs
        if pairs.source not in names or pairs.target not in names:
            continue
        for step in steps:
            left = None if left is None else step(left)
        if left is not None:
            yield left


def union(found: Iterable[isl.UnionMap | None]) -> isl.UnionMap | None:
    """Return all pairs that were found, None for none."""
    parts = [one for one in found if one is not None]
    return joined(parts[0], parts) if parts else None


@lru_cache(maxsize=2)
def remaining_dependences(dependences: Dependences) -> RemainingDependences:
    """Return all pairs of a Scop; answers memoized for pairs of another Scop are reused."""
    return RemainingDependences(dependences, frozenset(s.name for s in dependences.scop.statements))


def _pairs_of(dependences: Dependences, source: str, target: str) -> Iterator[DependentPairs]:
    """Yield the pairs of two statements by their required order."""
    groups: dict[tuple[str, str, PairOrder, bool], list[Dependence]] = {}
    for one in dependences.between(source, target):
        own = dependences.is_own(one)
        groups.setdefault((source, target, _pair_order(dependences, one), own), []).append(one)
    known = dependences.known
    for key, members in groups.items():
        name = (remaining_dependences, *key, *members)
        if name not in known:
            known[name] = DependentPairs(*key, dependences.union(members))
        found: DependentPairs = known[name]
        yield found


def _pair_order(dependences: Dependences, one: Dependence) -> PairOrder:
    if not one.reduction:
        return PairOrder.JOIN if dependences.is_join(one) else PairOrder.ORDERED
    return PairOrder.REDUCTION if dependences.is_partial(one) else PairOrder.EXCHANGE


def _is_same(one: _Piece, other: _Piece) -> bool:
    if one is None or other is None:
        return one is other
    return one is other or bool(one.plain_is_equal(other))


def _is_among(part: FloorTerm, known: tuple[FloorTerm, ...]) -> bool:
    return any(other.holds(part) for other in known)


def _decreases(part: FloorTerm, pairs: isl.UnionMap) -> bool:
    """Tell whether the argument of a floor term decreases on some pair."""
    return not pairs.lex_gt_at_multi_union_pw_aff(part.function).is_empty()


MOST = 32
"""Different relations of an array's elements and iterations; of more, nothing is said."""


def has_disjoint_iterations(
    scop: Scop, names: Collection[str], outer: Sequence[BandMember], loop: BandMember
) -> bool:
    """Tell whether no element written by statements `names` is accessed in two iterations.

    Compares iterations that agree on the `outer` loops.  False may mean unknown.
    """
    statements = [s for s in scop.statements if s.name in names]
    faults = {array.name for array in scop.arrays if array.role is Role.FAULT}
    written = {s.write.array for s in statements} - faults
    if any(s.name not in member.pieces for s in statements for member in (*outer, loop)):
        return False
    iterations: dict[str, list[isl.Map]] = {array: [] for array in sorted(written)}
    for statement in statements:
        for access in (statement.write, *statement.reads):
            found = iterations.get(access.array)
            if found is None:
                continue
            one = _iterations(scop, statement, access.relation, outer, loop)
            if not any(one.plain_is_equal(other) for other in found):
                found.append(one)
            if len(found) > MOST:
                return False
    return all(_is_function(found) for found in iterations.values())


def _iterations(
    scop: Scop,
    statement: Statement,
    touched: isl.Map,
    outer: Sequence[BandMember],
    loop: BandMember,
) -> isl.Map:
    """Return element and iterators of outer loops -> iterator of `loop`, for an access."""
    place = touched.intersect_params(scop.context)
    for member in outer:
        place = place.flat_range_product(isl.Map.from_pw_aff(member.pieces[statement.name]))
    return place.reverse().apply_range(isl.Map.from_pw_aff(loop.pieces[statement.name]))


def _is_function(relations: list[isl.Map]) -> bool:
    whole = relations[0]
    for one in relations[1:]:
        whole = whole.union(one)
    return bool(whole.is_single_valued())
