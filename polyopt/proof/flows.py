"""Compute which write each read gets its value from.

In: events: accesses of elements, each at a time.  Out: for each read the last preceding write that
is not an accumulation, and the accumulations since.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from enum import Enum, unique

import islpy as isl

from polyopt.dataclass import dataclass
from polyopt.errors import BudgetError
from polyopt.ir.budget import query
from polyopt.proof.source import Clock, producers_in

_IN = isl.dim_type.in_
QUICK = 2_000_000
"""isl operations that may be spent on a flow that is expected, before it is computed."""


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
        with suppress(BudgetError, isl.Error), query("expected flow", QUICK):
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
    if not clock.in_order(entries.apply_range(earlier)).is_empty():
        return None
    return entries if left.is_empty() else entries.union(producers_in(times, left, writes, None))
