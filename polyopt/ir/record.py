"""Programs and loop functions as plain JSON data: a table of records, each made of earlier ones.

In: a `Program` or a `LoopFunction`, or the data one was written as.  Out: the other one.
The data of equal values is equal.  Refuses with `RecordError` what the records' own types do not
allow: other fields, types, names, versions, more than `MAX_RECORDS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import cache
from typing import Any, TypeVar

import islpy as isl

from polyopt.ir.arranging import is_nesting
from polyopt.ir.budget import query
from polyopt.ir.loops import LoopFunction
from polyopt.ir.program import Program
from polyopt.ir.record_sets import RecordError, set_text, space_of, text_set
from polyopt.ir.record_types import (
    Choice,
    Constant,
    Fixed,
    Group,
    Layout,
    Many,
    Node,
    Opaque,
    Plain,
    Points,
    Shape,
    classes_below,
    has_default,
    layout_of,
)
from polyopt.ir.scop import Scop, Statement
from polyopt.ir.source import Operand, Signature, Source
from polyopt.never import assert_never

__all__ = ["VERSION", "RecordError", "decode", "encode"]

VERSION = 2
MAX_RECORDS = 500_000
MAX_SIZE = 5_000_000
"""Records a value may hold when records that are used twice count twice."""
MAX_DEPTH = 2_000
MAX_TEXT = 100_000
MAX_BITS = 128
_NAME = re.compile(r"[^\W\d]\w*(\.\w+)*\Z|\Z")
_T = TypeVar("_T")


_ROOTS = (Program, LoopFunction, Source, Operand, Opaque)


@cache
def _classes() -> dict[str, type]:
    return classes_below(*_ROOTS)


# -- writing ------------------------------------------------------------------------------------


def encode(value: object, file: Callable[[str], str] = str) -> dict[str, object]:
    """Return `value`, a record, as `{"version", "records"}`; the last record is the value.

    `file` gives the text that is written for the name of a source file.
    """
    with query("a record"):  # other threads may let isl run out of operations meanwhile
        return {"version": VERSION, "records": _Writer(file).write(value)}


class _Writer:
    """Numbers records: equal ones get one number, those inside a record come before it."""

    def __init__(self, file: Callable[[str], str]) -> None:
        self.file = file
        self.classes: set[type] = set(_ROOTS)  # and those below the records that were met
        self.rows: list[dict[str, object]] = []
        self.known: dict[tuple[object, ...], int] = {}
        self.numbers: dict[int, int] = {}  # by id; `kept` keeps the objects alive
        self.kept: list[object] = []

    def write(self, root: object) -> list[dict[str, object]]:
        if type(root) not in _ROOTS:
            self.classes |= set(_classes().values())
        stack = [root]
        while stack:
            value = stack[-1]
            if id(value) in self.numbers:
                stack.pop()
                continue
            waiting = [part for part in self._records_in(value) if id(part) not in self.numbers]
            if waiting:
                stack += reversed(waiting)
                continue
            stack.pop()
            self._number(value)
        return self.rows

    def _records_in(self, value: object) -> Iterator[object]:
        """Yield the records a record's fields hold, through tuples."""
        cls: type = type(value)
        if cls not in self.classes:
            return
        layout = layout_of(cls)
        self.classes |= layout.below
        for field in layout.fields:
            if not isinstance(field.shape, Plain | Choice | Points | Group):
                yield from self._parts(getattr(value, field.name))

    def _parts(self, value: object) -> Iterator[object]:
        if isinstance(value, tuple):
            for part in value:
                yield from self._parts(part)
        elif type(value) in self.classes:
            yield value

    def _number(self, value: object) -> None:
        cls: type = type(value)
        if cls not in self.classes:
            raise RecordError(f"a {cls.__name__} cannot be recorded")
        row: dict[str, object] = {"is": cls.__name__}
        for field in layout_of(cls).fields:
            part = getattr(value, field.name)
            if field.name == "file":
                part = self.file(part)
            if not (has_default(field) and _same(part, field.default)):
                row[field.name] = self._plain(field.shape, part)
        key = tuple((name, _frozen(part)) for name, part in row.items())
        number = self.known.get(key)
        if number is None:
            number = self.known[key] = len(self.rows)
            self.rows.append(row)
        self.numbers[id(value)] = number
        self.kept.append(value)

    def _plain(self, shape: Shape, value: Any) -> object:  # noqa: ANN401 - one case a shape
        match shape:
            case Plain(kinds=kinds):
                if type(value) not in kinds:
                    raise RecordError(f"{value!r} is not what its field may hold")
                return _number(value)
            case Choice():
                assert value is None or isinstance(value, Enum)
                return None if value is None else value.name
            case Node():
                return None if value is None else self.numbers[id(value)]
            case Many(item=item):
                return [self._plain(item, part) for part in value]
            case Fixed(items=items):
                return [self._plain(i, part) for i, part in zip(items, value, strict=True)]
            case Group():
                return sorted(value)
            case Points():
                return set_text(value)
            case Constant():
                return self._constant(value)
            case _:
                assert_never(shape)

    def _constant(self, value: object) -> object:
        match value:
            case None | bool() | str():
                return value
            case Operand() | Opaque():
                return ["record", self.numbers[id(value)]]
            case tuple():
                return ["tuple", *(self._constant(part) for part in value)]
            case slice():
                bounds = (value.start, value.stop, value.step)
                return ["slice", *(self._constant(part) for part in bounds)]
            case _ if type(value) in (int, float, complex):
                return ["number", _number(value)]
            case _:
                return ["opaque", type(value).__name__, repr(value)[:MAX_TEXT]]


