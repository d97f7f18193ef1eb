"""How many bytes come into a cache while loops run.

In: nodes of the loop AST, ranges of sizes and iterators, the bytes of a cache.  Out: bytes.
What fits comes in once.  A loop that does not fit brings in what all its iterations touch where one
iteration fits, and part after part where not even one does.
"""

from __future__ import annotations

from collections.abc import Mapping

from polyopt.dataclass import dataclass
from polyopt.ir.loops import Body, Declare, For, If, LoopKind, Node, SetLocal, While
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


def enter(loop: For, ranges: Mapping[str, Range]) -> tuple[Amount, Known]:
    """Return how often a loop's body runs, and the ranges in its iteration in the middle."""
    values = iterations(loop, ranges)
    trips = values.length / loop.step if loop.step > 1 else values.length
    if 0 < trips.value < 1:
        trips = ONE  # the only tile is not full
    return trips, {**ranges, loop.iter: point(values.middle)}


def taken(node: If, ranges: Mapping[str, Range]) -> Body:
    """Return the branch that the iteration in the middle takes; `then` where that is open."""
    return node.otherwise if holds(node.condition, ranges) is False else node.then
