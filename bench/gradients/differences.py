"""Gradients against differences: the slope along random directions, as Python computes it.

In: a problem in double precision, its gradient.  Out: the largest error, relative to the slope.
Central differences of fourth order; of several steps the one that fits best counts, since rounding
spoils small ones and curvature large ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.gradients.problem import SEED, Problem

BOUND = 1e-6
STEPS = (1e-2, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 1e-6)


def worst(asked: Problem, gradient: Sequence[NDArray[Any]]) -> tuple[float, str]:
    """Return the largest error along one direction for each array, and the array's name."""
    rng = np.random.default_rng(SEED + 1)
    errors = [
        (_error(asked, name, np.asarray(found), rng), name)
        for name, found in zip(asked.by, gradient, strict=True)
    ]
    return max(errors, key=lambda pair: np.inf if np.isnan(pair[0]) else pair[0])


def _error(asked: Problem, name: str, found: NDArray[Any], rng: np.random.Generator) -> float:
    value = asked.arguments[name]
    if found.shape != value.shape:
        return float("inf")
    if not value.size:
        return 0.0
    size = float(np.sqrt(np.mean(value**2))) or 1.0
    direction = size * rng.choice((-1.0, 1.0), value.shape)
    slope = float(np.sum(found * direction))
    rounding = 1e-3 * abs(asked.weighted({}))  # slopes far below this are lost in it
    scale = max(abs(slope), float(np.linalg.norm(found) * size), rounding, 1e-9)
    best = float("inf")
    for step in STEPS:
        best = min(best, abs(_slope(asked, name, direction, step) - slope) / scale)
        if best <= BOUND / 10:
            break
    return best


def _slope(asked: Problem, name: str, direction: NDArray[Any], step: float) -> float:
    value = asked.arguments[name]

    def moved(by: float) -> float:
        return asked.weighted({name: value + by * direction})

    near = moved(step) - moved(-step)
    far = moved(2 * step) - moved(-2 * step)
    return (8 * near - far) / (12 * step)
