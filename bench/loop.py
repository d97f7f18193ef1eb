"""One program after the other: the time left, a quiet machine before each, results as they come.

In: what to measure and how.  Out: notes on what was left out; an interrupt or the end of the
budget ends the run early, and what was measured stays.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Generic, TypeVar

from bench.budget import LEAST_SHARE, Deadline, show_duration
from bench.quiet import wait_until_quiet

Item = TypeVar("Item")
Say = Callable[[str], None]
PATIENCE = 10.0  # seconds to wait for a quiet machine before a program


class Interrupted(KeyboardInterrupt):
    """A signal that asks the run to end; `number` says which."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise `Interrupted` where Ctrl-C or SIGTERM arrives, in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def raise_it(number: int, frame: FrameType | None) -> None:
        del frame
        raise Interrupted(number)

    before = {n: signal.signal(n, raise_it) for n in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@dataclass(frozen=True, slots=True)
class Ended:
    """Why a run ended before its last program: a note, and the signal that asked for it."""

    note: str = ""
    signal: int = 0


@dataclass(frozen=True, slots=True)
class Loop(Generic[Item]):
    """The items of a run, in order.

    `measure` gets an item, its deadline and the busy cores before it; `what` is what an item is
    called.  `patience`: seconds to wait for a quiet machine, None where nothing is timed.
    """

    items: Sequence[Item]
    what: str
    measure: Callable[[Item, Deadline, float], None]
    say: Say
    seconds: float | None = None
    patience: float | None = PATIENCE

    def run(self) -> Ended:
        """Measure all; return why not, if so."""
        start, deadline, done = time.monotonic(), Deadline.after(self.seconds), 0
        try:
            with interruptible():
                for item in self.items:
                    spent = time.monotonic() - start
                    if deadline.left() <= self._least(spent, done):
                        return Ended(self._count("The budget is used up", done))
                    left = self._left(spent, done, deadline)
                    self.say(f"[{done + 1}/{len(self.items)}] {item}{left}")
                    busy = self._busy(deadline)
                    self.measure(item, deadline.part(len(self.items) - done), busy)
                    done += 1
        except KeyboardInterrupt as interrupt:
            number = getattr(interrupt, "number", signal.SIGINT)
            return Ended(self._count("Interrupted", done), number)
        return Ended()

    def _count(self, reason: str, done: int) -> str:
        return f"{reason}: {done} of {len(self.items)} {self.what} were measured."

    def _least(self, spent: float, done: int) -> float:
        """Return the seconds below which another program is not begun."""
        return min(LEAST_SHARE, spent / done) if done else 0.0

    def _busy(self, deadline: Deadline) -> float:
        if self.patience is None:
            return 0.0
        return wait_until_quiet(min(self.patience, deadline.left()), self.say)

    def _left(self, spent: float, done: int, deadline: Deadline) -> str:
        """Return a text on the time left: at the pace so far, and by the budget."""
        expected = spent / done * (len(self.items) - done) if done else float("inf")
        left = min(expected, deadline.left())
        if left == float("inf"):
            return ""
        return f" ({'at most' if left < expected else 'about'} {show_duration(left)} left)"
