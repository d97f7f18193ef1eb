"""The shapes of recorded values, read off the type hints of the records themselves.

In: a dataclass.  Out: `layout_of`: its fields with their shapes; `Opaque` for foreign constants.
Refuses: a type hint that no shape describes, when the layout is first asked for (`TypeError`).
"""

from __future__ import annotations

import types
import typing
from enum import Enum
from functools import cache
from typing import Any, TypeAlias

import islpy as isl

from polyopt.dataclass import MISSING, dataclass, fields, is_dataclass
from polyopt.ir.program import Program
from polyopt.ir.source import ConstArg, LibraryCall


@dataclass(frozen=True, slots=True)
class Opaque:
    """A compiled-in Python object that no record describes: its type and what it prints as."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Plain:
    """Null, a truth value, a number or a text: one of `kinds`."""

    kinds: tuple[type, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """A member of an enum, written as its name; null where `optional`."""

    enum: type[Enum]
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Node:
    """A record of one of `classes`, written as its number; null where `optional`."""

    classes: frozenset[type]
    optional: bool


@dataclass(frozen=True, slots=True)
class Many:
    """A tuple of any length."""

    item: Shape


@dataclass(frozen=True, slots=True)
class Fixed:
    """A tuple of known length."""

    items: tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """A frozen set of texts, written sorted."""


@dataclass(frozen=True, slots=True)
class Points:
    """An isl set, written as its text."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A Python constant a function was compiled for, written with a tag."""


Shape: TypeAlias = Plain | Choice | Node | Many | Fixed | Group | Points | Constant
PLAIN = (bool, int, float, complex, str, type(None))
_CONSTANTS = {(ConstArg, "value"), (LibraryCall, "arguments"), (LibraryCall, "keywords")}


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a record; `default` is `MISSING` where it must be given."""

    name: str
    shape: Shape
    default: Any
    is_name: bool


@dataclass(frozen=True, slots=True)
class Layout:
    """A record's class, its fields in order, and the classes of the records in these."""

    cls: type
    fields: tuple[Field, ...]
    below: frozenset[type]


_LATE = {"Program": Program}
"""Types that the modules of records import for type checkers alone."""
_TEXTS = {
    "Comment": {"text"}, "Barrier": {"note"}, "Statement": {"text"}, "Loc": {"file"},
    "Program": {"file"},
    "Check": {"code", "message", "hint"}, "Fault": {"code", "message", "hint"},
    "LibraryCall": {"function"}, "For": {"label"}, "Repeat": {"label"},
    "LoopFunction": {"trace"}, "Opaque": {"kind", "text"}, "Signature": {"nesting"},
    "Made": {"kind", "names"},
}  # fmt: skip
"""The texts that are for people, or have a form of their own; every other text is a name."""


@cache
def layout_of(cls: type) -> Layout:
    """Return the fields of a record's class."""
    hints = typing.get_type_hints(cls, localns=_LATE)
    free = _TEXTS.get(cls.__name__, set())
    found = []
    for field in fields(cls):
        constant = (cls, field.name) in _CONSTANTS
        shape = Constant() if constant else shape_of(hints[field.name])
        found.append(Field(field.name, shape, field.default, field.name not in free))
    below = frozenset[type]().union(*(_classes(field.shape) for field in found))
    return Layout(cls, tuple(found), below)


def shape_of(hint: Any) -> Shape:  # noqa: ANN401 - a type hint is any object
    """Return the shape of a type hint; raises `TypeError`."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _union(parts)
    if origin is tuple:
        if len(parts) == 2 and parts[1] is Ellipsis:
            return Many(shape_of(parts[0]))
        return Fixed(tuple(shape_of(part) for part in parts))
    if origin is frozenset and parts == (str,):
        return Group()
    if hint is isl.Set:
        return Points()
    if hint in PLAIN:
        return Plain((hint,))
    if isinstance(hint, type) and issubclass(hint, Enum):
        return Choice(hint)
    if isinstance(hint, type) and is_dataclass(hint):
        return Node(frozenset({hint}), False)
    raise TypeError(f"no shape describes {hint!r}")


def _union(parts: tuple[Any, ...]) -> Shape:
    if all(part in PLAIN for part in parts):
        return Plain(tuple(kind for kind in PLAIN if kind in parts))
    kinds = [part for part in parts if part is not type(None)]
    if len(kinds) == 1 and isinstance(kinds[0], type) and issubclass(kinds[0], Enum):
        return Choice(kinds[0], optional=True)
    records: frozenset[type] = frozenset(filter(_is_record, parts))
    if not records | {type(None)} >= set(parts):
        raise TypeError(f"no shape describes {parts!r}")
    return Node(records, type(None) in parts)


def _is_record(hint: object) -> bool:
    return isinstance(hint, type) and is_dataclass(hint)


def classes_below(*roots: type) -> dict[str, type]:
    """Return every record class that values of `roots` may hold, by name."""
    found: dict[str, type] = {}
    waiting: list[type] = list(roots)
    while waiting:
        cls = waiting.pop()
        if cls.__name__ in found:
            assert found[cls.__name__] is cls, f"two records are called {cls.__name__}"
            continue
        found[cls.__name__] = cls
        waiting += sorted(layout_of(cls).below, key=lambda c: c.__name__)
    return found


def _classes(shape: Shape) -> frozenset[type]:
    match shape:
        case Node(classes=classes):
            return classes
        case Many(item=item):
            return _classes(item)
        case Fixed(items=items):
            return frozenset().union(*map(_classes, items))
        case _:
            return frozenset()


def has_default(field: Field) -> bool:
    """Whether a record may leave the field out."""
    return field.default is not MISSING
