"""Arguments that hold arrays and numbers: tuples, lists, dicts, dataclasses, objects; functions.

In: a function, the values of a call.  Out: `Unpacked`: a Python function of arrays and numbers
alone, which puts the arguments together and calls the first one, and its arguments.
Leaves alone: arrays, numbers, and what neither is nor holds one.
`Structures` knows the simple ones of the last calls: tuples and dicts of arrays and numbers.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Collection, Iterator, Mapping
from enum import Enum
from functools import lru_cache
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np

from polyopt.capture.text import function_of_text
from polyopt.dataclass import dataclass
from polyopt.digest import hex_digest
from polyopt.errors import ArgumentError, Loc, PolyoptError
from polyopt.runtime.values import array_of
from polyopt.specialize import type_of

DEEPEST = 8
_FILE = "<polyopt call "
_NUMBERS = (bool, int, float, complex, np.generic)
_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, np.ufunc)


Collect: TypeAlias = Callable[[Any, Callable[[Any], None]], bool]
"""Appends the arrays and numbers in a value; False where it has another structure."""

T = TypeVar("T")
KEPT = 4  # structures
_NUMPY = (np.float32, np.float64, np.int32, np.int64, np.bool_)
_LEAVES: frozenset[type] = frozenset({np.ndarray, bool, int, float, complex, *_NUMPY})


@dataclass(frozen=True, slots=True)
class Leaf:
    """An array or a number."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """A list of numbers of one type, nested `depth` times, as an array."""

    kind: type
    depth: int


@dataclass(frozen=True, slots=True)
class Constant:
    """A function, a member of an enumeration, or None."""

    value: object


@dataclass(frozen=True, slots=True)
class Items:
    """A tuple, a list or a named tuple."""

    kind: type
    parts: tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class Fields:
    """An object with attributes, or a dict with names as keys."""

    kind: type
    names: tuple[str, ...]
    parts: tuple[Shape, ...]


Shape: TypeAlias = "Leaf | Numbers | Constant | Items | Fields"


@dataclass(frozen=True, eq=False)
class Unpacked:
    """A function of arrays and numbers, and the arguments of one call of it."""

    function: Callable[..., Any]
    values: tuple[object, ...]


def is_structured(value: object) -> bool:
    """Tell whether an argument is none of the arrays and numbers that kernels take as they are."""
    if value is None or (
        isinstance(value, (np.ndarray, *_NUMBERS)) and not isinstance(value, Enum)
    ):
        return False
    if isinstance(value, (Enum, tuple, list, *_FUNCTIONS)) or hasattr(value, "py_func"):
        return True
    return _attributes(value) is not None


def unpacked(
    function: Callable[..., Any], signature: inspect.Signature, values: tuple[object, ...]
) -> Unpacked:
    """Return `function` for arguments of these shapes, and the arrays and numbers in `values`.

    Raises `ArgumentError` PO0206 where the function uses a tuple or a list as an array, or does
    more with a list than to read it.
    """
    leaves: list[object] = []
    shapes: list[Shape] = []
    for parameter, value in zip(signature.parameters.values(), values, strict=True):
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            shapes.append(_spread(value, leaves))
            continue
        if isinstance(value, tuple | list) and _is_an_array(function, parameter.name):
            type_of(parameter.name, value, False, {})  # refuses what is no array
        if isinstance(value, list):
            _require_reading(function, parameter.name)
        shapes.append(_shape(value, leaves, ()))
    return Unpacked(_wrapper(function, signature, tuple(shapes)), tuple(leaves))


@lru_cache(maxsize=512)
def _is_an_array(function: Callable[..., Any], name: str) -> bool:
    from polyopt.frontend.syntax.list_usage import is_used_as_array
    from polyopt.frontend.syntax.pysource import read_function

    return is_used_as_array(read_function(function).tree, name)


@lru_cache(maxsize=512)
def _require_reading(function: Callable[..., Any], name: str) -> None:
    """Require that a function only reads a list, which its kernel gets a copy of."""
    from polyopt.frontend.syntax.list_usage import other_use
    from polyopt.frontend.syntax.pysource import read_function

    found = read_function(getattr(function, "stands_for", function))
    use = other_use(found.tree, name)
    if use is not None:
        raise ArgumentError(
            "PO0206",
            f"`{name}` is a list, which may be changed here: kernels index, iterate and measure"
            " lists only",
            loc=found.loc(use),
            hint=f"convert it once: `{name} = np.array({name})`",
        )


def _shape(value: object, leaves: list[object], around: tuple[int, ...]) -> Shape:
    """Return the shape of a value; `around` are the objects that it is part of, by identity."""
    depth, inside = len(around), (*around, id(value))
    if depth < DEEPEST:
        if value is None and depth:
            return Constant(None)
        if isinstance(value, (Enum, *_FUNCTIONS)) or hasattr(value, "py_func"):
            return Constant(value)
        if isinstance(value, list):
            found = _numbers(value) if not depth else None
            if found is not None:
                array = np.array(value)
                array.flags.writeable = False  # the list would not change
                leaves.append(array)
                return found
        if isinstance(value, tuple | list):
            kind = tuple if depth and isinstance(value, list) else type(value)
            return Items(kind, tuple(_shape(v, leaves, inside) for v in value))
        attributes = _attributes(value)
        if attributes is not None:
            kept = {name: part for name, part in attributes.items() if _is_kept(part, inside)}
            parts = tuple(_shape(part, leaves, inside) for part in kept.values())
            return Fields(type(value), tuple(kept), parts)
    leaves.append(value)
    return Leaf()


def _spread(value: Any, leaves: list[object]) -> Shape:  # noqa: ANN401
    """Return the shape of what `*args` or `**kwargs` take."""
    parts = value.values() if isinstance(value, dict) else value
    inner = tuple(_shape(part, leaves, (id(value),)) for part in parts)
    return Fields(dict, tuple(value), inner) if isinstance(value, dict) else Items(tuple, inner)


def _numbers(value: list[Any]) -> Numbers | None:
    """Return the shape of a list of Python's numbers, nested and rectangular."""
    depth, level = 1, value
    while level and isinstance(level[0], list):
        if any(not isinstance(row, list) or len(row) != len(level[0]) for row in level):
            return None
        level = [item for row in level for item in row]
        depth += 1
    kinds = {type(item) for item in level}
    if len(kinds) != 1 or not kinds <= {bool, int, float, complex}:
        return None
    (kind,) = kinds
    if kind is int and any(abs(item) >= 2**62 for item in level):
        return None
    return Numbers(kind, depth)


