"""How long a run may take: compiling, checking and waiting as well as timing.

In: seconds, or None for no limit.  Out: `Deadline`, the time left and shares of it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import inf

SLACK = 4.0  # a program may take so many times its share of what is left
LEAST_SHARE = 10.0  # seconds that every program may take, as long as there are any


@dataclass(frozen=True, slots=True)
class Deadline:
    """A time of the monotonic clock; infinite where there is no limit."""

    end: float = inf

    @staticmethod
    def after(seconds: float | None) -> Deadline:
        """Return the deadline so many seconds from now."""
        return Deadline() if seconds is None else Deadline(time.monotonic() + seconds)

    def left(self) -> float:
        """Return the seconds until then, 0 when it has passed."""
        return max(0.0, self.end - time.monotonic())

    def part(self, count: int) -> Deadline:
        """Return the deadline of the next of `count` programs.

        Most programs take less than their share, whose rest goes to the slower ones; none can
        take all that is left.
        """
        if self.end == inf:
            return self
        share = self.left() / max(count, 1)
        return Deadline(min(self.end, time.monotonic() + max(LEAST_SHARE, SLACK * share)))


def show_duration(seconds: float) -> str:
    """Return seconds as `45 s`, `12 min` or `2 h 05 min`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"
