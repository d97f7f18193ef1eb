"""Whether other programs use the processor: asked before each program that is timed.

In: how long to wait at most.  Out: how many cores were busy when the waiting ended.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from bench.budget import show_duration

INTERVAL = 0.25  # seconds over which the cores are watched
BUSY = 0.15  # of all cores: more moves times by more than their spread
_IDLE = (3, 4)  # idle and iowait among the fields of /proc/stat


def _ticks(cores: set[int]) -> tuple[int, int]:
    """Return the ticks of these cores so far, and those of them in which nothing ran."""
    total = idle = 0
    for line in Path("/proc/stat").read_text().splitlines():
        name, *fields = line.split()
        if name[:3] == "cpu" and name[3:].isdecimal() and int(name[3:]) in cores:
            values = [int(field) for field in fields[:8]]
            total += sum(values)
            idle += sum(values[place] for place in _IDLE)
    return total, idle


def busy_cores(seconds: float = INTERVAL) -> float:
    """Return how many of this process's cores run something; 0 where the system does not say.

    The processes of the run wait meanwhile, so that it is other programs that are seen.
    """
    cores = os.sched_getaffinity(0)
    try:
        before = _ticks(cores)
        time.sleep(seconds)
        after = _ticks(cores)
    except OSError:
        return 0.0
    total, idle = (new - old for new, old in zip(after, before, strict=True))
    return len(cores) * (1.0 - idle / total) if total > 0 else 0.0


def is_busy(busy: float) -> bool:
    """Whether so many busy cores make times untrustworthy."""
    return busy > BUSY * len(os.sched_getaffinity(0))


def wait_until_quiet(patience: float, say: Callable[[str], None]) -> float:
    """Wait until other programs leave the cores, `patience` seconds at most; return who did not."""
    end = time.monotonic() + patience
    busy = busy_cores()
    if is_busy(busy) and patience > 0:
        say(f"{busy:.1f} cores are busy: waiting at most {show_duration(patience)}")
    while is_busy(busy) and time.monotonic() < end:
        busy = busy_cores(2 * INTERVAL)
    return round(busy, 2)