def attributes_of(value: object) -> Mapping[str, object] | None:
    """Return the attributes of an object that a kernel can use, None for arrays and numbers."""
    found = _attributes(value)
    if found is None:
        return None
    return {name: part for name, part in found.items() if _is_kept(part, (id(value),))}


def _attributes(value: object) -> Mapping[str, object] | None:
    """Return the attributes of an object of a Python class that is no array, a dict's entries."""
    kind = type(value)
    if kind is dict:
        return _entries(value)
    if isinstance(value, type | types.ModuleType) or kind.__module__ == "builtins":
        return None
    if kind.__module__.startswith("polyopt."):  # a type, a lazy array
        return None
    is_array = any(hasattr(kind, f"__{name}__") for name in ("array_ufunc", "array", "dlpack"))
    if is_array or array_of(value) is not None:
        return None
    names = getattr(kind, "__dataclass_fields__", None)
    found = dict(getattr(value, "__dict__", {}))
    if names is not None:
        found |= {name: getattr(value, name) for name in names if hasattr(value, name)}
    return found if found or names is not None else None


def _entries(value: Any) -> Mapping[str, object] | None:  # noqa: ANN401
    """Return the entries of a dict whose keys are names and whose values a kernel can use."""
    named = all(isinstance(key, str) and key.isidentifier() for key in value)
    return (
        value
        if value and named and all(_is_kept(v, (id(value),)) for v in value.values())
        else None
    )


def _is_kept(part: object, around: tuple[int, ...]) -> bool:
    """Tell whether an attribute is something that a kernel can use, and no object around it."""
    if id(part) in around or (len(around) >= DEEPEST and is_structured(part)):
        return False
    if isinstance(part, np.ndarray):
        return part.dtype.kind in "biufcV" and not part.dtype.hasobject
    return part is None or isinstance(part, _NUMBERS) or is_structured(part)


def at_definition(error: PolyoptError, function: Callable[..., Any]) -> PolyoptError:
    """Return the error of a call that was taken apart, at a place that the user wrote."""
    code = getattr(function, "__code__", None)
    if code is not None and error.loc is not None and error.loc.file.startswith(_FILE):
        line = code.co_firstlineno
        error.loc = Loc(code.co_filename, line, 1, line, 1)
    return error


# -- the function -------------------------------------------------------------------------------


