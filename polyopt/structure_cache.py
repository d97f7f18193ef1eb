"""Take arguments apart that have the structure of an earlier call's.

In: the arguments of a call, and what was made for them.  Out: for other arguments of the same
structure the same, with the arrays and numbers in them.
Leaves to the slow way: objects other than tuples and dicts, lists, arrays and numbers of other
classes than NumPy's and Python's own.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np

Collect: TypeAlias = Callable[[Any, Callable[[Any], None]], bool]
"""Appends the arrays and numbers in a value; False where it has another structure."""

T = TypeVar("T")
KEPT = 4  # structures
_SCALARS = (np.float32, np.float64, np.int32, np.int64, np.bool_)
_LEAVES: frozenset[type] = frozenset({np.ndarray, bool, int, float, complex, *_SCALARS})


class Structures(Generic[T]):
    """What was made for the structures of the last calls."""

    def __init__(self) -> None:
        self._known: list[tuple[Collect, T]] = []

    def find(self, given: tuple[object, ...]) -> tuple[T, tuple[object, ...]] | None:
        """Return what was made for arguments of this structure, and the arrays and numbers."""
        for collect, made in self._known:
            leaves: list[object] = []
            if collect(given, leaves.append):
                return made, tuple(leaves)
        return None

    def add(self, given: tuple[object, ...], made: T) -> None:
        """Note what was made for these arguments, if their structure is one of the simple ones."""
        collect = _of(given)
        if collect is not None:
            self._known = [(collect, made), *self._known[: KEPT - 1]]


def _of(value: object) -> Collect | None:
    kind = type(value)
    if kind in _LEAVES:
        return _leaf
    if value is None or kind is FunctionType:
        return lambda given, _: given is value
    if isinstance(value, tuple):
        return _items(kind, [_of(part) for part in value])
    if isinstance(value, dict) and kind is dict:
        return _entries(tuple(value), [_of(part) for part in value.values()])
    return None


def _leaf(given: Any, append: Callable[[Any], None]) -> bool:  # noqa: ANN401
    append(given)
    return type(given) in _LEAVES


def _items(kind: type, parts: list[Collect | None]) -> Collect | None:
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    count = len(known)

    def collect(given: Any, append: Callable[[Any], None]) -> bool:  # noqa: ANN401
        if type(given) is not kind:
            return False
        values: tuple[Any, ...] = given
        if len(values) != count:
            return False
        for part, one in zip(known, values, strict=True):  # noqa: SIM110 - generators take long
            if not part(one, append):
                return False
        return True

    return collect


def _entries(names: tuple[object, ...], parts: list[Collect | None]) -> Collect | None:
    inside = _items(tuple, parts)
    if inside is None:
        return None

    def collect(given: Any, append: Callable[[Any], None]) -> bool:  # noqa: ANN401
        if type(given) is not dict or tuple(given) != names:
            return False
        return inside(tuple(given.values()), append)

    return collect
