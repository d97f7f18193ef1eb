"""Gradients by central differences, of the function as Python runs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

STEP = 1e-5


def copied(arguments: tuple[Any, ...]) -> list[Any]:
    return [x.copy() if isinstance(x, np.ndarray) else x for x in arguments]


def differences(function: Callable[..., Any], arguments: tuple[Any, ...], by: int) -> Any:
    """Return the gradient by argument number `by`."""
    value = np.asarray(arguments[by], dtype=float)
    found = np.zeros(value.shape)

    def moved(place: tuple[int, ...], step: float) -> float:
        given = copied(arguments)
        changed = value.copy()
        changed[place] += step
        given[by] = changed if changed.ndim else float(changed)
        return float(function(*given))

    for place in np.ndindex(*value.shape):
        found[place] = (moved(place, STEP) - moved(place, -STEP)) / (2 * STEP)
    return found


def worst(found: Any, wanted: Any) -> float:
    """Return the largest difference, relative to the larger of one and what is wanted."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape, (found.shape, wanted.shape)
    return float(np.max(np.abs(found - wanted) / np.maximum(1.0, np.abs(wanted)), initial=0.0))
