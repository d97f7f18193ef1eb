"""The judge: does a schedule tree keep every dependence, and is every parallel mark sound?

In: a tree and the Scop's memory-based dependences.  Out: the first violation, as a set of instance
pairs with the place in the tree, or None.  Walks the tree once: pairs a loop has ordered are done,
pairs it reverses are violations, pairs it leaves equal go on to the next level.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, unique

import islpy as isl
from typing_extensions import assert_never

from polyopt.ir.loops import LoopKind
from polyopt.ir.scop import Scop
from polyopt.schedule.dependences import Dependences
from polyopt.schedule.tree import Band, BandMember, Filter, Leaf, Sequence, Tree


@unique
class Fault(Enum):
    """What a violation does to its pairs."""

    REVERSED = "reversed"  # the later instance would run first
    UNORDERED = "unordered"  # nothing orders the two instances any more
    CONCURRENT = "concurrent"  # the two instances would run at the same time
    LOST = "lost"  # an instance would not run at all, or twice


@dataclass(frozen=True, eq=False)
class Violation:
    """Dependent instance pairs that a schedule breaks; `loop` names the loop where it happens."""

    fault: Fault
    pairs: isl.UnionMap
    loop: str


@dataclass(frozen=True, eq=False)
class _Pending:
    """Pairs no level above has ordered: those whose order counts, and all that may not coincide."""

    ordering: isl.UnionMap
    every: isl.UnionMap

    def map(self, ordering: isl.UnionMap, every: isl.UnionMap) -> _Pending:
        return _Pending(ordering, every)

    @property
    def is_empty(self) -> bool:
        return bool(self.ordering.is_empty() and self.every.is_empty())


def check_legal(scop: Scop, dependences: Dependences, tree: Tree) -> Violation | None:
    """Return a violation of `tree`, or None: then it runs every instance once, in a legal order."""
    pending = _Pending(dependences.ordering, dependences.all)
    return _covers(scop.domain, tree) or _check(tree, pending)


def _covers(domain: isl.UnionSet, tree: Tree) -> Violation | None:
    """Check that the filters of every sequence split their instances: none lost, none twice."""
    match tree:
        case Leaf():
            return None
        case Band():
            return _covers(domain, tree.child)
        case Filter():
            return _covers(domain.intersect(tree.domain), tree.child)
        case Sequence():
            rest = domain
            for part in tree.parts:
                own = domain.intersect(part.domain)
                if not own.subtract(rest).is_empty():
                    return Violation(Fault.LOST, own.subtract(rest).identity(), "")
                rest = rest.subtract(own)
                found = _covers(own, part.child)
                if found is not None:
                    return found
            if not rest.is_empty():
                return Violation(Fault.LOST, rest.identity(), "")
            return None
        case _:
            assert_never(tree)


def _check(tree: Tree, pending: _Pending) -> Violation | None:
    match tree:
        case Leaf():
            if pending.every.is_empty():
                return None
            return Violation(Fault.UNORDERED, pending.every, "")
        case Filter():
            return _check(tree.child, pending)
        case Sequence():
            return _check_sequence(tree, pending)
        case Band():
            rest = pending
            for member in tree.members:
                found = _check_member(member, rest)
                if found is not None:
                    return found
                rest = _equal(member, rest)
            return _check(tree.child, rest)
        case _:
            assert_never(tree)


def _check_member(member: BandMember, pending: _Pending) -> Violation | None:
    function = multi(member)
    backwards = pending.ordering.lex_gt_at_multi_union_pw_aff(function)
    if not backwards.is_empty():
        return Violation(Fault.REVERSED, backwards, member.name)
    match member.kind:
        case LoopKind.SEQUENTIAL | LoopKind.UNROLL:
            return None
        case LoopKind.PARALLEL:
            together = pending.every
        case LoopKind.VECTOR:
            together = pending.ordering
        case _:
            assert_never(member.kind)
    carried = together.subtract(together.eq_at_multi_union_pw_aff(function))
    if carried.is_empty():
        return None
    return Violation(Fault.CONCURRENT, carried, member.name)


def _equal(member: BandMember, pending: _Pending) -> _Pending:
    function = multi(member)
    return _Pending(
        pending.ordering.eq_at_multi_union_pw_aff(function),
        pending.every.eq_at_multi_union_pw_aff(function),
    )


def multi(member: BandMember) -> isl.MultiUnionPwAff:
    """Return a loop's value as a one-dimensional function, the form isl's `…_at` queries take."""
    return isl.MultiUnionPwAff.from_union_pw_aff(member.schedule)


def _check_sequence(tree: Sequence, pending: _Pending) -> Violation | None:
    earlier: isl.UnionSet | None = None
    for part in tree.parts:
        if earlier is not None:
            backwards = pending.ordering.intersect_domain(part.domain).intersect_range(earlier)
            if not backwards.is_empty():
                return Violation(Fault.REVERSED, backwards, "")
        earlier = part.domain if earlier is None else earlier.union(part.domain)
    for part in tree.parts:
        inside = _Pending(
            pending.ordering.intersect_domain(part.domain).intersect_range(part.domain),
            pending.every.intersect_domain(part.domain).intersect_range(part.domain),
        )
        found = None if inside.is_empty else _check(part.child, inside)
        if found is not None:
            return found
    return None


def carried_pairs(dependences: Dependences, tree: Tree, label: str, position: int) -> isl.UnionMap:
    """Return the dependent pairs that loop `label[position]` separates while those above agree."""
    below = dependences.all
    found = _descend(tree, below, label, position)
    return found if found is not None else below.empty(below.get_space())


def _descend(tree: Tree, pairs: isl.UnionMap, label: str, position: int) -> isl.UnionMap | None:
    match tree:
        case Leaf():
            return None
        case Filter():
            inside = pairs.intersect_domain(tree.domain).intersect_range(tree.domain)
            return _descend(tree.child, inside, label, position)
        case Sequence():
            for part in tree.parts:
                found = _descend(part, pairs, label, position)
                if found is not None:
                    return found
            return None
        case Band():
            for number, member in enumerate(tree.members):
                equal = pairs.eq_at_multi_union_pw_aff(multi(member))
                if tree.label == label and number == position:
                    return pairs.subtract(equal)
                pairs = equal
            return _descend(tree.child, pairs, label, position)
        case _:
            assert_never(tree)


def mark_facts(dependences: Dependences, tree: Tree) -> Tree:
    """Return `tree` with `coincident` and `permutable` of every band computed from dependences."""
    return _mark(tree, dependences.ordering, dependences.all)


def _mark(tree: Tree, ordering: isl.UnionMap, every: isl.UnionMap) -> Tree:
    match tree:
        case Leaf():
            return tree
        case Filter():
            own = tree.domain
            return Filter(
                own,
                _mark(
                    tree.child,
                    ordering.intersect_domain(own).intersect_range(own),
                    every.intersect_domain(own).intersect_range(own),
                ),
            )
        case Sequence():
            parts = tuple(_mark(part, ordering, every) for part in tree.parts)
            return Sequence(tuple(part for part in parts if isinstance(part, Filter)))
        case Band():
            return _mark_band(tree, ordering, every)
        case _:
            assert_never(tree)


def _mark_band(band: Band, ordering: isl.UnionMap, every: isl.UnionMap) -> Band:
    at_entry = ordering
    permutable = True
    members = []
    for member in band.members:
        function = multi(member)
        permutable = permutable and bool(at_entry.lex_gt_at_multi_union_pw_aff(function).is_empty())
        equal = every.eq_at_multi_union_pw_aff(function)
        coincident = bool(every.subtract(equal).is_empty())
        members.append(BandMember(member.schedule, member.name, coincident, member.kind))
        every = equal
        ordering = ordering.eq_at_multi_union_pw_aff(function)
    child = _mark(band.child, ordering, every)
    return Band(band.label, tuple(members), child, permutable)
