"""What the functions of this package ask of the compiler; run by Python they do it by themselves.

In: arrays and constants.  Out: arrays; or a refusal.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np


def require_extent(a: Any, axis: int, extent: int) -> Any:
    """Return `a`, whose dimension `axis` must have this extent."""
    if a.shape[axis] != extent:
        raise ValueError(f"dimension {axis} must have {extent} elements")
    return a


def refused(reason: str, hint: str) -> NoReturn:
    """Refuse the call with a reason and what to write instead."""
    raise NotImplementedError(f"{reason}: {hint}")


def repeated(a: Any, repeats: Any, axis: Any = None) -> Any:
    """Return every layer along the axis `repeats` times, a number."""
    return np.repeat(a, repeats, axis)
