"""Compare the dataflow of a program and its rewriting.

In: two Scops in the order in which they run; the instance of the old one that each instance of the
new one stands for.  Out: None when every read, and every array at the end, gets the value of the
same instance as before, through all copies; else one read that does not (Feautrier, "Dataflow
analysis of array and scalar references", 1991).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.errors import BudgetError
from polyopt.ir.affine import index_box, index_map
from polyopt.ir.budget import exceeds_limit
from polyopt.ir.expr import Expr, Iter, Load, rewrite, substitute
from polyopt.ir.linear import normalize
from polyopt.ir.parameters import maps_of
from polyopt.ir.scop import Access, AccessKind, Origin, Role, Scop, Statement
from polyopt.ir.types import DType

MAX_COPIES = 8


@dataclass(frozen=True, eq=False)
class Sources:
    """The sources of reads: `writers` is last write -> read, `initial` read -> element.

    `initial` holds the reads that may find an element as it was before the part.
    """

    writers: isl.UnionMap
    initial: isl.UnionMap


@dataclass(frozen=True, eq=False)
class Difference:
    """Reads that get other values: `lost` is write -> read as before, `found` as it would be.

    Reads are instances of the new Scop or, after `at_end`, elements of an array; writes are
    instances of the old one.  `old_initial` and `new_initial` are the reads of initial values.
    """

    statement: str
    array: str
    lost: isl.UnionMap
    found: isl.UnionMap
    old_initial: isl.UnionMap
    new_initial: isl.UnionMap

    @property
    def at_end(self) -> bool:
        """Whether the values are those at the end of the part."""
        return not self.statement


def first_difference(
    old: Scop,
    new: Scop,
    same: Mapping[str, Origin],
    copies: frozenset[str],
    compared: frozenset[str],
    touched: frozenset[str],
) -> Difference | None:
    """Return a read of `new` that gets another value than in `old`, or None.

    `same` maps the statements of `new` that are not in `old` to their instances there; `copies`
    only move values.  Compares values of the arrays in `compared`, which only statements in
    `touched` access.
    """
    before, after = Dataflow(old, touched), Dataflow(new, touched)
    instances = instances_of(old, new, same, copies, touched)
    through = after.copies(copies) if compared else Sources(after.empty, after.empty)
    all_to_old = _to_old(instances, after.empty)
    for statement in new.statements:
        if statement.name in copies or statement.name not in touched:
            continue
        own = old.statement(_origin(statement, same).statement)
        _assert_same_rule(own, statement, _origin(statement, same))
        to_old = isl.UnionMap.from_map(instances[statement.name])
        for number, (was, read) in enumerate(zip(own.reads, statement.reads, strict=True)):
            if was.array not in compared and read.array not in compared:
                continue
            wanted = _pulled(before.of_read(own, number), to_old)
            if wanted.initial.is_empty() and after.keeps(statement, number, wanted, all_to_old):
                continue
            got = _resolved(after.of_read(statement, number), through)
            difference = _compare(wanted, _renamed(got, instances), old, new)
            if difference is not None:
                return replace(difference, statement=statement.name, array=was.array)
    return _at_end(before, after, instances, through, compared)


def _at_end(
    before: Dataflow,
    after: Dataflow,
    instances: Mapping[str, isl.Map],
    through: Sources,
    compared: frozenset[str],
) -> Difference | None:
    for array in before.scop.arrays:
        if array.role in (Role.TEMP, Role.FAULT) or array.name not in compared:
            continue
        elements, more = before.written(array.name), after.written(array.name)
        if not more.is_subset(elements):
            elements = elements.union(more)
        if elements.is_empty():
            continue
        wanted = before.at_end(array.name, elements)
        got = _resolved(after.at_end(array.name, elements), through)
        found = _compare(wanted, _renamed(got, instances), before.scop, after.scop)
        if found is not None:
            return replace(found, array=array.name)
    return None


def _compare(wanted: Sources, got: Sources, old: Scop, new: Scop) -> Difference | None:
    lost = wanted.writers.subtract(got.writers)
    found = got.writers.subtract(wanted.writers)
    defined, undefined = _split(wanted.initial, old)
    defined_now, undefined_now = _split(got.initial, new)
    kept = defined.is_subset(defined_now) and defined_now.is_subset(defined)
    if lost.is_empty() and found.is_empty() and kept:
        if undefined_now.domain().is_subset(undefined.domain()):
            return None
        return Difference("", "", wanted.writers, found, defined, undefined_now)
    return Difference("", "", lost, found, defined, got.initial)


def _split(initial: isl.UnionMap, scop: Scop) -> tuple[isl.UnionMap, isl.UnionMap]:
    """Return the reads of initial values, and those of temporaries never written."""
    empty = isl.UnionMap.empty(initial.get_space())
    parts = [empty, empty]
    known = {a.name for a in scop.arrays if a.role is not Role.TEMP}
    for part in maps_of(initial):
        place = 0 if part.get_tuple_name(isl.dim_type.out) in known else 1
        parts[place] = parts[place].union(isl.UnionMap.from_map(part))
    return parts[0], parts[1]


def within(scop: Scop, access: Access) -> isl.Map:
    """Return the access's relation at valid sizes, at which it stays inside its array."""
    relation = access.relation.intersect_params(scop.context)
    if access.exact:
        return relation
    array = scop.array(access.array)
    return relation.intersect_range(index_box(array.name, array.shape, scop.params))


