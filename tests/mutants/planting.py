"""Faults put into the compiler for a while.

In: an object, a name, what to put there.  Out: a context in which it is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

Around: TypeAlias = Callable[..., Any]


@dataclass(frozen=True)
class Change:
    """`around(original, *arguments)` in the place of `owner.name`."""

    owner: Any
    name: str
    around: Around

    @contextmanager
    def planted(self) -> Iterator[None]:
        """Make the change while the block runs."""
        original = _raw(self.owner, self.name)
        around = self.around

        def instead(*args: Any, **kwargs: Any) -> Any:
            return around(original, *args, **kwargs)

        setattr(self.owner, self.name, instead)
        try:
            yield
        finally:
            setattr(self.owner, self.name, original)


@dataclass(frozen=True)
class Entry:
    """`value` in the place of `table[key]`."""

    table: dict[Any, Any]
    key: Any
    value: Any

    @contextmanager
    def planted(self) -> Iterator[None]:
        """Make the change while the block runs."""
        original = self.table[self.key]
        self.table[self.key] = self.value
        try:
            yield
        finally:
            self.table[self.key] = original


Plant: TypeAlias = "Change | Entry"


def _raw(owner: Any, name: str) -> Any:
    """Return the function itself, not bound to anything."""
    found: Mapping[str, Any] = vars(owner)
    return found[name]
