"""Measure kernels on copies of a call's arguments.

In: a call's values, which of them are written.  Out: seconds; the caller's arrays stay untouched.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

MOST_SECONDS = 1.0  # for a race, where a call is not longer
LEAST, MOST = 2, 15  # rounds
HOPELESS = 2.0  # as long as the champion: not worth a second round


class Copies:
    """Copies of arguments; those that a call writes are restored before the next one.

    `clock` returns seconds; only differences mean something.
    """

    def __init__(
        self,
        values: tuple[object, ...],
        written: Collection[int],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.given: Any = copy.deepcopy(values)
        self.values: Any = copy.deepcopy(values)
        self.written = [n for n in written if isinstance(values[n], np.ndarray)]
        self.clock = clock

    def seconds(self, call: Callable[..., object]) -> float:
        """Return how long one call takes."""
        for number in self.written:
            np.copyto(self.values[number], self.given[number])
        begun = self.clock()
        call(*self.values)
        return self.clock() - begun

    def race(self, one: Callable[..., object], two: Callable[..., object]) -> tuple[float, float]:
        """Return the median seconds of both, called in turns."""
        first, second = self.seconds(one), self.seconds(two)  # also wakes threads, warms caches
        first, second = self.seconds(one), self.seconds(two)
        if second > HOPELESS * first:
            return first, second
        rounds = int(MOST_SECONDS / max(first + second, 1e-6))
        times = [
            (self.seconds(one), self.seconds(two)) for _ in range(max(LEAST, min(rounds, MOST)))
        ]
        ones, twos = zip(*times, strict=True)
        return float(np.median(ones)), float(np.median(twos))


def overlap(values: tuple[object, ...]) -> bool:
    """Tell whether two arrays may share memory, which their copies would not."""
    arrays = [value for value in values if isinstance(value, np.ndarray)]
    return any(
        np.may_share_memory(one, two)
        for number, one in enumerate(arrays)
        for two in arrays[:number]
    )
