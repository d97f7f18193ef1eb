"""Small kernels for trials of the cache and of processes, and what they should compute.

In: a number.  Out: a function, its arguments, the results that Python has for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import polyopt as po


def shifted(a, b):
    for i in range(1, a.shape[0] - 1):
        b[i] = a[i - 1] + 2.0 * a[i + 1]


def summed(a, b):
    for i in range(a.shape[0]):
        b[0] += a[i]


def swept(a, b):
    for t in range(3):
        for i in range(1, a.shape[0]):
            a[i] = 0.5 * (a[i] + a[i - 1]) + b[t]


def scaled(a, b):
    b[:] = a * 3.0 - a[::-1]


FUNCTIONS: tuple[Callable[..., None], ...] = (shifted, summed, swept, scaled)


def wrong(number: int, **options: Any) -> str | None:
    """Compile and call kernel `number`; return what is wrong of its results, or None."""
    function = FUNCTIONS[number % len(FUNCTIONS)]
    rng = np.random.default_rng(number)
    mine = [np.floor(8.0 * rng.random(37)) for _ in range(2)]
    theirs = [array.copy() for array in mine]
    po.kernel(function, **options)(*mine)
    function(*theirs)
    if all(np.array_equal(one, two) for one, two in zip(mine, theirs, strict=True)):
        return None
    return f"{function.__name__} differs from Python"
