"""A rehearsal: the stages with tiny arrays on the emulator, so that none fails on its first GPU.

In: POLYOPT_BENCH_REHEARSAL, which `--rehearse` sets.  Out: the device to use, and smaller sizes.
"""

from __future__ import annotations

import os

VARIABLE = "POLYOPT_BENCH_REHEARSAL"
_MOST = 48


def is_rehearsal() -> bool:
    """Tell whether numbers mean nothing here."""
    return os.environ.get(VARIABLE) == "1"


def device() -> str | None:
    """Return the device of target `cuda`: the first GPU, but in a rehearsal the emulator."""
    return "emulated-fast" if is_rehearsal() else None


def size(wanted: int) -> int:
    """Return a size of an array, or a number that is quick on the emulator."""
    return min(wanted, _MOST) if is_rehearsal() else wanted