def _same(value: object, default: object) -> bool:
    return type(value) is type(default) and value == default


def _frozen(value: object) -> object:
    """Return a row's value as a key: 1, 1.0 and True differ."""
    if isinstance(value, list):
        return tuple(_frozen(part) for part in value)
    if isinstance(value, dict):
        return tuple(value.items())
    return (type(value), value)


def _number(value: object) -> object:
    """Return floats as hexadecimal text, complex numbers as two; anything else as it is."""
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, complex):
        return {"float": value.real.hex(), "imaginary": value.imag.hex()}
    return value


# -- reading ------------------------------------------------------------------------------------


def decode(data: object, cls: type[_T]) -> _T:
    """Return the value of class `cls` that `encode` wrote as `data`."""
    match data:
        case {"version": version, "records": list(rows), **rest} if not rest:
            if version != VERSION or type(version) is not int:
                raise RecordError(f"version {version!r} is not {VERSION}")
            if not 0 < len(rows) <= MAX_RECORDS:
                raise RecordError(f"{len(rows)} records; at most {MAX_RECORDS} are read")
            with query("a record"):
                value = _Reader().read(rows)
        case _:
            raise RecordError("not a table of records")
    if not isinstance(value, cls):
        raise RecordError(f"a {type(value).__name__} where a {cls.__name__} is needed")
    return value


