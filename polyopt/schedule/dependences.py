"""Exact dependences between statement instances, per kind, array and statement pair.

In: a Scop.  Out: `Dependences`: unions of maps source instance -> target instance.
Two formulations live here on purpose.  `direct_flow` keeps the last writer only (Feautrier,
"Dataflow analysis of array and scalar references", 1991, by isl) and feeds the scheduler; `memory`
keeps every ordered pair that touches one element and feeds the legality check.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import Enum, unique
from functools import cached_property
from typing import Any

import islpy as isl

from polyopt.dataclass import dataclass, field, replace
from polyopt.ir.affine import coalesced
from polyopt.ir.budget import checkpoint, exceeds_limit
from polyopt.ir.parameters import joined, maps_of, sets_of
from polyopt.ir.scop import Access, AccessKind, Role, Scop, Statement
from polyopt.schedule.commutative_updates import is_join, is_reduction


@unique
class DependenceKind(Enum):
    """How the two instances access the common element, the earlier one first."""

    FLOW = "flow"  # write, then read
    ANTI = "anti"  # read, then write
    OUTPUT = "output"  # write, then write


MOST_FACES = 18
"""Constraints of a relation that the scheduler takes as it is; a box of four loops has 16."""


@dataclass(frozen=True, eq=False)
class Dependence:
    """All ordered instance pairs of two statements that access one array in one way.

    `relation` is source instance -> target instance.  `reduction`: both update the element by one
    reassociable reduction, or by exactly commutative operations, so their order may change but they
    may not run together.  `exact` is False for a may-dependence.
    """

    kind: DependenceKind
    array: str
    source: str
    target: str
    relation: isl.Map
    reduction: bool
    exact: bool


@dataclass(frozen=True, eq=False)
class Dependences:
    """The dependences of a Scop: `given`, or those of any two statements on demand.

    `known` memoizes results about groups of them, for Scops that share them.
    """

    scop: Scop
    given: tuple[Dependence, ...] | None = None
    known: dict[tuple[object, ...], Any] = field(default_factory=dict)

    @cached_property
    def memory(self) -> tuple[Dependence, ...]:
        """All of them, memory-based."""
        if self.given is not None:
            return self.given
        return tuple(self.among({statement.name for statement in self.scop.statements}))

    def among(self, names: Collection[str]) -> Iterator[Dependence]:
        """Yield the memory-based dependences of statements called `names`."""
        return (found for pair in self.pairs(names) for found in self.between(*pair))

    def touching(self, pairs: isl.UnionMap) -> Iterator[Dependence]:
        """Yield the dependences of the statements in `pairs`."""
        return self.among(names_in(pairs, pairs.reverse()))

    def pairs(
        self, names: Collection[str], of: frozenset[str] | None = None
    ) -> Iterator[tuple[str, str]]:
        """Yield the pairs of statements called `names` that may have dependences, in order.

        `of`: only pairs with one of these statements.
        """
        if self.given is None:
            yield from self._conflicts.pairs(names, of)
            return
        for source, target in self._given:
            if source in names and target in names and (of is None or source in of or target in of):
                yield source, target

    def between(self, source: str, target: str) -> tuple[Dependence, ...]:
        """Return the dependences of two statements, `source` the earlier one."""
        if self.given is not None:
            return self._given.get((source, target), ())
        return self._conflicts.between(source, target)

    @cached_property
    def asked(self) -> dict[tuple[object, ...], Any]:
        """The memoized dependences of pairs of statements."""
        return {}

    @cached_property
    def _given(self) -> dict[tuple[str, str], tuple[Dependence, ...]]:
        found: dict[tuple[str, str], list[Dependence]] = {}
        for one in self.given or ():
            found.setdefault((one.source, one.target), []).append(one)
        return {pair: tuple(members) for pair, members in found.items()}

    @cached_property
    def _conflicts(self) -> _Conflicts:
        arrays = frozenset(a.name for a in self.scop.arrays)
        return _Conflicts(self.scop, self.scop.statements, arrays - unordered(self.scop))

    def of_kind(self, kind: DependenceKind) -> isl.UnionMap:
        """Return the union of the memory-based dependences of one kind."""
        return self.union(d for d in self.memory if d.kind is kind)

    @cached_property
    def flow(self) -> isl.UnionMap:
        """write -> later read."""
        return self.of_kind(DependenceKind.FLOW)

    @cached_property
    def anti(self) -> isl.UnionMap:
        """read -> later write."""
        return self.of_kind(DependenceKind.ANTI)

    @cached_property
    def output(self) -> isl.UnionMap:
        """write -> later write."""
        return self.of_kind(DependenceKind.OUTPUT)

    @cached_property
    def ordering(self) -> isl.UnionMap:
        """Every pair whose order must be kept: all but reductions."""
        return self.union(d for d in self.memory if not d.reduction)

    @cached_property
    def free(self) -> isl.UnionMap:
        """Pairs of one reduction: in any order, but not at the same time."""
        return self.union(d for d in self.memory if d.reduction)

    def is_partial(self, one: Dependence) -> bool:
        """Tell whether lanes may have partial results of the element that a free pair updates."""
        return one.source == one.target and self.scop.statement(one.source).is_reassociable

    def is_join(self, one: Dependence) -> bool:
        """Tell whether a pair joins partial results of a split reduction."""
        return not one.reduction and is_join(self.scop, one)

    def is_own(self, one: Dependence) -> bool:
        """Tell whether both are updates by one statement of its target."""
        return (
            one.source == one.target and one.array == self.scop.statement(one.source).target.array
        )

    @cached_property
    def all(self) -> isl.UnionMap:
        """Every pair that must not run at the same time."""
        return self.union(self.memory)

    def union(self, parts: Iterable[Dependence]) -> isl.UnionMap:
        """Return the pairs of some of the dependences."""
        empty = isl.UnionMap.empty(self.scop.context.get_space())
        return joined(empty, (isl.UnionMap.from_map(part.relation) for part in parts))

    @cached_property
    def direct_flow(self) -> isl.UnionMap:
        """last write -> read, by isl's flow analysis; may-writes do not hide earlier ones."""
        reads = _accesses(self.scop, (AccessKind.READ,))
        musts = _accesses(self.scop, (AccessKind.MUST_WRITE,))
        mays = _accesses(self.scop, (AccessKind.MAY_WRITE,))
        return _flow(self.scop, reads, musts, mays)

    @cached_property
    def scheduling(self) -> isl.UnionMap:
        """A small set of pairs whose transitive closure holds every ordering dependence.

        One simple relation per access, since the scheduler's work grows with the number of faces of
        each, and the hull of a stencil's reads has many.  Where the pairs of reads and all later
        writes have many, the next write after a read represents them.
        """
        relaxed = {d.array for d in self.memory if d.reduction}
        ordered = [d for d in self.memory if not d.reduction]
        antis = [d for d in ordered if d.kind is DependenceKind.ANTI and d.array not in relaxed]
        costly = {(d.source, d.array) for d in antis if _faces(d.relation) > MOST_FACES}
        result = self.union(d for d in ordered if d.array in relaxed)
        result = result.union(self.union(d for d in antis if (d.source, d.array) not in costly))
        free = relaxed | unordered(self.scop)
        written = dict.fromkeys(statement.write.array for statement in self.scop.statements)
        writes = {name: _writes(self.scop, name) for name in written if name not in free}
        for statement in self.scop.statements:
            for read in statement.reads:
                if read.array not in writes:
                    continue
                musts, mays = writes[read.array]
                one = isl.UnionMap.from_map(read.relation)
                result = result.union(_flow(self.scop, one, musts, mays))
                if (statement.name, read.array) in costly:
                    result = result.union(_next_writes(self.scop, one, musts, mays))
        for musts, mays in writes.values():
            result = result.union(_flow(self.scop, musts.union(mays), musts, mays))
        return result


