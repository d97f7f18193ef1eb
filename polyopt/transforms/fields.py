"""Read the record of a written step: its words are the values of the record's fields.

In: the class of a record, the words.  Out: the record, as `Strip("i", 32)` of `strip(i, 32)`.
Refuses: words that do not fit (PO0323), a size without a value (PO0326).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from polyopt import transforms
from polyopt.dataclass import MISSING, fields
from polyopt.transforms.arguments import Arguments

if TYPE_CHECKING:
    from polyopt.transforms.layout import Dimension
    from polyopt.transforms.version import Bound

_R = TypeVar("_R")


def read_record(record: type[_R], a: Arguments) -> _R:
    """Return the record that words say: a word for each field, any number for a tuple, the last.

    Fields that have a default may be left out.
    """
    types = {field.name: str(field.type) for field in fields(record)}  # type: ignore[arg-type]
    needed = sum(field.default is MISSING for field in fields(record))  # type: ignore[arg-type]
    has_rest = any(kind.startswith("tuple") for kind in types.values())
    if has_rest:
        a.at_least(needed)
    else:
        a.count(needed, len(types))
    words = len(a.call.words)
    values = [
        _READERS[kind](a, position)
        for position, kind in enumerate(types.values())
        if position < words or kind in _RESTS
    ]
    return record(*values)


def _names(a: Arguments, start: int) -> tuple[str, ...]:
    return tuple(a.name(position) for position in range(start, len(a.call.words)))


DIMENSIONS = "1, 0/32, 0%32, 1+8, 1+2*0 or 1^8*0/2%4"
"""How the dimensions of an array can be kept, in examples."""


def _dimensions(a: Arguments, start: int) -> tuple[Dimension, ...]:
    found = []
    for word in a.call.words[start:]:
        dimension = transforms.read_dimension(word.text)
        if dimension is None:
            raise a.wrong(f"`{word.text}` is no dimension: {DIMENSIONS}", word)
        found.append(dimension)
    return tuple(found)


def _bounds(a: Arguments, start: int) -> tuple[Bound, ...]:
    return tuple(a.bound(position) for position in range(start, len(a.call.words)))


_RESTS: dict[str, Callable[[Arguments, int], object]] = {
    "tuple[str, ...]": _names,
    "tuple[int, ...]": Arguments.numbers,
    "tuple[Size, ...]": Arguments.sizes,
    "tuple[Dimension, ...]": _dimensions,
    "tuple[Bound, ...]": _bounds,
}
_READERS: dict[str, Callable[[Arguments, int], object]] = {
    "str": Arguments.name,
    "int": Arguments.number,
    "Size": Arguments.size,
    "Distance": Arguments.amount,
    **_RESTS,
}
"""What reads the words of a field, by the field's type as it is written."""
