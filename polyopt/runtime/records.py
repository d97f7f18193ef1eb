"""Signatures, parameters and the host's loops as JSON, for the cache.

In: a record, or the JSON value it was written as.  Out: the other one; the round trip is exact.
Refuses: with `RecordError` any value, class or field outside the closed table below, and fields
that hold something else than their class says.
"""

from __future__ import annotations

import typing
from collections.abc import Callable
from enum import Enum
from functools import cache
from types import NoneType

from polyopt.dataclass import fields
from polyopt.errors import Loc
from polyopt.ir.annotations import (
    Annotation,
    Finishes,
    Grouped,
    Lanes,
    Pipeline,
    Reductions,
    SimdLength,
    Streams,
)
from polyopt.ir.arranging import Made
from polyopt.ir.array import Array, Role, Turn
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Call,
    Cast,
    Compare,
    CompareOp,
    Const,
    Expr,
    Iter,
    Load,
    MathFunc,
    Param,
    Select,
    Symbol,
    Unary,
    UnaryOp,
)
from polyopt.ir.host import DeviceProgram
from polyopt.ir.loops import (
    AllocateArray,
    Body,
    Break,
    CallLibrary,
    Declare,
    Fail,
    For,
    Gathered,
    If,
    Kernel,
    LoopKind,
    SetLocal,
    While,
)
from polyopt.ir.source import (
    Argument,
    ArrayArg,
    Check,
    Computed,
    ConstArg,
    CParam,
    CParamKind,
    DeviceSource,
    Fault,
    IntegerOf,
    KernelEntry,
    KernelParam,
    KernelParamKind,
    Layout,
    LibraryCall,
    Operand,
    OutputArray,
    Part,
    Result,
    ResultKind,
    ScalarArg,
    Signature,
    SizeOf,
    Source,
    Start,
    StartOf,
    Subscripts,
)
from polyopt.ir.types import DType

_RECORDS: dict[str, type] = {
    cls.__name__: cls
    for cls in (
        Loc, ArrayArg, ScalarArg, ConstArg, SizeOf, IntegerOf, OutputArray, Result, Check,
        Computed, Signature, CParam, Source, Made,
        Fault, Subscripts, LibraryCall, Operand, Part, Start, StartOf,
        Const, Iter, Param, Symbol, Load, Unary, Binary, Compare, Call, Select, Cast,
        DeviceProgram, DeviceSource, KernelEntry, KernelParam, Array, Turn,
        For, While, If, Break, Fail, Declare, SetLocal, AllocateArray, CallLibrary, Kernel,
        Gathered, Reductions, Lanes, Pipeline, Grouped, Finishes, Streams, SimdLength,
    )
}  # fmt: skip
_ENUMS: dict[str, type[Enum]] = {
    cls.__name__: cls
    for cls in (
        DType, Layout, ResultKind, CParamKind, BinaryOp, UnaryOp, CompareOp, MathFunc,
        KernelParamKind, LoopKind, Role,
    )
}  # fmt: skip
_FIELDS = {name: tuple(f.name for f in fields(cls)) for name, cls in _RECORDS.items()}
_PLAIN: dict[str, type] = {
    "bool": bool, "int": int, "float": float, "complex": complex, "str": str, "None": NoneType,
}  # fmt: skip
_ALIASES = {
    "Expr": Expr,
    "Argument": Argument,
    "Node": typing.get_args(Body)[0],
    "Annotation": Annotation,
}
_MAX_DEPTH = 200


class RecordError(ValueError):
    """A value is not in the table, or JSON does not describe one that is."""


