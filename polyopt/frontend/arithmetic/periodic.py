"""`x % n` and `x // n` by a size: affine where `x` stays within one period of the size.

In: two integer expressions.  Out: an affine choice, or None when the range of `x` is not known.
"""

from __future__ import annotations

from polyopt.frontend.integers.affine_integers import (
    ONE,
    ZERO,
    at_least,
    constant,
    is_affine,
    less,
    minus,
    plus,
    select,
    times,
)
from polyopt.frontend.program.builder import Builder
from polyopt.ir.expr import Expr, integer


def by_size(b: Builder, name: str, value: Expr, size: Expr) -> Expr | None:
    """Return `value % size` ("remainder") or `value // size` for `-size <= value < 2 * size`."""
    if constant(size) is not None or not (is_affine(value) and is_affine(size)):
        return None
    outside = (less(size, ONE), less(value, times(size, -1)), at_least(value, times(size, 2)))
    if not all(b.never(condition, scouting=True) for condition in outside):
        return None
    below, above = less(value, ZERO), at_least(value, size)
    if name == "remainder":
        choices = (plus(value, size), minus(value, size), value)
    else:
        choices = (integer(-1), ONE, ZERO)
    within = choices[2] if b.never(above, scouting=True) else select(above, choices[1], choices[2])
    return within if b.never(below, scouting=True) else select(below, choices[0], within)
