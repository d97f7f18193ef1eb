"""List the events of the source: accesses of its instances, and the values at its ends.

In: the source's statements.  Out: `Event`s, named after their statements.
A write that may keep its element's value also reads it.
The write that each read gets its value from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from enum import Enum, unique

import islpy as isl

from polyopt.dataclass import dataclass
from polyopt.errors import BudgetError
from polyopt.ir.budget import query
from polyopt.ir.expr import BinaryOp, Expr, integer
from polyopt.ir.names import depends_on_data
from polyopt.ir.scop import Access, Statement
from polyopt.ir.types import DType, Kind
from polyopt.proof.affine import Frame, NotAffine
from polyopt.proof.paths import conjuncts
from polyopt.proof.source import Clock, SourcePart, producers_in

QUICK = 2_000_000
"""isl operations for each writer that may be spent on a flow that is expected, before it is
computed: what that takes grows faster than the number of writers."""
HALF = 0.5  # of the time that is left

_IN, _OUT = isl.dim_type.in_, isl.dim_type.out


@unique
class Effect(Enum):
    """The effect of an event on its element."""

    READ = "read"
    WRITE = "write"
    ACCUMULATE = "accumulate"  # in any order with others of its kind


@dataclass(frozen=True, eq=False)
class Event:
    """All instances of an access: `access` is event -> element, `time` event -> time."""

    access: isl.Map
    time: isl.Map
    effect: Effect

    @property
    def name(self) -> str:
        """The tuple name of the instances."""
        return str(self.access.get_tuple_name(_IN))

    @property
    def array(self) -> str:
        """The name of the storage."""
        return str(self.access.get_tuple_name(isl.dim_type.out))

    def each_element(self) -> Event:
        """Return the event with one instance for each element: `event[instance, element]`."""
        access = self.access.range_map().flatten_domain().set_tuple_name(_IN, self.name)
        time = self.access.domain_map().apply_range(self.time)
        time = time.flatten_domain().set_tuple_name(_IN, self.name)
        return Event(access, time, self.effect)


@dataclass(frozen=True, eq=False)
class Flow:
    """The sources of reads: `entries` is read -> last write that is not an accumulation.

    `sums` is read -> accumulation into the same element after that write.
    """

    entries: isl.UnionMap
    sums: isl.UnionMap


def flow_of(
    space: isl.Space, events: Iterable[Event], expected: isl.UnionMap | None = None
) -> Flow:
    """Return the flow of all reads, each array by itself.

    Where `expected`, read -> write, holds for an array, it is returned: checking it is cheaper than
    computing it.
    """
    groups: dict[str, list[Event]] = {}
    for event in events:
        groups.setdefault(event.array, []).append(event)
    entries = sums = isl.UnionMap.empty(space)
    for group in groups.values():
        flow = _flow_of_array(space, group, expected)
        entries, sums = entries.union(flow.entries), sums.union(flow.sums)
    return Flow(entries, sums)


def _flow_of_array(space: isl.Space, events: list[Event], expected: isl.UnionMap | None) -> Flow:
    unions = {effect: isl.UnionMap.empty(space) for effect in Effect}
    times = isl.UnionMap.empty(space)
    for event in events:
        one = isl.UnionMap.from_map(event.access)
        unions[event.effect] = unions[event.effect].union(one)
        times = times.union(isl.UnionMap.from_map(event.time))
    reads, writes = unions[Effect.READ], unions[Effect.WRITE]
    sums = unions[Effect.ACCUMULATE]
    entries = None  # write -> read
    if expected is not None:
        operations = QUICK * max(1, writes.n_map())
        with suppress(BudgetError, isl.Error), query("expected flow", operations, part=HALF):
            entries = _as_expected(times, reads, writes, expected)
    if entries is None:
        entries = producers_in(times, reads, writes, None)
    if sums.is_empty():
        return Flow(entries.reverse(), isl.UnionMap.empty(space))
    clock = Clock(times)
    before = clock.in_order(sums.apply_range(reads.reverse()))
    hidden = clock.in_order(sums.apply_range(writes.reverse())).apply_range(entries)
    return Flow(entries.reverse(), before.subtract(hidden).reverse())


def _as_expected(
    times: isl.UnionMap, reads: isl.UnionMap, writes: isl.UnionMap, expected: isl.UnionMap
) -> isl.UnionMap | None:
    """Return write -> read if `expected` maps each of its reads to the last write before it.

    That is: the write is to the read's element, comes before it, and no other write is in between,
    which needs no lexicographic maximum.  The writes of other reads are computed.
    """
    expected = expected.intersect_domain(reads.domain()).intersect_range(writes.domain())
    if not (reads.is_single_valued() and expected.is_single_valued()):
        return None
    left = reads.subtract(expected.apply_range(writes))
    expected = expected.subtract_domain(left.domain())
    clock = Clock(times)
    entries = expected.reverse()
    if not entries.is_subset(clock.in_order(entries)):
        return None
    earlier = clock.in_order(writes.apply_range(reads.reverse())).reverse()
    if clock.has_pair(entries, earlier):
        return None
    return entries if left.is_empty() else entries.union(producers_in(times, left, writes, None))


OLD = "old"
"""The read of what a conditional write may leave."""


@dataclass(frozen=True, eq=False)
class UnorderedSums:
    """The statements whose order within one element is free, by name."""

    operators: dict[str, BinaryOp]

    @classmethod
    def of(cls, part: SourcePart, apart: Collection[str] = ()) -> UnorderedSums:
        """Return those that alone reduce into their array, or alone of those in `apart`.

        `apart` names statements that the loops run in other storage, as with partial results; other
        reductions into the same array keep their order.
        """
        free = [s for s in part.statements if _is_free(s)]
        count = Counter(s.target.array for s in free)
        moved = Counter(s.target.array for s in free if s.name in apart)
        return cls(
            {
                s.name: s.reduction.op
                for s in free
                if s.reduction is not None
                and (count[s.target.array] == 1 or (s.name in apart and moved[s.target.array] == 1))
            }
        )


def _is_free(statement: Statement) -> bool:
    if statement.is_reassociable:
        return True
    reduction = statement.reduction
    if reduction is None or not _is_exact(reduction.op, statement.target.dtype):
        return False
    return len([a for a in statement.reads if is_accumulator(statement, a)]) == 1


def _is_exact(op: BinaryOp, dtype: DType) -> bool:
    bits = (BinaryOp.AND, BinaryOp.OR, BinaryOp.XOR)
    if dtype.kind in (Kind.SIGNED, Kind.UNSIGNED):
        return op in (*bits, BinaryOp.ADD, BinaryOp.MUL, BinaryOp.MIN, BinaryOp.MAX)
    return dtype.kind is Kind.BOOL and op in bits


def is_accumulator(statement: Statement, access: Access) -> bool:
    """Tell whether an access is to its statement's target."""
    return (access.array, access.index) == (statement.target.array, statement.target.index)


