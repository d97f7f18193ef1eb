"""How the results of a call are arranged in tuples and lists.

A nesting is a text: `.` is the next result, `N` is None, `(...)` a tuple, `[...]` a list.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

_END = object()


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
        part = next(waiting[-1], _END)
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
