"""Calls: NumPy's and Python's functions by their tables, the module's own functions by inlining.

In: a function value and its arguments.  Out: the value returned.
Refuses: functions outside the tables (PO0150, PO0119), recursion (PO0123).
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from polyopt.errors import Loc
from polyopt.frontend import creation, numpy_table, python_table
from polyopt.frontend.arguments import Arguments
from polyopt.frontend.builder import Builder
from polyopt.frontend.codes import refuse
from polyopt.frontend.frames import Frame
from polyopt.frontend.operators import describe
from polyopt.frontend.pysource import is_inlinable, plain_function, read_function
from polyopt.frontend.values import Known, Method, Number, Tensor, Value, as_value
from polyopt.frontend.variables import kept

MAX_DEPTH = 30


def call_value(b: Builder, frame: Frame, function: Value, args: Arguments, node: ast.Call) -> Value:
    """Return the result of calling `function`."""
    match function:
        case Method(owner=owner, name=name):
            rule = numpy_table.method_rule(name)
            assert rule is not None
            return rule(b, Arguments(args.name, (owner, *args.values), args.keywords, args.loc))
        case Known(value=known):
            return _call_known(b, frame, known, args, node)
        case _:
            refuse("PO0119", f"a call of {describe(function)}", args.loc, "call functions only")


def _call_known(b: Builder, frame: Frame, known: object, args: Arguments, node: ast.Call) -> Value:
    rule = numpy_table.rule_of(known) or python_table.rule_of(known)
    if rule is not None:
        return rule(b, args)
    if isinstance(known, type) and issubclass(known, np.generic):
        return _converted(b, known, args)
    if is_inlinable(known) and not _is_library(known):
        return _inlined(b, frame, known, args, node)
    name = getattr(known, "__name__", repr(known))
    module = str(getattr(known, "__module__", "") or "")
    if module.split(".")[0] == "numpy" or isinstance(known, np.ufunc):
        hint = "`polyopt doctor --numpy` lists the supported functions"
        refuse("PO0150", f"NumPy's `{name}` is not supported", args.loc, hint)
    hint = "call it outside the kernel, or write it with NumPy operations"
    refuse("PO0119", f"`{name}` has no array meaning in a kernel", args.loc, hint)


def _is_library(function: object) -> bool:
    module = str(getattr(plain_function(function), "__module__", "") or "")
    return module.split(".")[0] in ("numpy", "math", "scipy")


def _converted(b: Builder, kind: type[np.generic], args: Arguments) -> Value:
    """`np.float32(x)`: a conversion; its result is no longer a Python number."""
    (value,) = args.take("x")
    found = creation.astype(b, Arguments(args.name, (value, Known(kind)), {}, args.loc))
    if isinstance(found, Tensor) and found.rank == 0:
        number = as_value(found)
        if isinstance(number, Number):
            return Number(number.expr, False)
    return found


def _inlined(b: Builder, frame: Frame, known: object, args: Arguments, node: ast.Call) -> Value:
    plain = plain_function(known)
    callable_ = cast(Callable[..., Any], plain)
    if plain in frame.callers or len(frame.callers) > MAX_DEPTH:
        refuse("PO0123", f"`{args.name}` calls itself", args.loc, "write it as a loop")
    function = b.facts.functions.get(plain)
    if function is None:
        function = b.facts.functions[plain] = read_function(callable_)
    bound = bind_arguments(function.signature, args, args.loc)
    place = (node.lineno, node.col_offset)
    inner = Frame(function, frame.reader, (*frame.calls, place), (*frame.callers, plain))
    for name, value in bound.items():
        inner.env[name] = kept(b, name, value)
    titles, loc, text = dict(b.titles), b.loc, b.text
    result = frame.reader.function(b, inner)
    b.titles, b.loc, b.text = titles, loc, text
    return Known(None) if result is None else result


def bind_arguments(
    signature: inspect.Signature, args: Arguments, loc: Loc | None
) -> dict[str, Value]:
    """Return the value of every parameter, defaults included."""
    try:
        bound = signature.bind(*args.values, **args.keywords)
    except TypeError as error:
        refuse("PO0103", f"`{args.name}`: {error}", loc)
    result: dict[str, Value] = {}
    for name, parameter in signature.parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            refuse("PO0103", f"`{args.name}` takes a variable number of arguments", loc)
        result[name] = bound.arguments.get(name, Known(parameter.default))
    return result