class Dataflow:
    """The sources of a Scop's reads, computed on demand.

    `names` are the statements to consider: all that access the arrays in question.
    """

    def __init__(self, scop: Scop, names: Collection[str] | None = None) -> None:
        self.scop = scop
        order = scop.order if names is None else scop.order_of(names)
        self.order = _after(order.intersect_params(scop.context), 0)
        empty = isl.UnionMap.empty(scop.context.get_space())
        self.musts: dict[str, isl.UnionMap] = {}
        self.mays: dict[str, isl.UnionMap] = {}
        for statement in scop.statements:
            if names is not None and statement.name not in names:
                continue
            write = statement.write
            kinds = self.musts if write.kind is AccessKind.MUST_WRITE else self.mays
            inside = isl.UnionMap.from_map(within(scop, write))
            kinds[write.array] = kinds.get(write.array, empty).union(inside)
        self.empty = empty
        self._hiding: dict[str, isl.UnionMap] = {}

    def written(self, array: str) -> isl.UnionSet:
        """Return the elements of an array that may be written."""
        every = self.musts.get(array, self.empty).union(self.mays.get(array, self.empty))
        return every.range()

    def of_read(self, statement: Statement, number: int) -> Sources:
        """Return the sources of a read."""
        access = statement.reads[number]
        sink = isl.UnionMap.from_map(within(self.scop, access))
        return self._sources(sink, access.array, self.order)

    def keeps(
        self, statement: Statement, number: int, wanted: Sources, to_old: isl.UnionMap
    ) -> bool:
        """Tell whether a read surely gets its value from `wanted`: a quick test for relations with
        floors.

        The wanted writers write its cell before it, and nothing writes that in between.
        """
        access = statement.reads[number]
        sink = isl.UnionMap.from_map(within(self.scop, access))
        must, may = (kind.get(access.array, self.empty) for kind in (self.musts, self.mays))
        if not _has_steps(sink) and not _has_steps(must):
            return False
        if not sink.domain().is_subset(wanted.writers.range()):
            return False
        sources = must.union(may)
        first = _before(sources, sources.union(sink), self.order)
        earlier = sources.apply_range(sink.reverse()).intersect(first)
        writers = to_old.apply_range(wanted.writers)
        if not writers.is_subset(earlier):
            return False
        return bool(writers.apply_range(earlier.reverse()).intersect(first).is_empty())

    def at_end(self, array: str, elements: isl.UnionSet) -> Sources:
        """Return the last writes of an array's elements; the readers are the elements."""
        if array not in self.mays:
            return self._last(self.musts.get(array, self.empty), elements)
        order = self.order.union(_last(elements, _length(self.order)))
        return self._sources(elements.identity(), array, order)

    def _last(self, must: isl.UnionMap, elements: isl.UnionSet) -> Sources:
        """Return the last writes of `elements`: those at the greatest time of all."""
        order = self.order.intersect_domain(must.domain())
        writers = must.reverse().intersect_domain(elements)
        last = writers.apply_range(order).lexmax().apply_range(order.reverse())
        initial = elements.subtract(must.range()).identity()
        return Sources(last.intersect(writers).reverse(), initial)

    def copies(self, names: frozenset[str]) -> Sources:
        """Return the sources of the statements that only move values."""
        writers, initial = self.empty, self.empty
        for statement in self.scop.statements:
            if statement.name in names:
                for number in range(len(statement.reads)):
                    own = self.of_read(statement, number)
                    writers = writers.union(own.writers)
                    initial = initial.union(own.initial)
        return Sources(writers, initial)

    def _sources(self, sink: isl.UnionMap, array: str, order: isl.UnionMap) -> Sources:
        must, may = self.musts.get(array, self.empty), self.mays.get(array, self.empty)
        touching = sink.domain().union(must.domain()).union(may.domain())
        order = order.intersect_domain(touching.universe())
        if any(map(_has_steps, (sink, must, may, order))):
            return self._unhidden(sink, array, order)
        info = isl.UnionAccessInfo.from_sink(sink)
        info = info.set_must_source(must).set_may_source(may).set_schedule_map(order)
        try:
            flow = info.compute_flow()
            return Sources(flow.get_may_dependence(), flow.get_may_no_source())
        except isl.Error as error:
            if exceeds_limit(error):
                raise
        return self._unhidden(sink, array, order)

    def _unhidden(self, sink: isl.UnionMap, array: str, order: isl.UnionMap) -> Sources:
        """Return the last writes before reads for loops with steps.

        isl's `compute_flow` fails on some of these, and leaves out last writes on others.
        """
        must, may = self.musts.get(array, self.empty), self.mays.get(array, self.empty)
        sources = must.union(may)
        before = _before(sources, sink, order)
        pairs = sources.apply_range(sink.reverse()).intersect(before)
        later = must.apply_range(sink.reverse()).intersect(before)
        if array not in self._hiding:  # of which write overwrites which, reads say nothing
            again = sources.apply_range(must.reverse())
            self._hiding[array] = again.intersect(_before(sources, must, self.order))
        hidden = self._hiding[array].apply_range(later)
        return Sources(pairs.subtract(hidden), sink.subtract_domain(later.range()))


