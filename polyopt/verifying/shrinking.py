"""The smallest call that still shows a difference.

In: a call that differs, smaller calls to try, what tells whether one differs.  Out: the call and
its difference, after a bounded number of trials.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, TypeVar

import numpy as np

from polyopt.ir.clock import now

_D = TypeVar("_D")
Values: TypeAlias = tuple[Any, ...]
TRIALS = 300
SECONDS = 3.0


def shrunk(
    values: Values,
    difference: _D,
    smaller: Iterable[Values | None],
    differs: Callable[[Values], _D | None],
) -> tuple[Values, _D]:
    """Return the first of `smaller` that differs, else `values`, with plain numbers put in."""
    end = now() + SECONDS
    for candidate in smaller:
        if now() > end:
            break
        found = None if candidate is None else differs(candidate)
        if candidate is not None and found is not None:
            values, difference = candidate, found
            break
    for trial, (number, place, value) in enumerate(_simpler(values)):
        if trial > TRIALS or now() > end:
            break
        candidate = _with(values, number, place, value)
        found = differs(candidate)
        if found is not None:
            values, difference = candidate, found
    return values, difference


def _simpler(values: Values) -> Iterable[tuple[int, tuple[int, ...] | None, Any]]:
    """Yield replacements: 0 everywhere, then 0 or 1 for one element after another."""
    arrays = [(n, v) for n, v in enumerate(values) if isinstance(v, np.ndarray)]
    for number, array in arrays:
        if array.size > 1:
            yield number, None, 0
    for number, array in arrays:
        for place in np.ndindex(array.shape):
            if array[place] not in (0, 1):
                yield number, place, 0
                yield number, place, 1


def _with(values: Values, number: int, place: tuple[int, ...] | None, value: Any) -> Values:  # noqa: ANN401
    changed = list(copy.deepcopy(values))
    changed[number][... if place is None else place] = value
    return tuple(changed)
