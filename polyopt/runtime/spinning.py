"""How long a thread that waits for others keeps its core: GNU OpenMP's busy waiting, cut short.

Left alone, a thread of libgomp spins for up to 17 ms before it sleeps.  Where other work wants the
core (a library's threads after a call, another process), the thread that all are waiting for may
not get it until then, at every barrier.  Waiting for a few times what sleeping and waking costs is
never far from the best (Karlin, Li, Manasse and Owicki, "Empirical studies of competitive spinning
for a shared-memory multiprocessor", 1991); threads that are woken at each barrier tend to end up on
one core, so it is not less.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

SPINS = "20000"
"""Rounds of waiting, of one `pause` each: from 0.3 to 1.1 ms."""

VARIABLE = "GOMP_SPINCOUNT"
CHOSEN = (VARIABLE, "OMP_WAIT_POLICY")


@contextmanager
def short_waits() -> Iterator[None]:
    """Load OpenMP's library inside: it reads its environment once, which is as before behind.

    What the user has set stays.
    """
    if any(name in os.environ for name in CHOSEN):
        yield
        return
    os.environ[VARIABLE] = SPINS
    try:
        yield
    finally:
        os.environ.pop(VARIABLE, None)
