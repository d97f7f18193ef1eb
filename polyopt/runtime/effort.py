"""How much of a processor this process had since some moment.

In: the moment an `Effort` is made.  Out: seconds since then, and whether other work held the cores.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field

OWN = 0.6
"""Part of the time that a process which compiles alone on a machine has a core at least."""


@dataclass(frozen=True, slots=True)
class Effort:
    """What a process does from now on; compilers that it starts and waits for count as its own."""

    start: float = field(default_factory=lambda: time.perf_counter())
    used: float = field(default_factory=lambda: _processor_seconds())

    @property
    def seconds(self) -> float:
        """Wall time since the start."""
        return time.perf_counter() - self.start

    def was_alone(self) -> bool:
        """Tell whether the process had a core for most of the time."""
        return _processor_seconds() - self.used >= OWN * self.seconds


def _processor_seconds() -> float:
    """Return the seconds of processors that this process and those it waited for have used."""
    return sum(os.times()[:4])
