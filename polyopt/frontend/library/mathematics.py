"""Functions of Python's math module written with others of it.

In: Python numbers.  Out: what `math` gives.
"""

from __future__ import annotations

import math
from typing import Any


def isclose(a: Any, b: Any, *, rel_tol: Any = 1e-09, abs_tol: Any = 0.0) -> Any:
    """Whether two numbers are close, relative to the larger one."""
    gap = abs(a - b)
    near = gap <= max(rel_tol * max(abs(a), abs(b)), abs_tol)
    return a == b or (near and gap < math.inf)


def isqrt(n: Any) -> Any:
    """The whole part of the square root."""
    guess = int(math.sqrt(n))
    less = guess - (1 if guess * guess > n else 0)
    return less + (1 if (less + 1) * (less + 1) <= n else 0)


def dist(p: Any, q: Any) -> Any:
    """The distance of two points."""
    return math.sqrt(sum([(p[k] - q[k]) * (p[k] - q[k]) for k in range(len(p))]))
