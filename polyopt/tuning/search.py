"""Look for a faster schedule near a given one.

In: a start, alternatives, a way to build and one to compare, a clock, seconds.  Out: `Found`.
Coordinate descent: one knob at a time, on in a direction for as long as it gets faster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from polyopt.dataclass import dataclass
from polyopt.tuning.knobs import knobs, moves, with_value

GAIN = 0.97  # of the time that a schedule may take to replace another: less is noise


Call = Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A schedule's text and a number of threads; None are all."""

    text: str
    threads: int | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """The best candidate; `seconds` of a call with it, `before` with the start; how many tried."""

    best: Candidate
    seconds: float
    before: float
    tried: int
    is_complete: bool


class Workshop(Protocol):
    """What the search needs of the world."""

    def build(self, candidate: Candidate, seconds: float) -> object | None:
        """Return the proven kernel, None where there is none or building took too long."""

    def race(self, champion: object, challenger: object) -> tuple[float, float]:
        """Return the seconds that a call of each takes, measured in turns."""

    def clock(self) -> float:
        """Return the time in seconds."""


class _Search:
    """The state of one search: the champion and the texts that were tried."""

    def __init__(self, start: Candidate, kernel: object, seconds: float, shop: Workshop) -> None:
        self.best, self.kernel = start, kernel
        self.gained = 1.0
        self.time = 0.0
        self.shop = shop
        self.end = shop.clock() + seconds
        self.seen = {start}
        self.longest = 0.0
        self.tried = 0

    def is_over(self) -> bool:
        """Tell whether another candidate would take longer than is left."""
        return self.shop.clock() + self.longest >= self.end

    def improves(self, candidate: Candidate) -> bool:
        """Try a candidate; tell whether it is the new champion."""
        if candidate in self.seen or self.is_over():
            return False
        self.seen.add(candidate)
        begun = self.shop.clock()
        kernel = self.shop.build(candidate, self.end - begun)
        is_faster = False
        if kernel is not None:
            self.tried += 1
            mine, other = self.shop.race(self.kernel, kernel)
            is_faster = other < GAIN * mine
            self.time = min(mine, other) if is_faster else mine
            if is_faster:
                self.gained *= other / mine
                self.best, self.kernel = candidate, kernel
        self.longest = max(self.longest, self.shop.clock() - begun)
        return is_faster


def search(
    start: Candidate,
    kernel: object,
    others: Sequence[Candidate],
    threads: Sequence[int],
    seconds: float,
    shop: Workshop,
) -> Found:
    """Return the fastest candidate that was found within `seconds`.

    `others` are whole schedules to begin with, `threads` numbers to try at the end.
    """
    state = _Search(start, kernel, seconds, shop)
    for other in others:
        state.improves(other)
    while _turn_knobs(state):
        pass
    for number in threads:
        state.improves(Candidate(state.best.text, number))
    return Found(
        state.best, state.time, state.time / state.gained, state.tried, not state.is_over()
    )


def _turn_knobs(state: _Search) -> bool:
    """Try each knob of the champion once; tell whether any of them helped."""
    helped = False
    for position in range(len(knobs(state.best.text))):
        for number in range(len(_steps(state, position))):
            while any(state.improves(c) for c in _neighbour(state, position, number)):
                helped = True
        if state.is_over():
            return False
    return helped


def _steps(state: _Search, position: int) -> tuple[int, ...]:
    return moves(knobs(state.best.text)[position].value)


def _neighbour(state: _Search, position: int, number: int) -> Iterator[Candidate]:
    """Yield the champion with one knob moved in one direction, if it can be."""
    known = knobs(state.best.text)
    values = moves(known[position].value) if position < len(known) else ()
    if number < len(values):
        text = with_value(state.best.text, known[position], values[number])
        yield Candidate(text, state.best.threads)
