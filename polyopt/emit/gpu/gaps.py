"""Gaps between the nodes that all threads of a block run: where barriers may stand.

In: a block's code.  Out: for two places, the gaps that are passed between them in any run.
Inside of a node that runs as data tells, gaps count only between two places that it holds both of.
"""

from __future__ import annotations

from collections.abc import Iterator

from polyopt.dataclass import dataclass, field
from polyopt.emit.gpu.meetings import Meeting
from polyopt.emit.gpu.touches import Spot
from polyopt.emit.nodes import expressions, nested
from polyopt.ir.expr import loads
from polyopt.ir.loops import Body, For, LoopKind


@dataclass(frozen=True, slots=True)
class Gap:
    """The place before node number `position` of the body at spot `body`, or after the last."""

    body: Spot
    position: int


@dataclass(frozen=True)
class Layout:
    """How many nodes each body of a block has, and the bodies of nodes that data decides on."""

    sizes: dict[Spot, int]
    unsure: frozenset[Spot]
    known: dict[Meeting, frozenset[Gap]] = field(default_factory=dict)

    def between(self, meeting: Meeting) -> frozenset[Gap]:
        """Return the gaps that every run passes between the two sides of a meeting."""
        if meeting not in self.known:
            self.known[meeting] = frozenset(self._between(meeting))
        return self.known[meeting]

    def _between(self, meeting: Meeting) -> Iterator[Gap]:
        first, second = meeting.first, meeting.second
        home = meeting.home
        if home is None:
            home = joint_body(first, second)
            start = first[len(home)] + 1 if len(first) > len(home) else 0
            yield from self._range(home, start, second[len(home)])
        elif meeting.is_far:
            yield from self._range(home, 0, self.sizes[home])
        else:
            yield from self._range(home, first[len(home)] + 1, self.sizes[home])
            yield from self._range(home, 0, second[len(home)])
        for body in self._deeper(first, home):
            yield from self._range(body, first[len(body)] + 1, self.sizes[body])
        for body in self._deeper(second, home):
            yield from self._range(body, 0, second[len(body)])

    def _range(self, body: Spot, first: int, last: int) -> Iterator[Gap]:
        return (Gap(body, position) for position in range(first, last + 1))

    def _deeper(self, spot: Spot, home: Spot) -> Iterator[Spot]:
        """Yield the bodies around a spot inside of `home` that are run whenever the spot is."""
        for length in range(len(home) + 2, len(spot), 2):
            if spot[:length] in self.unsure:
                return
            yield spot[:length]


def joint_body(first: Spot, second: Spot) -> Spot:
    """Return the innermost body that holds both places, the first of them or before it."""
    length = 0
    while length + 2 < len(second) and first[: length + 2] == second[: length + 2]:
        length += 2
    if first == second[: len(first)]:  # a node decides, then something in it
        return second[: len(first) + 1]
    return second[:length]


def layout_of(body: Body) -> Layout:
    """Return the layout of a block's code."""
    sizes: dict[Spot, int] = {}
    unsure: set[Spot] = set()

    def visit(part: Body, spot: Spot) -> None:
        sizes[spot] = len(part)
        for position, node in enumerate(part):
            if isinstance(node, For) and node.kind in (LoopKind.THREAD, LoopKind.SCAN):
                continue
            for number, inner in enumerate(nested(node)):
                place = (*spot, position, number)
                if any(loads(expr) for expr in expressions(node)):
                    unsure.add(place)
                visit(inner, place)

    visit(body, ())
    return Layout(sizes, frozenset(unsure))
