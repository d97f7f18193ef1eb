"""Bank conflicts: how often a warp has to ask for shared memory to touch what its lanes want.

In: where each lane of a warp touches a shared array, in bytes, and how many bytes.  Out: how many
times as many turns as without conflicts.
Memory has 32 banks of 4 bytes, one word of each in a turn; accesses of 8 bytes take two turns of
half a warp, those of 16 bytes four of a quarter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

BANKS = 32
WORD = 4
"""Bytes of one bank."""
LANES = 32


def degree(places: Sequence[int], width: int) -> int:
    """Return the turns of the slowest part of a warp; 1 is no conflict.

    >>> degree([4 * lane for lane in range(32)], 4)
    1
    >>> degree([64 * lane for lane in range(32)], 4)
    16
    """
    together = LANES if width <= WORD else LANES * WORD // width
    parts = (places[first : first + together] for first in range(0, len(places), together))
    return max((_turns(part, width) for part in parts), default=1)


def _turns(places: Sequence[int], width: int) -> int:
    """Return how many words of one bank are wanted at most; a word is given to all who want it."""
    words: dict[int, set[int]] = {}
    for place in places:
        for word in range(place // WORD, (place + width - 1) // WORD + 1):
            words.setdefault(word % BANKS, set()).add(word)
    return max((len(found) for found in words.values()), default=1)


def of_warps(place: Callable[[int], int], width: int, threads: int) -> int:
    """Return the degree of the worst warp, where thread `t` touches the byte `place(t)`."""
    warps = (range(first, min(first + LANES, threads)) for first in range(0, threads, LANES))
    return max((degree([place(t) for t in warp], width) for warp in warps), default=1)
