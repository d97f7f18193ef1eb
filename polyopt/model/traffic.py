"""How many bytes come into a cache while loops run.

In: nodes of the loop AST, ranges of sizes and iterators, the bytes of a cache.  Out: bytes.
What fits comes in once.  A loop that does not fit brings in what all its iterations touch where one
iteration fits, and part after part where not even one does.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

from polyopt.dataclass import dataclass
from polyopt.ir.expr import VectorLoad
from polyopt.ir.loops import Assign, Body, Declare, For, If, LoopKind, Node, SetLocal, While
from polyopt.ir.names import iterators
from polyopt.ir.nodes import all_nodes
from polyopt.model.amount import ONE, Amount, amount, total
from polyopt.model.footprint import GUESS, Memory, footprint, iterations, note_local
from polyopt.model.ranges import Range, holds, point

Known = dict[str, Range]


@dataclass(frozen=True, slots=True)
class Room:
    """Bytes of a cache; threads of a parallel loop share them."""

    size: float
    threads: int = 1

    def in_thread(self) -> Room:
        """Return what one thread has of it."""
        return Room(self.size / self.threads)


def traffic(body: Body, ranges: Known, memory: Memory, room: Room) -> Amount:
    """Return the bytes that come in while `body` runs once."""
    whole = footprint(body, ranges, memory)
    if whole.size.value <= room.size:
        return whole.moved
    return total(_of_node(node, ranges, memory, room) for node in body)


def _of_node(node: Node, ranges: Known, memory: Memory, room: Room) -> Amount:
    match node:
        case For():
            trips, inner = enter(node, ranges)
            if node.kind is LoopKind.PARALLEL:
                room = room.in_thread()
            if footprint(node.body, inner, memory).size.value <= room.size:
                return footprint((node,), ranges, memory).moved
            return trips * traffic(node.body, inner, memory, room)
        case While():
            return amount(GUESS) * traffic(node.body, ranges, memory, room)
        case If():
            return traffic(taken(node, ranges), ranges, memory, room)
        case Declare() | SetLocal():
            note_local(node, ranges)
            return footprint((node,), ranges, memory).moved
        case _:
            return footprint((node,), ranges, memory).moved


SAMPLES = 5
"""How many tiles are looked at: those on the edge of a skewed front are smaller than others."""


def enter(loop: For, ranges: Mapping[str, Range]) -> tuple[Amount, Known]:
    """Return how often a loop's body runs, and the ranges in a typical iteration.

    That is the one in the middle.  Of tiles it is the fullest one, and they run as often as so
    full ones would for as many iterations in all.
    """
    values = iterations(loop, ranges)
    trips = values.length / loop.step if loop.step > 1 else values.length
    if 0 < trips.value < 1:
        trips = ONE  # the only tile is not full
    if trips.value <= 2 or not is_tile(loop):
        return trips, _at(loop, values.middle, ranges)
    places = [_at(loop, value, ranges) for value in _samples(values, trips)]
    volumes = [volume(loop.body, place) for place in places]
    most, mean = max(volumes), sum(volumes) / len(volumes)
    if most == min(volumes):
        return trips, _at(loop, values.middle, ranges)
    return trips * (mean / most), places[volumes.index(most)]


def _at(loop: For, value: Amount, ranges: Mapping[str, Range]) -> Known:
    return {**ranges, loop.iter: point(value)}


def _samples(values: Range, trips: Amount) -> list[Amount]:
    """Return some iterations, evenly chosen; all where there are few."""
    count = min(SAMPLES, ceil(trips.value))
    return [_between(values, (n + 0.5) / count) for n in range(count)]


def _between(values: Range, share: float) -> Amount:
    return (values.low + (values.high - values.low) * share).floored()


def volume(body: Body, ranges: Known) -> float:
    """Return how many numbers `body` makes, about."""
    found = 0.0
    for node in body:
        match node:
            case For():
                trips, inner = enter(node, ranges)
                if trips.value > 0:
                    found += trips.value * volume(node.body, inner)
            case While():
                found += volume(node.body, ranges)
            case If():
                found += volume(taken(node, ranges), ranges)
            case Declare() | SetLocal():
                note_local(node, ranges)
                found += node.lanes
            case Assign():
                found += node.target.lanes if isinstance(node.target, VectorLoad) else 1
            case _:
                pass
    return found


def is_tile(loop: For) -> bool:
    """Tell whether a loop only bounds the loops inside: no instance is a function of it alone."""
    uses = [
        index
        for node in all_nodes(loop.body)
        if isinstance(node, Assign | Declare | SetLocal) and node.statement
        for index in node.instance
    ]
    inner = [node for node in all_nodes(loop.body) if isinstance(node, For)]
    bounds = (bound for one in inner for bound in (one.lower, one.upper))
    return loop.iter in iterators(*bounds) and loop.iter not in iterators(*uses)


def taken(node: If, ranges: Mapping[str, Range]) -> Body:
    """Return the branch that the iteration in the middle takes; `then` where that is open."""
    return node.otherwise if holds(node.condition, ranges) is False else node.then