def to_json(value: object, depth: int = 0) -> object:
    """Return `value` as lists, strings, numbers and None; a list's head says what it is."""
    if depth > _MAX_DEPTH:
        raise RecordError("nested too deeply")
    match value:
        case None | bool() | str():
            return value
        case int() | float() | complex():
            return _number(value)
        case tuple():
            return ["tuple", *(to_json(part, depth + 1) for part in value)]
        case slice():
            bounds = (value.start, value.stop, value.step)
            return ["slice", *(to_json(part, depth + 1) for part in bounds)]
        case Enum():
            name = type(value).__name__
            return ["enum", name, value.name] if name in _ENUMS else _unknown(value)
        case _:
            name = type(value).__name__
            if _RECORDS.get(name) is not type(value):
                return _unknown(value)
            parts = [to_json(getattr(value, field), depth + 1) for field in _FIELDS[name]]
            return ["record", name, *parts]


def _number(value: float | complex) -> object:
    if type(value) is int:
        return ["int", str(value)]
    if type(value) is float:
        return ["float", value.hex()]
    if type(value) is complex:
        return ["complex", value.real.hex(), value.imag.hex()]
    return _unknown(value)


def _unknown(value: object) -> object:
    raise RecordError(f"a {type(value).__name__} cannot be recorded")


def from_json(data: object) -> object:
    """Return the value that `to_json` wrote as `data`."""
    try:
        return _decode(data, 0)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise RecordError(f"malformed record: {error}") from error


def _decode(data: object, depth: int) -> object:
    if depth > _MAX_DEPTH:
        raise RecordError("nested too deeply")
    match data:
        case None | bool() | str():
            return data
        case ["int", str(text)]:
            return int(text)
        case ["float", str(text)]:
            return float.fromhex(text)
        case ["complex", str(real), str(imag)]:
            return complex(float.fromhex(real), float.fromhex(imag))
        case ["tuple", *parts]:
            return tuple([_decode(part, depth + 1) for part in parts])
        case ["slice", start, stop, step]:
            return slice(*[_decode(part, depth + 1) for part in (start, stop, step)])
        case ["enum", str(name), str(member)]:
            return _ENUMS[name][member]
        case ["record", str(name), *parts]:
            return _record(name, [_decode(part, depth + 1) for part in parts])
        case _:
            raise RecordError(f"unexpected {type(data).__name__}")


def _record(name: str, values: list[object]) -> object:
    for (field, fits), value in zip(_checks(name), values, strict=True):
        if not fits(value):
            raise RecordError(f"{name}.{field} is a {type(value).__name__}")
    return _RECORDS[name](**dict(zip(_FIELDS[name], values, strict=True)))


Fits: typing.TypeAlias = Callable[[object], bool]


@cache
def _checks(name: str) -> tuple[tuple[str, Fits], ...]:
    """Return for each field of a record what tells whether a value is of the field's type."""
    return tuple((field.name, _fits(str(field.type))) for field in fields(_RECORDS[name]))


@cache
def _fits(hint: str) -> Fits:
    """Return the test for values of a type, as the text of a class has it."""
    if hint in ("object", "tuple[object, ...]"):
        return lambda value: hint == "object" or isinstance(value, tuple)
    if hint == "Body":
        return _fits("tuple[Node, ...]")
    if hint.startswith("tuple["):
        *items, last = _split(hint.removeprefix("tuple[").removesuffix("]"))
        if last == "...":
            (item,) = map(_fits, items)
            return lambda value: isinstance(value, tuple) and all(map(item, value))
        parts = tuple(map(_fits, (*items, last)))
        return lambda value: (
            isinstance(value, tuple)
            and len(value) == len(parts)
            and all(fits(part) for fits, part in zip(parts, value, strict=True))
        )
    classes = frozenset(cls for name in hint.split(" | ") for cls in _classes(name))
    return lambda value: type(value) in classes


def _split(text: str) -> list[str]:
    """Return the parts between commas outside of brackets."""
    parts, depth = [""], 0
    for mark in text:
        depth += (mark == "[") - (mark == "]")
        if mark == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += mark
    return [part.strip() for part in parts]


def _classes(name: str) -> tuple[type, ...]:
    if name in _ALIASES:
        return typing.get_args(_ALIASES[name])
    found = _PLAIN.get(name) or _RECORDS.get(name) or _ENUMS.get(name)
    assert found is not None, f"no class is called {name}"
    return (found,)
