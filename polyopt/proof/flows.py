"""Reads and writes at times, and which write each read gets its value from.

In: events: accesses of elements, each at a time.  Out: for each read the last write before it that
is no accumulation, and the accumulations since.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, unique

import islpy as isl

from polyopt.dataclass import dataclass
from polyopt.proof.source import Clock, producers_in

_IN = isl.dim_type.in_


@unique
class Effect(Enum):
    """What an event does to its element."""

    READ = "read"
    WRITE = "write"
    ACCUMULATE = "accumulate"  # in any order with others of its kind


@dataclass(frozen=True, eq=False)
class Event:
    """An access in all its instances: `access` is event -> element, `time` event -> time."""

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
    """What reads get: `entries` is read -> last write that is no accumulation, `sums` is read ->
    accumulation into the same element after that write."""

    entries: isl.UnionMap
    sums: isl.UnionMap


def flow_of(space: isl.Space, events: Iterable[Event]) -> Flow:
    """Return which writes reach which reads; arrays have nothing to do with one another."""
    groups: dict[str, list[Event]] = {}
    for event in events:
        groups.setdefault(event.array, []).append(event)
    entries = sums = isl.UnionMap.empty(space)
    for group in groups.values():
        flow = _flow_of_array(space, group)
        entries, sums = entries.union(flow.entries), sums.union(flow.sums)
    return Flow(entries, sums)


def _flow_of_array(space: isl.Space, events: list[Event]) -> Flow:
    unions = {effect: isl.UnionMap.empty(space) for effect in Effect}
    times = isl.UnionMap.empty(space)
    for event in events:
        one = isl.UnionMap.from_map(event.access)
        unions[event.effect] = unions[event.effect].union(one)
        times = times.union(isl.UnionMap.from_map(event.time))
    reads, writes = unions[Effect.READ], unions[Effect.WRITE]
    sums = unions[Effect.ACCUMULATE]
    entries = producers_in(times, reads, writes, None)  # write -> read
    if sums.is_empty():
        return Flow(entries.reverse(), isl.UnionMap.empty(space))
    clock = Clock(times)
    before = clock.in_order(sums.apply_range(reads.reverse()))
    hidden = clock.in_order(sums.apply_range(writes.reverse())).apply_range(entries)
    return Flow(entries.reverse(), before.subtract(hidden).reverse())