def instances(part: SourcePart, statement: Statement) -> isl.Set:
    """Return the instances whose conditions on sizes and iterators hold."""
    frame = Frame(part.scop.params, statement.iters)
    domain = part.domain(statement)
    for condition in () if statement.guard is None else conjuncts(statement.guard):
        if not depends_on_data(condition):
            try:
                here = frame.condition(condition)
            except NotAffine:
                continue
            domain = domain.intersect(here.set_tuple_name(statement.name))
    return domain


def may_leave(statement: Statement) -> bool:
    """Tell whether an instance may keep its target's value."""
    has_data = statement.guard is not None and any(map(depends_on_data, conjuncts(statement.guard)))
    return has_data or not statement.write.exact


def source_events(part: SourcePart, sums: UnorderedSums, watched: frozenset[str]) -> list[Event]:
    """Return the source's events: `S` writes, `S:k` is its read number k, `S:old` see `OLD`.

    Reads of arrays that are not `watched` are left out.
    """
    length = max((len(s.order) for s in part.statements), default=1)
    found: list[Event] = []
    for statement in part.statements:
        write = statement.write
        name = statement.name
        if write.array not in part.unordered:
            is_sum = name in sums.operators
            effect = Effect.ACCUMULATE if is_sum else Effect.WRITE
            found.append(_of_source(part, statement, write, name, effect, length))
            if not is_sum and may_leave(statement):
                found.append(_read(part, statement, write, f"{name}:{OLD}", length))
        for number, access in enumerate(statement.reads):
            if access.array in watched:
                found.append(_read(part, statement, access, f"{name}:{number}", length))
    return found


def _read(part: SourcePart, statement: Statement, access: Access, name: str, length: int) -> Event:
    event = _of_source(part, statement, access, name, Effect.READ, length)
    return event if access.exact else event.each_element()


def _of_source(
    part: SourcePart, statement: Statement, access: Access, name: str, effect: Effect, length: int
) -> Event:
    domain = instances(part, statement)
    padded = (*statement.order, *[integer(0)] * (length - len(statement.order)))
    time = at_time(Frame(part.scop.params, statement.iters), padded, effect)
    time = time.set_tuple_name(_IN, statement.name).intersect_domain(domain)
    relation = access.relation.intersect_domain(domain)
    return Event(relation.set_tuple_name(_IN, name), time.set_tuple_name(_IN, name), effect)


def at_time(frame: Frame, order: Sequence[Expr], effect: Effect) -> isl.Map:
    """Return `{ [dims] -> time }`: reads of an iteration come before its writes."""
    phase = 0 if effect is Effect.READ else 1
    return frame.map_to("", (integer(1), *order, integer(phase))).reset_tuple_id(_OUT)


def ends(arrays: dict[str, isl.Set], length: int) -> list[Event]:
    """Return the events around a part: every element is set before it, `arrays` are read after.

    `arrays` has the elements of each array visible outside; `length` is that of all times.
    """
    found = []
    for name, elements in arrays.items():
        everything = isl.Set.universe(elements.get_space())
        found.append(_end(f"init:{name}", everything, 0, Effect.WRITE, length))
        found.append(_end(f"exit:{name}", elements, 2, Effect.READ, length))
    return found


def _end(name: str, elements: isl.Set, when: int, effect: Effect, length: int) -> Event:
    access = elements.identity().set_tuple_name(_IN, name)
    zero = [isl.Aff.zero_on_domain(isl.LocalSpace.from_space(elements.get_space()))] * length
    time = isl.Map.from_domain(elements)
    for aff in (zero[0].set_constant_val(isl.Val(when)), *zero[1:]):
        time = time.flat_range_product(isl.Map.from_aff(aff))
    time = time.intersect_domain(elements).reset_tuple_id(_OUT)
    return Event(access, time.set_tuple_name(_IN, name), effect)
