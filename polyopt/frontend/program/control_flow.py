"""What may run after what: drafts and marks as the nodes of a control-flow graph.

In: all drafts and marks.  Out: the nodes that may run after some of them, before others run.
Loops may run any number of times, conditions may hold or not.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import TypeAlias

from polyopt.frontend.program.drafts import Draft, Mark
from polyopt.ir.expr import Const, Expr

Item: TypeAlias = Draft | Mark
_Place: TypeAlias = tuple[int, ...]


class Flow:
    """`items` in the order of their places; node `len(items)` is the end of the function."""

    def __init__(self, drafts: Sequence[Draft], marks: Sequence[Mark]) -> None:
        self.items: list[Item] = sorted(
            (*drafts, *marks), key=lambda item: place_of(item.scope.order)
        )
        self._number = {id(item): number for number, item in enumerate(self.items)}
        self._places = [place_of(item.scope.order) for item in self.items]
        self._ends: dict[_Place, tuple[int, int]] = {}  # the first and last node of each loop
        around = [_loops(item) for item in self.items]
        for number, loops in enumerate(around):
            for loop in loops:
                first, _ = self._ends.get(loop, (number, number))
                self._ends[loop] = (first, number)
        self._loops = [[self._ends[loop] for loop in loops] for loops in around]

    def number(self, item: Item) -> int:
        """Return the node of a draft or mark."""
        return self._number[id(item)]

    def first(self, order: Sequence[Expr]) -> int:
        """Return the first node at the place `order` or behind it."""
        return bisect_left(self._places, place_of(order))

    def after(self, starts: Iterable[int], ends: Container[int]) -> set[int]:
        """Return the nodes that may run after the nodes `starts`; what runs after `ends` may not.

        The `ends` that are reached are among them.
        """
        return self._reached([after for start in starts for after in self._next(start)], ends)

    def behind(self, order: Sequence[Expr], ends: Container[int]) -> set[int]:
        """Return the nodes that may run from the place `order` on; what runs after `ends` may not.

        Marks and statements at that place are not made yet.
        """
        place = place_of(order)
        number = self.first(order)
        around = [self._ends.get(place[:depth]) for depth in range(1, len(place))]
        waiting = list(self._entered(number))
        for first, last in filter(None, around):
            if last < number:
                waiting += self._entered(first)
        return self._reached(waiting, ends)

    def _reached(self, waiting: list[int], ends: Container[int]) -> set[int]:
        found: set[int] = set()
        while waiting:
            number = waiting.pop()
            if number in found:
                continue
            found.add(number)
            if number not in ends and number < len(self.items):
                waiting += self._next(number)
        return found

    def _next(self, number: int) -> Iterator[int]:
        """Yield the nodes that may run next."""
        yield from self._entered(number + 1)
        for first, last in self._loops[number]:
            if last == number:
                yield from self._entered(first)

    def _entered(self, number: int) -> Iterator[int]:
        """Yield a node and those behind the loops that begin there, which may not run at all."""
        yield number
        if number < len(self.items):
            for last in {last for first, last in self._loops[number] if first == number}:
                yield from self._entered(last + 1)


def place_of(order: Sequence[Expr]) -> _Place:
    """Return the places of an order without the iterations between them."""
    return tuple(int(part.value.real) for part in order[::2] if isinstance(part, Const))


def shared_loops(order: Sequence[Expr], other: Sequence[Expr]) -> int:
    """Return how many loops are around both places."""
    pairs = zip(place_of(order)[:-1], place_of(other)[:-1], strict=False)
    return next(
        (n for n, (one, two) in enumerate(pairs) if one != two), min(len(order), len(other)) // 2
    )


def _loops(item: Item) -> list[_Place]:
    """Return what identifies the loops around an item that the source has, not its own."""
    place = place_of(item.scope.order)
    loops = item.scope.loops
    outer = max((d + 1 for d, loop in enumerate(loops) if loop.loc is not None), default=0)
    return [place[: depth + 1] for depth in range(outer)]
