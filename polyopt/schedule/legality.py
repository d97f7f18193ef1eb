"""Check that a schedule tree keeps every dependence, and that its parallel marks are sound.

In: a tree and the Scop's memory-based dependences.  Out: the first violation, as a set of instance
pairs with the place in the tree, or None.  Walks the tree once: pairs a loop has ordered are done,
pairs it reverses are violations, pairs it leaves equal go on to the next level.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import Enum, unique

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.ir.loops import LoopKind
from polyopt.ir.scop import Scop
from polyopt.never import assert_never
from polyopt.schedule.dependences import Dependences
from polyopt.schedule.remaining_dependences import (
    DependentPairs,
    PairOrder,
    RemainingDependences,
    remaining_dependences,
    union,
)
from polyopt.schedule.tree import (
    Band,
    BandMember,
    Filter,
    Leaf,
    Sequence,
    Tree,
    children,
    tuple_names,
)


@unique
class Fault(Enum):
    """The effect of a violation on its pairs."""

    REVERSED = "reversed"  # the later instance would run first
    UNORDERED = "unordered"  # nothing orders the two instances any more
    CONCURRENT = "concurrent"  # the two instances would run at the same time
    LOST = "lost"  # an instance would not run at all, or twice


@dataclass(frozen=True, eq=False)
class Violation:
    """Dependent instance pairs that a schedule breaks, in loop `loop`.

    `level` is the position of that loop, or sequence, in the time vectors of the tree.  The pairs
    of a LOST violation are single instances, each with itself.
    """

    fault: Fault
    pairs: isl.UnionMap
    loop: str
    level: int = 0


def check_legal(
    scop: Scop, dependences: Dependences, tree: Tree, proven: Tree | None = None
) -> Violation | None:
    """Return a violation of `tree`, or None: then it runs every instance once, in a legal order.

    `proven` is a legal tree of the same Scop.  The verdict on a subtree depends on the subtree and
    the loops and filters above it; where all of these are the same objects as in `proven`, it is
    reused.
    """
    remaining = remaining_dependences(dependences)
    return _covers(scop.domain, tree, proven) or _check(tree, remaining, proven, 0)


def unaffected(tree: Tree, changed: Collection[str]) -> Tree:
    """Return the parts of a legal tree that stay proven when dependences of `changed` statements
    change.

    These are the parts of sequences, outside of loops, without any of the statements.
    """
    match tree:
        case Filter():
            return Filter(tree.domain, unaffected(tree.child, changed))
        case Sequence():
            names = frozenset(changed)
            return Sequence(tuple(p for p in tree.parts if names.isdisjoint(tuple_names(p.domain))))
        case Band() | Leaf():
            return Leaf()
        case _:
            assert_never(tree)


def _covers(domain: isl.UnionSet, tree: Tree, proven: Tree | None) -> Violation | None:
    """Check that the filters of every sequence partition their instances."""
    if tree is proven:
        return None
    match tree:
        case Leaf():
            return None
        case Band():
            below = proven.child if isinstance(proven, Band) else None
            return _covers(domain, tree.child, below)
        case Filter():
            return _covers(domain.intersect(tree.domain), tree.child, _inside(tree, proven))
        case Sequence():
            return _splits(domain, tree, proven)
        case _:
            assert_never(tree)


def _splits(domain: isl.UnionSet, tree: Sequence, proven: Tree | None) -> Violation | None:
    known = _same_filters(tree, proven)
    rest = domain
    for part in tree.parts:
        own = domain.intersect(part.domain)
        if not known:
            if not own.subtract(rest).is_empty():
                return Violation(Fault.LOST, own.subtract(rest).identity(), "")
            rest = rest.subtract(own)
        found = _covers(own, part.child, _inside(part, proven))
        if found is not None:
            return found
    if not known and not rest.is_empty():
        return Violation(Fault.LOST, rest.identity(), "")
    return None


def _same_filters(tree: Sequence, proven: Tree | None) -> bool:
    """Tell whether `proven` is a sequence of the same parts in the same order."""
    return (
        isinstance(proven, Sequence)
        and len(tree.parts) == len(proven.parts)
        and all(a.domain is b.domain for a, b in zip(tree.parts, proven.parts, strict=True))
    )


def _same_loops(tree: Band, proven: Tree | None) -> Band | None:
    """Return `proven` if it is a band of the same loops, of any kind."""
    if not isinstance(proven, Band) or len(tree.members) != len(proven.members):
        return None
    pairs = zip(tree.members, proven.members, strict=True)
    return proven if all(a.schedule is b.schedule for a, b in pairs) else None


def _inside(part: Filter, proven: Tree | None) -> Tree | None:
    """Return the part of `proven`, a filter or a sequence of them, for the instances of `part`."""
    if isinstance(proven, Sequence):
        same = proven.by_domain.get(id(part.domain))
    else:
        same = proven if isinstance(proven, Filter) and proven.domain is part.domain else None
    return None if same is None else same.child


def _check(
    tree: Tree, remaining: RemainingDependences, proven: Tree | None, level: int
) -> Violation | None:
    if tree is proven:
        return None
    if not remaining.is_small:
        return _violation(tree, remaining, proven, level)
    key = (check_legal, tree, remaining.groups)
    if key in remaining.known:
        return None
    found = _violation(tree, remaining, proven, level)
    if found is None:
        remaining.known[key] = True
    return found


def _violation(
    tree: Tree, remaining: RemainingDependences, proven: Tree | None, level: int
) -> Violation | None:
    match tree:
        case Leaf():
            left = remaining.left
            return None if left is None else Violation(Fault.UNORDERED, left, "", level)
        case Filter():
            return _check(tree.child, remaining, _inside(tree, proven), level)
        case Sequence():
            return _check_sequence(tree, remaining, proven, level)
        case Band():
            return _check_band(tree, remaining, _same_loops(tree, proven), level)
        case _:
            assert_never(tree)


def _check_band(
    band: Band, remaining: RemainingDependences, proven: Band | None, level: int
) -> Violation | None:
    for position, member in enumerate(band.members):
        if proven is None or proven.members[position].kind is not member.kind:
            found, remaining = _check_member(member, remaining, level + position)
            if found is not None:
                return found
        else:
            remaining = remaining.learnt(member).equal(member)
    below = None if proven is None else proven.child
    return _check(band.child, remaining, below, level + len(band.members))


def _check_member(
    member: BandMember, remaining: RemainingDependences, level: int
) -> tuple[Violation | None, RemainingDependences]:
    """Return a violation by a loop, if any, and the pairs that it leaves equal."""
    backwards = remaining.backwards(member)
    if backwards is not None:
        return Violation(Fault.REVERSED, backwards, member.name, level), remaining
    remaining = remaining.learnt(member)
    match member.kind:
        case (
            LoopKind.SEQUENTIAL
            | LoopKind.UNROLL
            | LoopKind.MATRIX
            | LoopKind.SCAN
            | LoopKind.LIBRARY
        ):
            return None, remaining.equal(member)
        case LoopKind.EXTREMUM:
            raise AssertionError("a pass marks such loops, not a schedule")
        case LoopKind.PARALLEL:
            carried = remaining.separated(member)
        case LoopKind.BLOCK | LoopKind.THREAD:
            carried = remaining.separated(member, lambda p: p.own and p.source in member.atomic)
        case LoopKind.VECTOR:
            carried = remaining.separated(member, lambda p: p.order is PairOrder.REDUCTION)
        case LoopKind.LANE:
            carried = remaining.separated(
                member, lambda p: p.order in (PairOrder.REDUCTION, PairOrder.JOIN)
            )
        case _:
            assert_never(member.kind)
    if carried is not None:
        return Violation(Fault.CONCURRENT, carried, member.name, level), remaining
    if member.kind not in (LoopKind.VECTOR, LoopKind.LANE) and not member.atomic:
        return None, remaining  # it leaves all of them equal
    return None, remaining.equal(member)


def _check_sequence(
    tree: Sequence, remaining: RemainingDependences, proven: Tree | None, level: int
) -> Violation | None:
    if not _same_filters(tree, proven):
        backwards = _across(tree, remaining, proven)
        if backwards is not None:
            return Violation(Fault.REVERSED, backwards, "", level)
    for part in tree.parts:
        before = _inside(part, proven)
        if part.child is before:
            continue
        inside = remaining.within(part)
        found = None if inside.is_empty else _check(part.child, inside, before, level + 1)
        if found is not None:
            return found
    return None


def _across(
    tree: Sequence, remaining: RemainingDependences, proven: Tree | None
) -> isl.UnionMap | None:
    """Return pairs whose first instance is in a later part of the sequence.

    Two parts in the same order as in `proven` have none.
    """
    before: dict[int, int] = {}
    if isinstance(proven, Sequence):
        before = {id(part.domain): number for number, part in enumerate(proven.parts)}
    places: dict[str, list[tuple[int, Filter]]] = {}
    for number, part in enumerate(tree.parts):
        for name in part.pieces:
            places.setdefault(name, []).append((number, part))

    def reverses(first: tuple[int, Filter], second: tuple[int, Filter]) -> bool:
        if first[0] <= second[0]:
            return False
        one, other = (before.get(id(part.domain)) for _, part in (first, second))
        return one is None or other is None or one <= other

    def reversed_pairs(pairs: DependentPairs) -> isl.UnionMap | None:
        firsts, seconds = places.get(pairs.source, []), places.get(pairs.target, [])
        crossed = [(a[1], b[1]) for a in firsts for b in seconds if reverses(a, b)]
        for relation in (pairs.relation, pairs.settled.relation) if crossed else ():
            found = union(
                relation.intersect_domain(a.domain).intersect_range(b.domain) for a, b in crossed
            )
            if found is None or found.is_empty():
                return None
        return found if crossed else None

    moved = _reordered_statements(tree, before)
    return union(
        reversed_pairs(pairs) for pairs in remaining.touching(moved) if not pairs.order.is_free
    )


def _reordered_statements(tree: Sequence, before: Mapping[int, int]) -> frozenset[str]:
    """Return the statements of new parts, or of all parts if old ones changed places."""
    old = [part for part in tree.parts if id(part.domain) in before]
    order = [before[id(part.domain)] for part in old]
    kept = set(map(id, old)) if order == sorted(order) else set()
    return frozenset(name for part in tree.parts if id(part) not in kept for name in part.pieces)


def carried_pairs(dependences: Dependences, tree: Tree, label: str, position: int) -> isl.UnionMap:
    """Return the dependent pairs that loop `label[position]` carries."""
    below = dependences.union(dependences.among(_names_below(tree, dependences.scop, label)))
    reached = pairs_reaching(below, tree, label)
    band = tree.by_label.get(label)
    if band is None:
        return reached
    *outer, loop = band.members[: position + 1]
    for member in outer:
        reached = reached.eq_at_multi_union_pw_aff(member.function)
    return reached.subtract(reached.eq_at_multi_union_pw_aff(loop.function))


def _names_below(tree: Tree, scop: Scop, label: str) -> frozenset[str]:
    """Return the statements below the band called `label`."""
    names = frozenset(statement.name for statement in scop.statements)
    while not (isinstance(tree, Band) and tree.label == label):
        if isinstance(tree, Filter):
            names = frozenset(tuple_names(tree.domain))
        inside = (child for child in children(tree) if label in child.by_label)
        below = next(inside, None)
        if below is None:
            return frozenset()
        tree = below
    return names


def pairs_reaching(pairs: isl.UnionMap, tree: Tree, label: str) -> isl.UnionMap:
    """Return those of `pairs` that no loop or sequence above band `label` separates."""
    found = _reach(tree, pairs, label)
    return found if found is not None else pairs.empty(pairs.get_space())


def _reach(tree: Tree, pairs: isl.UnionMap, label: str) -> isl.UnionMap | None:
    match tree:
        case Leaf():
            return None
        case Filter():
            inside = pairs.intersect_domain(tree.domain).intersect_range(tree.domain)
            return _reach(tree.child, inside, label)
        case Sequence():
            parts = (part for part in tree.parts if label in part.by_label)
            return next((_reach(part, pairs, label) for part in parts), None)
        case Band():
            if tree.label == label:
                return pairs
            for member in tree.members:
                pairs = pairs.eq_at_multi_union_pw_aff(member.function)
            return _reach(tree.child, pairs, label)
        case _:
            assert_never(tree)


def mark_facts(dependences: Dependences, tree: Tree, marked: Tree | None = None) -> Tree:
    """Return a legal `tree` with `coincident` and `permutable` of every band computed.

    `marked` is a tree that has them; subtrees shared with it are not computed again.
    """
    return _mark(tree, remaining_dependences(dependences), marked)


def _mark(tree: Tree, remaining: RemainingDependences, marked: Tree | None) -> Tree:
    if tree is marked:
        return tree
    if not remaining.is_small:
        return _marks(tree, remaining, marked)
    key = (mark_facts, tree, remaining.groups)
    if key not in remaining.known:
        found = _marks(tree, remaining, marked)
        remaining.known[key] = remaining.known[mark_facts, found, remaining.groups] = found
    known: Tree = remaining.known[key]
    return known


def _marks(tree: Tree, remaining: RemainingDependences, marked: Tree | None) -> Tree:
    match tree:
        case Leaf():
            return tree
        case Filter():
            return _mark_filter(tree, remaining, marked)
        case Sequence():
            return Sequence(tuple(_mark_filter(part, remaining, marked) for part in tree.parts))
        case Band():
            same = _same_loops(tree, marked)
            if same is None:
                return _mark_band(tree, remaining)
            return _mark_below(tree, remaining, same)
        case _:
            assert_never(tree)


def _mark_filter(part: Filter, remaining: RemainingDependences, marked: Tree | None) -> Filter:
    before = _inside(part, marked)
    if part.child is before:
        return part
    return Filter(part.domain, _mark(part.child, remaining.within(part), before))


def _mark_below(band: Band, remaining: RemainingDependences, same: Band) -> Band:
    """Return `band` with the properties of a band of the same loops, and its subtree marked."""
    members = tuple(
        replace(member, coincident=known.coincident)
        for member, known in zip(band.members, same.members, strict=True)
    )
    child = band.child
    if child is not same.child:
        for member in members:
            remaining = remaining.learnt(member).equal(member)
        child = _mark(child, remaining, same.child)
    return Band(band.label, members, child, same.permutable)


def _mark_band(band: Band, remaining: RemainingDependences) -> Band:
    entry = remaining
    permutable = True
    members = []
    for position, member in enumerate(band.members):
        if permutable:
            # the first loop of a legal tree reverses none of the pairs that those around leave
            permutable = position == 0 or not entry.reverses(member)
            entry = entry.learnt(member)
        remaining = remaining.learnt(member)
        coincident = not remaining.separates(member)
        members.append(replace(member, coincident=coincident))
        remaining = remaining if coincident else remaining.equal(member)
    return Band(band.label, tuple(members), _mark(band.child, remaining, None), permutable)