def dependences_of(scop: Scop) -> Dependences:
    """Return `compute_dependences`, computed once for each Scop."""
    found = scop.known.get(Dependences)
    if not isinstance(found, Dependences):
        found = scop.known[Dependences] = compute_dependences(scop)
    return found


def compute_dependences(scop: Scop) -> Dependences:
    """Return every ordered pair of instances that access one element, at least one writing."""
    return Dependences(scop)


def ordered_pairs(
    scop: Scop, statements: Sequence[Statement], arrays: frozenset[str]
) -> Iterator[Dependence]:
    """Yield the dependences of some of the statements on some of the arrays."""
    conflicts = _Conflicts(scop, statements, arrays - unordered(scop))
    for source, target in conflicts.pairs(conflicts.statements):
        yield from conflicts.between(source, target)


class _Conflicts:
    """The dependences of some statements on some arrays, computed once for each two statements.

    Only statements that access a common array are compared.
    """

    def __init__(self, scop: Scop, statements: Sequence[Statement], arrays: frozenset[str]) -> None:
        self.statements = {s.name: s for s in statements}
        self._scop = scop
        self._arrays = arrays
        self._length = max((len(s.order) for s in scop.statements), default=1)
        self._places = {name: number for number, name in enumerate(self.statements)}
        self._writers: dict[str, list[str]] = {}
        self._touching: dict[str, list[str]] = {}
        for statement in statements:
            self._writers.setdefault(statement.write.array, []).append(statement.name)
            for array in statement.arrays:
                self._touching.setdefault(array, []).append(statement.name)
        self._partners: dict[str, dict[str, None]] = {}
        self._known: dict[tuple[str, str], tuple[Dependence, ...]] = {}
        self._times: dict[str, isl.Map] = {}

    def pairs(
        self, names: Collection[str], of: frozenset[str] | None = None
    ) -> Iterator[tuple[str, str]]:
        """Yield the pairs of statements that access one of the arrays, one of them writing.

        `of`: only pairs with one of these statements.
        """
        chosen = sorted(filter(self._places.__contains__, names), key=self._places.__getitem__)
        few = chosen if of is None else [name for name in chosen if name in of]
        among, among_few = frozenset(chosen), frozenset(few)
        for source in chosen:
            partners = self._partners_of(source)
            of_all = of is None or source in of
            targets, wanted = (chosen, among) if of_all else (few, among_few)
            if len(partners) <= len(targets):
                yield from ((source, target) for target in partners if target in wanted)
            else:
                yield from ((source, target) for target in targets if target in partners)

    def _partners_of(self, name: str) -> dict[str, None]:
        """Return, in order, the statements in conflict with one: one of the two writes."""
        if name not in self._partners:
            one = self.statements[name]
            found: set[str] = set()
            for array in one.arrays & self._arrays:
                among = self._touching if array == one.write.array else self._writers
                found.update(among.get(array, ()))
            self._partners[name] = dict.fromkeys(sorted(found, key=self._places.__getitem__))
        return self._partners[name]

    def between(self, source: str, target: str) -> tuple[Dependence, ...]:
        """Return the dependences of two statements, `source` the earlier one."""
        if (source, target) not in self._known:
            checkpoint()
            one, two = self.statements[source], self.statements[target]
            if self._scop.sizes.is_many:
                found = self._at_own_sizes(one, two)
            else:
                before = self._time(one).lex_lt_map(self._time(two))
                found = [] if before.is_empty() else _between(one, two, before)
            kept = tuple(pair for pair in found if pair.array in self._arrays)
            self._known[source, target] = kept
        return self._known[source, target]

    def _at_own_sizes(self, one: Statement, two: Statement) -> list[Dependence]:
        """Return the dependences, computed without the sizes that neither statement depends on."""
        part = self._scop.part((one,) if one is two else (one, two))
        first, second = part.statements[0], part.statements[-1]
        times = (s.time(self._length).intersect_params(part.context) for s in (first, second))
        before = next(times).lex_lt_map(next(times))
        found = [] if before.is_empty() else _between(first, second, before)
        space = self._scop.context.get_space()
        return [replace(d, relation=isl.Map.align_params(d.relation, space)) for d in found]

    def _time(self, statement: Statement) -> isl.Map:
        """Return instance -> time at valid sizes."""
        if statement.name not in self._times:
            time = statement.time(self._length).intersect_params(self._scop.context)
            self._times[statement.name] = time
        return self._times[statement.name]


