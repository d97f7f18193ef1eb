"""The clock that times calls: the wall's, or that of the processor.

In: its name, by a variable of the environment that workers inherit.  Out: seconds.
The processor's counts what the threads of the process ran.  Other programs on the machine hardly
change it, so with one thread it can be compared where nothing else can; with more threads it says
nothing of how long a call takes.
"""

from __future__ import annotations

import os
from time import perf_counter, process_time

NAMES = ("wall", "processor")
VARIABLE = "POLYOPT_BENCH_CLOCK"


def choose(name: str) -> None:
    """Time calls by this clock, here and in workers started from now on."""
    os.environ[VARIABLE] = name


def name() -> str:
    """Return the name of the clock that was chosen."""
    return os.environ.get(VARIABLE, NAMES[0])


def now() -> float:
    """Return the seconds of the clock; only differences mean something."""
    return process_time() if name() == NAMES[1] else perf_counter()