def _before(first: isl.UnionMap, second: isl.UnionMap, order: isl.UnionMap) -> isl.UnionMap:
    """Return which instances of the statements that `first` is of run before those of `second`."""
    one, other = (order.intersect_domain(part.domain().universe()) for part in (first, second))
    return one.lex_lt_union_map(other)


def _has_steps(value: isl.UnionMap) -> bool:
    """Tell whether a relation has floors or remainders."""
    found = maps_of(value)
    parts: list[isl.BasicMap] = []
    for one in found:
        one.foreach_basic_map(parts.append)
    return any(part.dim(isl.dim_type.div) for part in parts)


def _after(order: isl.UnionMap, first: int) -> isl.UnionMap:
    """Return the times with a leading dimension `first`."""
    point = isl.UnionMap.from_domain_and_range(order.domain(), _point((first,), order.get_space()))
    return point.flat_range_product(order)


def _last(elements: isl.UnionSet, length: int) -> isl.UnionMap:
    point = _point((1, *[0] * (length - 1)), elements.get_space())
    return isl.UnionMap.from_domain_and_range(elements, point)


def _point(values: tuple[int, ...], space: isl.Space) -> isl.UnionSet:
    line = isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, len(values)).align_params(space)
    point = isl.Set.universe(line)
    for position, value in enumerate(values):
        point = point.fix_val(isl.dim_type.set, position, isl.Val(value))
    return isl.UnionSet.from_set(point)


def _length(order: isl.UnionMap) -> int:
    return max((part.dim(isl.dim_type.out) for part in maps_of(order)), default=1)