def unordered(scop: Scop) -> frozenset[str]:
    """Return the arrays whose writes all store the same value and that nothing reads."""
    return frozenset(array.name for array in scop.arrays if array.role is Role.FAULT)


def _between(source: Statement, target: Statement, before: isl.Map) -> list[Dependence]:
    kinds = (
        (DependenceKind.FLOW, (source.write,), target.reads),
        (DependenceKind.ANTI, source.reads, (target.write,)),
        (DependenceKind.OUTPUT, (source.write,), (target.write,)),
    )
    found = []
    for kind, firsts, seconds in kinds:
        for array in dict.fromkeys(access.array for access in firsts):
            pairs = [(a, b) for a in firsts for b in seconds if a.array == array == b.array]
            merged: dict[bool, list[tuple[Access, Access]]] = {}
            for a, b in pairs:
                merged.setdefault(is_reduction(source, target, a, b), []).append((a, b))
            for reduction, group in merged.items():
                relation = before.empty(before.get_space())
                for a, b in group:
                    relation = relation.union(a.relation.apply_range(b.relation.reverse()))
                relation = coalesced(relation.intersect(before))
                if not relation.is_empty():
                    exact = all(a.exact and b.exact for a, b in group)
                    found.append(
                        Dependence(
                            kind, array, source.name, target.name, relation, reduction, exact
                        )
                    )
    return found


def last_writers(scop: Scop, array: str) -> isl.UnionMap:
    """Return last write -> read for one array; may-writes do not hide earlier ones."""
    found = scop.known.get((last_writers, array))
    if not isinstance(found, isl.UnionMap):
        found = scop.known[last_writers, array] = _last_writers(scop, array)
    return found


def _last_writers(scop: Scop, array: str) -> isl.UnionMap:
    others = {a.name for a in scop.arrays if a.name != array}
    reads = _accesses(scop, (AccessKind.READ,), without=others)
    return _flow(scop, reads, *_writes(scop, array))


