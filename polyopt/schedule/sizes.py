"""Name numbers in steps: `tile(L0, T, T)` with `T = 32`.

In: steps.  Out: their text, with a `let` line where a name gets its value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from polyopt.dataclass import dataclass, fields, is_dataclass


@dataclass(frozen=True, slots=True)
class Named:
    """A number that a schedule's text refers to by name."""

    name: str
    value: int

    def __str__(self) -> str:
        return self.name


Size: TypeAlias = int | Named


def value_of(size: Size) -> int:
    """Return the number."""
    return size.value if isinstance(size, Named) else size


def named_sizes(part: object) -> Iterator[Named]:
    """Yield the named numbers of a step's fields, in order."""
    if isinstance(part, Named):
        yield part
    elif isinstance(part, tuple):
        for element in part:
            yield from named_sizes(element)
    elif is_dataclass(part) and not isinstance(part, type):
        for field in fields(part):
            yield from named_sizes(getattr(part, field.name))


def show_steps(steps: Iterable[object]) -> str:
    """Return the steps in the schedule language, one a line, each name's value before its use.

    >>> from polyopt.transforms import Tile, Unroll
    >>> T = Named("T", 32)
    >>> print(show_steps([Tile("L0", (T, T)), Unroll("i"), Tile("L1", (T,))]))
    let T = 32;
    tile(L0, T, T);
    unroll(i);
    tile(L1, T)
    """
    known: dict[str, int] = {}
    lines = []
    for step in steps:
        for size in named_sizes(step):
            if known.get(size.name) != size.value:
                known[size.name] = size.value
                lines.append(f"let {size.name} = {size.value}")
        lines.append(str(step))
    return ";\n".join(lines)