def _resolved(sources: Sources, copies: Sources) -> Sources:
    """Return the sources with every copy replaced by its own source.

    Raises `BudgetError` for copies of copies without an exact formula.
    """
    made = copies.writers.range().union(copies.initial.domain())
    moved = sources.writers.intersect_domain(made)  # copy -> read
    if moved.is_empty():
        return sources
    writers, initial = sources.writers.subtract_domain(made), sources.initial
    for _ in range(MAX_COPIES):
        initial = initial.union(moved.reverse().apply_range(copies.initial))
        further = copies.writers.apply_range(moved)
        writers = writers.union(further.subtract_domain(made))
        moved = further.intersect_domain(made)
        if moved.is_empty():
            return Sources(writers, initial)
    chain, is_exact = copies.writers.intersect_domain(made).transitive_closure()
    if not is_exact:
        raise BudgetError("PO0701", "copies of copies: isl has no exact formula for their chain")
    moved = moved.union(chain.apply_range(moved))
    initial = initial.union(moved.reverse().apply_range(copies.initial))
    writers = writers.union(copies.writers.subtract_domain(made).apply_range(moved))
    return Sources(writers, initial)


def _renamed(sources: Sources, instances: Mapping[str, isl.Map]) -> Sources:
    """Return the sources with writes as instances of the old Scop."""
    to_old = _to_old(instances, isl.UnionMap.empty(sources.writers.get_space()))
    return Sources(to_old.reverse().apply_range(sources.writers), sources.initial)


def _pulled(sources: Sources, to_old: isl.UnionMap) -> Sources:
    """Return the sources with reads as instances of the new Scop."""
    back = to_old.reverse()
    return Sources(sources.writers.apply_range(back), to_old.apply_range(sources.initial))


def instances_of(
    old: Scop,
    new: Scop,
    same: Mapping[str, Origin],
    copies: frozenset[str],
    names: Collection[str],
) -> dict[str, isl.Map]:
    """Return the map { instance of `new` -> instance of `old` } of each computing statement."""
    found = {}
    for statement in new.statements:
        if statement.name in copies or statement.name not in names:
            continue
        origin = _origin(statement, same)
        domain = statement.domain.intersect_params(new.context)
        one = index_map(domain, origin.statement, origin.instance)
        whole = old.statement(origin.statement).domain
        assert one.range().is_subset(whole), f"{statement.name} is no part of {origin.statement}"
        found[statement.name] = one
    return found


def _origin(statement: Statement, same: Mapping[str, Origin]) -> Origin:
    own = Origin(statement.name, tuple(map(Iter, statement.iters)))
    return same.get(statement.name, own)


def _assert_same_rule(old: Statement, new: Statement, origin: Origin) -> None:
    values = dict(zip(old.iters, origin.instance, strict=True))
    for was, now in zip(_rules(old), _rules(new), strict=True):
        assert _bare(substitute(was, values)) == _bare(now), f"{new.name} is not {old.name}"


def _rules(statement: Statement) -> Iterator[Expr]:
    yield statement.value
    if statement.guard is not None:
        yield statement.guard


def _bare(expr: Expr) -> Expr:
    """Return `expr` without its reads, sums collected."""

    def rule(part: Expr) -> Expr | None:
        if isinstance(part, Load):
            return Load("", (), part.dtype)
        return None

    bare = rewrite(expr, rule)
    return normalize(bare) if bare.dtype is DType.INT64 else bare


def values_from_before(scop: Scop, array: str) -> isl.UnionSet:
    """Return the elements of `array` whose initial values may be read."""
    flow = Dataflow(scop, [s.name for s in scop.statements if array in s.arrays])
    found = isl.UnionSet.empty(scop.context.get_space())
    for statement in scop.statements:
        for number, read in enumerate(statement.reads):
            if read.array == array:
                found = found.union(flow.of_read(statement, number).initial.range())
    return found


def _to_old(instances: Mapping[str, isl.Map], empty: isl.UnionMap) -> isl.UnionMap:
    """Return { instance of the new Scop -> instance of the old one that it stands for }."""
    result = empty
    for one in instances.values():
        result = result.union(isl.UnionMap.from_map(one))
    return result
