"""How long a device takes for what it is asked to do.

In: a provider and an action that asks it for something.  Out: seconds for each run of the action.
Refuses: nothing; where a device has no clock of its own, the host's is read around each run.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from time import perf_counter

from polyopt.runtime.device.provider import Provider, Timed


def time_runs(provider: Provider, action: Callable[[], object], runs: int) -> tuple[float, ...]:
    """Return the seconds of each of `runs` runs, after one that is not counted."""
    action()
    provider.synchronize()
    if not isinstance(provider, Timed):
        return tuple(_on_host(provider, action) for _ in range(runs))
    marks = [provider.mark()]
    for _ in range(runs):
        action()
        marks.append(provider.mark())
    return tuple(provider.seconds(start, end) for start, end in pairwise(marks))


def _on_host(provider: Provider, action: Callable[[], object]) -> float:
    start = perf_counter()
    action()
    provider.synchronize()
    return perf_counter() - start
