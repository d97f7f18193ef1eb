"""Enumerate the slots between the nodes that all threads of a block run: where barriers may stand.

In: a block's code.  Out: for two program points, the slots that every run passes between them.
Slots under data-dependent control count only between two points under the same control.
"""

from __future__ import annotations

from collections.abc import Iterator

from polyopt.dataclass import dataclass, field
from polyopt.emit.gpu.accesses import Point
from polyopt.emit.gpu.conflicts import ConflictingPair
from polyopt.emit.nodes import expressions
from polyopt.ir.expr import loads
from polyopt.ir.loops import Body, For, LoopKind
from polyopt.ir.nodes import bodies


@dataclass(frozen=True, slots=True)
class BarrierSlot:
    """The point before node number `position` of the body at point `body`, or after the last."""

    body: Point
    position: int


@dataclass(frozen=True)
class SlotLayout:
    """The number of nodes of each body of a block, and the bodies under data-dependent control."""

    sizes: dict[Point, int]
    data_dependent: frozenset[Point]
    known: dict[ConflictingPair, frozenset[BarrierSlot]] = field(default_factory=dict)

    def between(self, conflict: ConflictingPair) -> frozenset[BarrierSlot]:
        """Return the slots that every run passes between the two points of a conflict."""
        if conflict not in self.known:
            self.known[conflict] = frozenset(self._between(conflict))
        return self.known[conflict]

    def _between(self, conflict: ConflictingPair) -> Iterator[BarrierSlot]:
        first, second = conflict.first, conflict.second
        carrier = conflict.carrier
        if carrier is None:
            carrier = joint_body(first, second)
            start = first[len(carrier)] + 1 if len(first) > len(carrier) else 0
            yield from self._range(carrier, start, second[len(carrier)])
        elif conflict.is_distant:
            yield from self._range(carrier, 0, self.sizes[carrier])
        else:
            yield from self._range(carrier, first[len(carrier)] + 1, self.sizes[carrier])
            yield from self._range(carrier, 0, second[len(carrier)])
        for body in self._deeper(first, carrier):
            yield from self._range(body, first[len(body)] + 1, self.sizes[body])
        for body in self._deeper(second, carrier):
            yield from self._range(body, 0, second[len(body)])

    def _range(self, body: Point, first: int, last: int) -> Iterator[BarrierSlot]:
        return (BarrierSlot(body, position) for position in range(first, last + 1))

    def _deeper(self, point: Point, carrier: Point) -> Iterator[Point]:
        """Yield the bodies inside of `carrier` that a run reaches whenever it reaches the point."""
        for length in range(len(carrier) + 2, len(point), 2):
            if point[:length] in self.data_dependent:
                return
            yield point[:length]


def joint_body(first: Point, second: Point) -> Point:
    """Return the innermost body that holds both points, or the second under the first's node."""
    length = 0
    while length + 2 < len(second) and first[: length + 2] == second[: length + 2]:
        length += 2
    if first == second[: len(first)]:  # a node decides, then something in it
        return second[: len(first) + 1]
    return second[:length]


def layout_of(body: Body) -> SlotLayout:
    """Return the barrier slots of a block's code."""
    sizes: dict[Point, int] = {}
    data_dependent: set[Point] = set()

    def visit(part: Body, point: Point) -> None:
        sizes[point] = len(part)
        for position, node in enumerate(part):
            if isinstance(node, For) and node.kind in (LoopKind.THREAD, LoopKind.SCAN):
                continue
            for number, inner in enumerate(bodies(node)):
                inner_point = (*point, position, number)
                if any(loads(expr) for expr in expressions(node)):
                    data_dependent.add(inner_point)
                visit(inner, inner_point)

    visit(body, ())
    return SlotLayout(sizes, frozenset(data_dependent))