def _writes(scop: Scop, array: str) -> tuple[isl.UnionMap, isl.UnionMap]:
    """Return the must-writes and the may-writes of one array."""
    others = {a.name for a in scop.arrays if a.name != array}
    musts = _accesses(scop, (AccessKind.MUST_WRITE,), without=others)
    return musts, _accesses(scop, (AccessKind.MAY_WRITE,), without=others)


def exposed_reads(scop: Scop, array: str) -> isl.UnionSet:
    """Return the instances that may read an initial value of `array` (upward-exposed reads)."""
    others = {a.name for a in scop.arrays if a.name != array}
    musts = _accesses(scop, (AccessKind.MUST_WRITE,), without=others)
    exposed = isl.UnionSet.empty(scop.context.get_space())
    for statement in scop.statements:
        for read in statement.reads:
            if read.array == array:
                one = isl.UnionMap.from_map(read.relation.intersect_params(scop.context))
                flow = _flow(scop, one, musts, one.empty(one.get_space()))
                exposed = exposed.union(one.domain().subtract(flow.range()))
    return exposed


def _accesses(
    scop: Scop, kinds: tuple[AccessKind, ...], without: set[str] | None = None
) -> isl.UnionMap:
    result = isl.UnionMap.empty(scop.context.get_space())
    left_out = unordered(scop) | (without or set())
    for statement in scop.statements:
        for access in (statement.write, *statement.reads):
            if access.kind in kinds and access.array not in left_out:
                inside = access.relation.intersect_params(scop.context)
                result = result.union(isl.UnionMap.from_map(inside))
    return result


def _flow(scop: Scop, sink: isl.UnionMap, must: isl.UnionMap, may: isl.UnionMap) -> isl.UnionMap:
    order = scop.order_of(names_in(sink, must, may))
    found = _nearest(order, sink, must, may)
    return _unhidden(scop, sink, must, may) if found is None else found


def _next_writes(
    scop: Scop, read: isl.UnionMap, must: isl.UnionMap, may: isl.UnionMap
) -> isl.UnionMap:
    """Return read -> next write; may-writes do not hide later ones.

    These are the last writes before the read when time is reversed.
    """
    order = scop.order_of(names_in(read, must, may))
    found = _nearest(_backwards(order), read, must, may)
    if found is None:
        return in_order(scop, read.apply_range(must.union(may).reverse()))
    return found.reverse()


def _nearest(
    order: isl.UnionMap, sink: isl.UnionMap, must: isl.UnionMap, may: isl.UnionMap
) -> isl.UnionMap | None:
    """Return source -> sink without pairs with a must-source in between; None if isl fails."""
    checkpoint()
    info = isl.UnionAccessInfo.from_sink(sink)
    info = info.set_must_source(must).set_may_source(may).set_schedule_map(order)
    try:
        return info.compute_flow().get_may_dependence()
    except isl.Error as error:
        if exceeds_limit(error):
            raise
        return None


def _faces(relation: isl.Map) -> int:
    """Return the largest number of constraints of a convex part."""
    return max((part.n_constraint() for part in relation.get_basic_maps()), default=0)


def _backwards(order: isl.UnionMap) -> isl.UnionMap:
    """Return the reversed order."""
    times = isl.UnionMap.empty(order.get_space())
    for space in {s.get_space() for s in sets_of(order.range())}:
        negative = isl.MultiAff.identity(space.map_from_set()).neg()
        times = times.union(isl.UnionMap.from_map(isl.Map.from_multi_aff(negative)))
    return order.apply_range(times)


def _unhidden(
    scop: Scop, sink: isl.UnionMap, must: isl.UnionMap, may: isl.UnionMap
) -> isl.UnionMap:
    """Return source -> sink without pairs with a must-write in between.

    Computed without isl's `compute_flow`, which fails on some loops with steps.
    """
    sources = must.union(may)
    pairs = in_order(scop, sources.apply_range(sink.reverse()))
    hidden = in_order(scop, sources.apply_range(must.reverse()))
    return pairs.subtract(hidden.apply_range(in_order(scop, must.apply_range(sink.reverse()))))


def in_order(scop: Scop, pairs: isl.UnionMap) -> isl.UnionMap:
    """Return the pairs whose first instance runs before the second."""
    first = scop.order_of(names_in(pairs))
    second = scop.order_of(names_in(pairs.reverse()))
    return pairs.intersect(first.lex_lt_union_map(second))


def names_in(*relations: isl.UnionMap) -> frozenset[str]:
    """Return the names of the statements in the domains of relations."""
    parts = (one for relation in relations for one in maps_of(relation))
    return frozenset(one.get_tuple_name(isl.dim_type.in_) for one in parts)