@lru_cache(maxsize=512)
def _wrapper(
    function: Callable[..., Any], signature: inspect.Signature, shapes: tuple[Shape, ...]
) -> Callable[..., Any]:
    """Return a function that puts the arguments together and calls `function`."""
    from polyopt.frontend.values.records import record

    scope: dict[str, object] = {"_function": function, "_record": record}
    names: list[str] = []
    given: list[str] = []
    for parameter, shape in zip(signature.parameters.values(), shapes, strict=True):
        given += _passed(parameter, shape, names, scope)
    name = getattr(function, "__name__", "")
    name = name if name.isidentifier() else "kernel"  # a lambda has none
    text = f"def {name}({', '.join(names)}):\n    return _function({', '.join(given)})\n"
    file = f"{_FILE}{hex_digest(text.encode(), 8)} of {name}>"
    return function_of_text(text, name, file, scope)


def _passed(
    parameter: inspect.Parameter, shape: Shape, names: list[str], scope: dict[str, object]
) -> Iterator[str]:
    """Yield the texts of what a parameter gets."""
    match parameter.kind, shape:
        case parameter.VAR_POSITIONAL, Items(parts=parts):
            for number, part in enumerate(parts):
                yield _text(part, f"{parameter.name}_{number}", names, scope)
        case parameter.VAR_KEYWORD, Fields(names=keys, parts=parts):
            for key, part in zip(keys, parts, strict=True):
                yield f"{key}={_text(part, f'{parameter.name}_{key}', names, scope)}"
        case parameter.KEYWORD_ONLY, _:
            yield f"{parameter.name}={_text(shape, parameter.name, names, scope)}"
        case _:
            yield _text(shape, parameter.name, names, scope)


def _text(shape: Shape, name: str, names: list[str], scope: dict[str, object]) -> str:
    """Return the expression of an argument; notes the parameters and the names that it uses."""
    match shape:
        case Leaf():
            names.append(unused_name(name, names))
            return names[-1]
        case Numbers(kind=kind, depth=depth):
            names.append(unused_name(name, names))
            text = f"{kind.__name__}(_0)"
            for level in range(depth):
                source = names[-1] if level == depth - 1 else f"_{level + 1}"
                text = f"[{text} for _{level} in {source}]"
            return text
        case Constant(value=value):
            scope[f"_{name}"] = value
            return f"_{name}"
        case Items(kind=kind, parts=parts):
            texts = [_text(p, f"{name}_{n}", names, scope) for n, p in enumerate(parts)]
            if kind is list:
                return f"[{', '.join(texts)}]"
            if kind is tuple:
                return f"({', '.join(texts)},)" if texts else "()"
            scope[f"_{name}_type"] = kind
            return f"_{name}_type({', '.join(texts)})"
        case Fields(kind=kind, names=attributes, parts=parts):
            scope[f"_{name}_type"] = kind
            texts = [
                f"{attribute}={_text(part, f'{name}_{attribute}', names, scope)}"
                for attribute, part in zip(attributes, parts, strict=True)
            ]
            return f"_record({', '.join((f'_{name}_type', *texts))})"


def unused_name(name: str, names: Collection[str]) -> str:
    """Return `name`, with a number behind it if it is one of `names`."""
    return next(found for found in _numbered(name) if found not in names)


def _numbered(name: str) -> Iterator[str]:
    yield name
    number = 1
    while True:
        yield f"{name}_{number}"
        number += 1


# -- structures of earlier calls ------------------------------------------------------------------


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
        collect = _collector(given)
        if collect is not None:
            self._known = [(collect, made), *self._known[: KEPT - 1]]


def _collector(value: object) -> Collect | None:
    kind = type(value)
    if kind in _LEAVES:
        return _collect_leaf
    if value is None or kind is types.FunctionType or isinstance(value, Enum):
        return lambda given, _: given is value
    if isinstance(value, tuple):
        return _collect_items(kind, [_collector(part) for part in value])
    if isinstance(value, dict) and kind is dict:
        return _collect_entries(tuple(value), [_collector(part) for part in value.values()])
    return None


def _collect_leaf(given: Any, append: Callable[[Any], None]) -> bool:  # noqa: ANN401
    append(given)
    return type(given) in _LEAVES


def _collect_items(kind: type, parts: list[Collect | None]) -> Collect | None:
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    count = len(known)

    def is_one(value: object) -> bool:
        return type(value) is kind

    def collect(given: Any, append: Callable[[Any], None]) -> bool:  # noqa: ANN401
        values: Any = given
        if not is_one(values) or len(values) != count:
            return False
        for part, one in zip(known, values, strict=True):  # noqa: SIM110 - generators take long
            if not part(one, append):
                return False
        return True

    return collect


def _collect_entries(names: tuple[object, ...], parts: list[Collect | None]) -> Collect | None:
    inside = _collect_items(tuple, parts)
    if inside is None:
        return None

    def collect(given: Any, append: Callable[[Any], None]) -> bool:  # noqa: ANN401
        if type(given) is not dict or tuple(given) != names:
            return False
        return inside(tuple(given.values()), append)

    return collect
