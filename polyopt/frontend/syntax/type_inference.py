"""Types of a function's arguments without example values: annotations, defaults, usage.

In: a Python function.  Out: one `ArgType` per argument.
Refuses: an argument whose rank the function leaves open (PO0611) or contradicts (PO0612), and a
function whose source is not at hand (PO0613).
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args, get_origin

import numpy as np

from polyopt.errors import ArgumentError, Loc, UsageError
from polyopt.frontend.integers.affine_integers import negated
from polyopt.frontend.syntax.annotations import (
    Annotation,
    ArgType,
    ArrayType,
    ConstType,
    PartType,
    ScalarType,
    SizeCondition,
    annotations_of,
    declared,
    fitting,
    require,
)
from polyopt.frontend.syntax.name_resolution import function_ast, is_capital
from polyopt.frontend.syntax.name_usage import read_usage
from polyopt.frontend.syntax.pysource import refuse_changed
from polyopt.frontend.syntax.usage import Usage
from polyopt.ir.showing import show
from polyopt.ir.source import Layout
from polyopt.ir.types import DType

_SCALARS = {int: DType.INT64, float: DType.FLOAT64, complex: DType.COMPLEX128, bool: DType.BOOL}


def infer_types(func: Callable[..., object]) -> tuple[ArgType, ...]:
    """Return the argument types `func` shows: from annotations, then defaults, then its body.

    Arrays are float64 in C layout unless annotated; sizes, bounds and subscripts are int64.
    """
    definition = function_ast(func)
    if definition is None:
        refuse_changed(func)
        name = getattr(func, "__name__", repr(func))
        raise UsageError(
            "PO0613",
            f"the source of `{name}` is not at hand",
            hint="define it with `def` in a file",
        )
    annotations = annotations_of(func)
    ranks = {name: rank for name, note in annotations.items() if (rank := _annotated_rank(note))}
    usage = read_usage(definition, getattr(func, "__globals__", {}), ranks)
    parameters = inspect.signature(func).parameters.values()
    found = {p.name: _argument(p, annotations, usage, func) for p in parameters}
    _refuse_loose(func, found, usage, annotations)
    return tuple(found.values())


def annotated_dims(func: Callable[..., object]) -> dict[str, tuple[str, ...]]:
    """Return parameter -> the text of each dimension that its annotation has."""
    notes = declared(func)
    found = {name: notes.get(name) for name in inspect.signature(func).parameters}
    return {name: () if note is None else note.dims or () for name, note in found.items()}


def _annotated_rank(annotation: object) -> int:
    """Return the rank an annotation tells at least, 0 where it tells none."""
    if isinstance(annotation, Annotation):
        return len(annotation.dims or ())
    return int(annotation is np.ndarray or get_origin(annotation) is np.ndarray)


def _argument(
    parameter: inspect.Parameter,
    annotations: Mapping[str, object],
    usage: Usage,
    func: Callable[..., object],
) -> ArgType:
    name = parameter.name
    if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
        raise _open(func, name, f"`*{name}` stands for any number of arguments", usage)
    note = annotations.get(name)
    says_all = isinstance(note, Annotation)
    known = from_annotation(note, 0 if says_all else _rank(func, name, usage))
    if known is not None:
        return known
    if parameter.default is not inspect.Parameter.empty:
        return _from_default(parameter.default)
    rank = _rank(func, name, usage)
    if rank > 0:
        dtype = DType.INT64 if name in usage.int_arrays else DType.FLOAT64
        return _array(dtype, rank)
    if is_capital(name) and name not in usage.integers:
        raise _open(func, name, "nothing shows whether it is an array or a number", usage)
    return ScalarType(DType.INT64 if name in usage.integers else DType.FLOAT64)


def from_annotation(annotation: object, rank: int) -> ArgType | None:
    """Return the type an annotation tells, or None; `rank` is what the body told of an array."""
    match annotation:
        case Annotation(dtype=dtype, dims=None):
            return ScalarType(dtype)
        case Annotation(dtype=dtype, dims=tuple(dims)):
            return ArrayType(dtype, len(dims), Layout.C, tuple(dim == "1" for dim in dims))
        case type() if annotation in _SCALARS:
            return ScalarType(_SCALARS[annotation])
        case type() if issubclass(annotation, np.generic):
            return _scalar(annotation)
        case _ if annotation is np.ndarray or get_origin(annotation) is np.ndarray:
            return _array(_element(annotation), rank)
        case _:
            return None


def _scalar(annotation: type) -> ArgType | None:
    name = np.dtype(annotation).name
    return ScalarType(DType(name), weak=False) if name in DType._value2member_map_ else None


def _element(annotation: object) -> DType:
    """`NDArray[np.float32]` is `ndarray[…, dtype[float32]]`."""
    arguments: tuple[Any, ...] = get_args(annotation)
    inner: tuple[Any, ...] = get_args(arguments[-1]) if arguments else ()
    if inner and isinstance(inner[0], type) and issubclass(inner[0], np.generic):
        known = _scalar(inner[0])
        if isinstance(known, ScalarType):
            return known.dtype
    return DType.FLOAT64


def _from_default(value: object) -> ArgType:
    match value:
        case bool() | None | str() | tuple():
            return ConstType(value)
        case np.generic() if (found := _scalar(type(value))) is not None:
            return found
        case int():
            return ScalarType(DType.INT64)
        case complex():
            return ScalarType(DType.COMPLEX128)
        case _:
            return ScalarType(DType.FLOAT64)


def _array(dtype: DType, rank: int) -> ArrayType:
    return ArrayType(dtype, rank, Layout.C, (False,) * rank)


def _rank(func: Callable[..., object], name: str, usage: Usage) -> int:
    fixed = usage.shapes.get(name, set())
    rank = usage.rank.get(name, 0)
    if len(fixed) > 1 or (fixed and rank > max(fixed)):
        ranks = " and ".join(str(r) for r in sorted(fixed | {rank}))
        raise UsageError(
            "PO0612",
            f"`{name}` is used with ranks {ranks}",
            loc=argument_loc(func, name),
            hint=types_hint(func, name, usage),
        )
    return rank


def _refuse_loose(
    func: Callable[..., object],
    found: Mapping[str, ArgType],
    usage: Usage,
    annotations: Mapping[str, object],
) -> None:
    """Refuse elementwise values that may be arrays or numbers when nothing decides it."""
    for names in usage.loose:
        for name in names:
            if isinstance(found.get(name), ScalarType) and name not in annotations:
                raise _open(func, name, "it may be an array or a number", usage)
    if found and not any(isinstance(t, ArrayType) for t in found.values()):
        for name, kind in found.items():
            guessed = isinstance(kind, ScalarType) and kind.dtype is DType.FLOAT64
            if guessed and name not in annotations:
                raise _open(func, name, "no argument is used as an array", usage)


def _open(func: Callable[..., object], name: str, reason: str, usage: Usage) -> UsageError:
    return UsageError(
        "PO0611",
        f"the type of `{name}` cannot be told from the function: {reason}",
        loc=argument_loc(func, name),
        hint=types_hint(func, name, usage),
    )


def types_hint(func: Callable[..., object], unknown: str, usage: Usage) -> str:
    """Return the hint that shows `--types` for this function; an unknown argument as `f64[:]`."""
    texts = []
    for name in inspect.signature(func).parameters:
        rank = max(usage.rank.get(name, 0), *usage.shapes.get(name, {0}), int(name == unknown))
        element = "i64" if name in usage.integers or name in usage.int_arrays else "f64"
        texts.append(element + (f"[{','.join(':' * rank)}]" if rank else ""))
    return f'say what the arguments are, such as --types "{",".join(texts)}"'


def show_type(kind: ArgType) -> str:
    """Return `kind` in the notation of `--types`."""
    match kind:
        case ArrayType(dtype=dtype):
            return f"{dtype.short_name}[{kind.shown}]"
        case PartType(part=part):
            return f"part of argument {part.owner}"
        case ScalarType(dtype=dtype):
            return dtype.short_name
        case ConstType(value=value):
            return f"={value!r}"
        case SizeCondition(condition=condition, holds=holds):
            return show(condition if holds else negated(condition))


def argument_loc(func: Callable[..., object], name: str) -> Loc | None:
    """Return the place of an argument in its function's file."""
    code = getattr(func, "__code__", None)
    definition = function_ast(func)
    if code is None or definition is None:
        return None
    spec = definition.args
    every = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs, spec.vararg, spec.kwarg]
    for argument in every:
        if isinstance(argument, ast.arg) and argument.arg == name:
            line = code.co_firstlineno + argument.lineno - 1
            col = argument.col_offset + 1
            return Loc(code.co_filename, line, col, line, col + len(name))
    return None


def require_declared(
    func: Callable[..., object], names: Sequence[str], types: Sequence[ArgType]
) -> None:
    """Require of types that are given what annotations say; raises as `as_declared` does."""
    notes = declared(func)
    for name, kind in zip(names, types, strict=True):
        if name in notes and isinstance(kind, ArrayType | ScalarType):
            note = notes[name]
            hint = f"give the type `{note}`, or annotate it so: `{name}: {fitting(kind, note)!r}`"
            try:
                require(f"the type given for `{name}` is", kind, note, hint)
            except ArgumentError as error:
                error.loc = argument_loc(func, name)
                raise
