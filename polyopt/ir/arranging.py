"""How results are arranged in tuples and lists, in named tuples, dicts and objects of dataclasses.

In: a nesting, results in order.  Out: what a call returns, and back.
A nesting is a text: `.` is the next result, `N` is None, `(...)` a tuple, `[...]` a list.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from polyopt.dataclass import dataclass

DICT = "dict"
_END = object()


@dataclass(frozen=True, slots=True)
class Made:
    """What tuple number `place` of a nesting stands for: its parts are called `names`.

    `kind` is `DICT`, or a class by the names of its module and its own, `module:name`.
    """

    place: int
    kind: str
    names: tuple[str, ...]


def arranged(nesting: str, values: Iterable[object]) -> object:
    """Return the values, which are in order, as `nesting` arranges them."""
    return _next(iter(nesting), iter(values))


def is_nesting(text: str, count: int) -> bool:
    """Tell whether a text arranges so many results."""
    opened: list[str] = []
    for place, kind in enumerate(text):
        if place and not opened:
            return False
        if kind in "([":
            opened.append(kind)
        elif kind in ")]":
            if not opened or opened.pop() + kind not in ("()", "[]"):
                return False
        elif kind not in ".N":
            return False
    return bool(text) and not opened and text.count(".") == count


def _next(kinds: Iterator[str], values: Iterator[object]) -> object:
    """Return the next part; raises StopIteration where a tuple or list ends."""
    kind = next(kinds)
    if kind == ".":
        return next(values)
    if kind == "N":
        return None
    if kind in ")]":
        raise StopIteration
    items: list[object] = []
    while True:
        try:
            items.append(_next(kinds, values))
        except StopIteration:
            return tuple(items) if kind == "(" else items


def flat(nesting: str, value: object) -> tuple[object, ...]:
    """Return the results in `value`, in order; raises ValueError if they are arranged otherwise."""
    found: list[object] = []
    waiting: list[Iterator[object]] = [iter((value,))]
    for kind in nesting:
        part = plain(next(waiting[-1], _END))
        if (part is _END) is not (kind in ")]"):
            raise ValueError(nesting)
        if kind in ")]":
            waiting.pop()
        elif kind in "([":
            if not isinstance(part, tuple if kind == "(" else list):
                raise ValueError(nesting)
            waiting.append(iter(part))
        elif kind == ".":
            found.append(part)
        elif part is not None:
            raise ValueError(nesting)
    return tuple(found)


def class_of(kind: str) -> type | None:
    """Return the class of this name, from the modules that are imported; None if it is gone."""
    module, _, name = kind.partition(":")
    try:
        found = operator.attrgetter(name)(sys.modules.get(module))
    except AttributeError:
        return None
    return found if isinstance(found, type) else None


def kind_of(found: type) -> str | None:
    """Return the name of a class, or of `dict`; None for a class that no name finds again."""
    kind = DICT if found is dict else f"{found.__module__}:{found.__qualname__}"
    return kind if found is dict or class_of(kind) is found else None


def remade(nesting: str, made: tuple[Made, ...]) -> Callable[[Any], Any]:
    """Return a function from results in tuples and lists to what the function returned.

    A class that is gone, or has other parts now, leaves the tuple.
    """
    by_place = {one.place: one for one in made}
    places = iter(range(len(nesting)))

    def part(kinds: Iterator[str]) -> Callable[[Any], Any] | None:
        """Return the function of the next part; None where it stays; raises StopIteration."""
        kind = next(kinds)
        if kind in ")]":
            raise StopIteration
        if kind in ".N":
            return None
        one = by_place.get(next(places))
        inner: list[Callable[[Any], Any] | None] = []
        while True:
            try:
                inner.append(part(kinds))
            except StopIteration:
                break
        make = (tuple if kind == "(" else list) if one is None else _maker(one)
        if one is None and not any(inner):
            return None
        return lambda items: make(
            item if change is None else change(item)
            for change, item in zip(inner, items, strict=True)
        )

    return part(iter(nesting)) or (lambda result: result)


def _maker(made: Made) -> Callable[[Iterable[Any]], Any]:
    """Return what makes a dict, a named tuple or an object of its parts."""
    if made.kind == DICT:
        return lambda items: dict(zip(made.names, items, strict=True))
    found: Any = class_of(made.kind)
    if getattr(found, "_fields", None) == made.names:
        return lambda items: tuple.__new__(found, items)
    if tuple(getattr(found, "__dataclass_fields__", ())) == made.names:
        return lambda items: with_attributes(found, zip(made.names, items, strict=True))
    return tuple


def with_attributes(kind: type, values: Iterable[tuple[str, Any]]) -> Any:  # noqa: ANN401
    """Return an object of class `kind` with these attributes, made without its `__init__`."""
    made: Any = object.__new__(kind)
    for name, value in values:
        object.__setattr__(made, name, value)
    return made


def replaced(result: Any, change: Callable[[Any], Any]) -> Any:  # noqa: ANN401
    """Return what a function returned with each part changed that is neither of these."""
    if isinstance(result, list):
        return [replaced(part, change) for part in result]
    if isinstance(result, dict):
        return {name: replaced(part, change) for name, part in result.items()}
    if isinstance(result, tuple):
        return tuple.__new__(type(result), (replaced(part, change) for part in result))
    names = getattr(result, "__dataclass_fields__", None)
    if names is None:
        return change(result)
    parts = ((name, replaced(getattr(result, name), change)) for name in names)
    return with_attributes(type(result), parts)


def plain(value: Any) -> Any:  # noqa: ANN401
    """Return what `Made` stands for as the tuple of its parts; other values as they are."""
    if isinstance(value, dict):
        return tuple(value.values())
    names = getattr(value, "__dataclass_fields__", None)
    return value if names is None else tuple(getattr(value, name) for name in names)