class _Reader:
    """Makes records in order; each may hold those before it."""

    def __init__(self) -> None:
        self.made: list[object] = []
        self.sizes: list[int] = []
        self.depths: list[int] = []
        self.used: list[int] = []  # by the record that is being made

    def read(self, rows: list[object]) -> object:
        for number, row in enumerate(rows):
            self.used = []
            try:
                made = self._record(row)
            except RecordError as error:
                raise RecordError(f"record {number}: {error}") from None
            size = 1 + sum(self.sizes[part] for part in self.used)
            depth = 1 + max((self.depths[part] for part in self.used), default=0)
            if size > MAX_SIZE or depth > MAX_DEPTH:
                raise RecordError(f"record {number}: holds too many others")
            self.made.append(made)
            self.sizes.append(size)
            self.depths.append(depth)
        return self.made[-1]

    def _record(self, row: object) -> object:
        if not isinstance(row, dict) or not isinstance(row.get("is"), str):
            raise RecordError("not a record")
        cls = _classes().get(row["is"])
        if cls is None:
            raise RecordError(f"there is no record {_short(row['is'])}")
        return self._filled(layout_of(cls), row)

    def _filled(self, layout: Layout, row: Mapping[str, object]) -> object:
        name = layout.cls.__name__
        values: dict[str, object] = {}
        for field in layout.fields:
            if field.name in row:
                part = self._value(field.shape, row[field.name], f"{name}.{field.name}")
                if field.is_name:
                    _check_names(part, f"{name}.{field.name}")
                values[field.name] = part
            elif not has_default(field):
                raise RecordError(f"{name} without `{field.name}`")
        if len(values) + 1 != len(row):
            unknown = sorted(map(str, set(row) - {"is", *values}))
            raise RecordError(f"{name} has no field {_short(unknown[0])}")
        made = layout.cls(**values)
        _check_spaces(made)
        return made

    def _value(self, shape: Shape, data: Any, where: str) -> object:  # noqa: ANN401, C901
        match shape:
            case Plain(kinds=kinds):
                value = _read_number(data)
                if type(value) not in kinds:
                    raise RecordError(f"{where} is {_short(data)}")
                return value
            case Choice(enum=enum, optional=optional):
                if data is None and optional:
                    return None
                if not isinstance(data, str) or data not in enum.__members__:
                    raise RecordError(f"{where} is {_short(data)}")
                return enum[data]
            case Node(classes=classes, optional=optional):
                if data is None and optional:
                    return None
                return self._made(data, classes, where)
            case Many(item=item):
                return tuple(self._value(item, part, where) for part in _list(data, where))
            case Fixed(items=items):
                parts = _list(data, where)
                if len(parts) != len(items):
                    raise RecordError(f"{where} has {len(parts)} parts, not {len(items)}")
                pairs = zip(items, parts, strict=True)
                return tuple(self._value(item, part, where) for item, part in pairs)
            case Group():
                names = _list(data, where)
                if not all(isinstance(name, str) for name in names) or names != sorted(set(names)):
                    raise RecordError(f"{where} is not a sorted list of texts")
                return frozenset(names)
            case Points():
                return _read_set(data, where)
            case Constant():
                return self._constant(data, where)
            case _:
                assert_never(shape)

    def _made(self, data: object, classes: frozenset[type], where: str) -> object:
        if type(data) is not int or not 0 <= data < len(self.made):
            raise RecordError(f"{where} is {_short(data)}, not an earlier record")
        value = self.made[data]
        if type(value) not in classes:
            raise RecordError(f"{where} is a {type(value).__name__}")
        self.used.append(data)
        return value

    def _constant(self, data: object, where: str, depth: int = 0) -> object:
        if depth > 20:
            raise RecordError(f"{where} is nested too deeply")
        match data:
            case None | bool() | str():
                return data
            case ["record", number]:
                return self._made(number, frozenset({Operand, Opaque}), where)
            case ["number", value]:
                return _read_number(value)
            case ["tuple", *parts]:
                return tuple(self._constant(part, where, depth + 1) for part in parts)
            case ["slice", start, stop, step]:
                bounds = (self._constant(part, where, depth + 1) for part in (start, stop, step))
                return slice(*bounds)
            case ["opaque", str(kind), str(text)]:
                return Opaque(kind, text)
            case _:
                raise RecordError(f"{where} is {_short(data)}")


def _list(data: object, where: str) -> list[Any]:
    if not isinstance(data, list):
        raise RecordError(f"{where} is {_short(data)}, not a list")
    return data


def _read_number(data: object) -> object:
    match data:
        case None | bool():
            return data
        case int():
            if data.bit_length() > MAX_BITS:
                raise RecordError("a number of too many digits")
            return data
        case str():
            if len(data) > MAX_TEXT:
                raise RecordError("a text that is too long")
            return data
        case {"float": str(real), "imaginary": str(imaginary), **rest} if not rest:
            return complex(_read_float(real), _read_float(imaginary))
        case {"float": str(text), **rest} if not rest:
            return _read_float(text)
        case _:
            raise RecordError(f"{_short(data)} is not a number or a text")


def _read_float(text: str) -> float:
    try:
        return float.fromhex(text)
    except (ValueError, OverflowError):
        raise RecordError(f"{_short(text)} is not a number") from None


def _read_set(data: object, where: str) -> isl.Set:
    if not isinstance(data, str) or len(data) > MAX_TEXT:
        raise RecordError(f"{where} is not the text of a set")
    try:
        return text_set(data)
    except RecordError as error:
        raise RecordError(f"{where}: {error}") from None


def _check_spaces(value: object) -> None:
    """Refuse domains whose instances or sizes are not those of their statement and their part.

    And results that are arranged in no way.
    """
    match value:
        case Statement():
            if space_of(value.domain)[1:] != (value.name, value.iters):
                raise RecordError(f"domain is not over {value.name}[{', '.join(value.iters)}]")
        case Signature():
            if not is_nesting(value.nesting, len(value.results)):
                raise RecordError(f"nesting is {_short(value.nesting)}, not one of the results")
        case Scop():
            if space_of(value.context) != (value.params, None, ()):
                raise RecordError("the context is not over the sizes")
            for statement in value.statements:
                if space_of(statement.domain)[0] != value.params:
                    raise RecordError(f"the sizes of {statement.name} are not those of its part")
        case _:
            pass


def _check_names(value: object, where: str) -> None:
    """Refuse texts that are not names, in tuples too."""
    match value:
        case str():
            if not _NAME.match(value):
                raise RecordError(f"{where} is {_short(value)}, not a name")
        case tuple() | frozenset():
            for part in value:
                _check_names(part, where)
        case _:
            pass


def _short(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
