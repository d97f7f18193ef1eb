"""A function of NumPy's that polyopt does not know, written in what it knows."""

from __future__ import annotations

from typing import Any

import numpy as np


def unwrap(p: Any) -> Any:
    """Return angles with jumps of more than half a turn taken out, along a vector."""
    found = np.zeros(p.shape[0])
    turns = 0.0
    found[0] = p[0]
    for n in range(1, p.shape[0]):
        turns -= np.round((p[n] - p[n - 1]) / (2.0 * np.pi))
        found[n] = p[n] + 2.0 * np.pi * turns
    return found
