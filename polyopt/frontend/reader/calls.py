"""Calls: NumPy's and Python's functions by their tables, the module's own functions by inlining.

In: a function value and its arguments.  Out: the value returned.
Refuses: functions outside the tables (PO0150, PO0119), recursion (PO0123).
Objects that a program makes: named tuples, dataclasses, `record`.
"""

from __future__ import annotations

import ast
import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, cast

import numpy as np

from polyopt import frontend
from polyopt.capture.reads import plain_function
from polyopt.dataclass import dataclass, replace
from polyopt.errors import FrontendError, Loc
from polyopt.frontend.arithmetic.operators import as_uint64, describe, is_large
from polyopt.frontend.numpy import table as numpy_table
from polyopt.frontend.numpy.call_arguments import Arguments
from polyopt.frontend.numpy.table_rules import AnyRule, OnMasked, Written
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.python import table as python_table
from polyopt.frontend.reader.closures import bind_arguments
from polyopt.frontend.subscripts.masks import plain
from polyopt.frontend.syntax.pysource import SILENT_CALLS, is_inlinable, is_installed, read_function
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.constants import as_sequence, nested
from polyopt.frontend.values.derived import MAKERS, Derived, Mapped, derivative, examples
from polyopt.frontend.values.records import Bound, Record, is_plain_dataclass, record
from polyopt.frontend.values.values import Known, Method, Number, Sequence, Tensor, Value, as_value
from polyopt.frontend.variables.alternatives import exactly
from polyopt.frontend.variables.binding import kept, stays_lazy
from polyopt.frontend.variables.call_frames import Frame
from polyopt.ir.types import DType

MAX_DEPTH = 30
_NO_CALL = "subscripts stand in brackets: `a[0]`"


@dataclass(frozen=True, eq=False)
class Vectorized:
    """`np.vectorize(function)` made inside the kernel."""

    function: Value


@dataclass(frozen=True, eq=False)
class Partial:
    """`functools.partial(function, ...)`."""

    function: Value
    values: tuple[Value, ...]
    keywords: Mapping[str, Value]


def call_value(b: Builder, frame: Frame, function: Value, args: Arguments, node: ast.Call) -> Value:
    """Return the result of calling `function`."""
    match function:
        case Method(owner=owner, name=name):
            rule = numpy_table.method_rule(name)
            args = Arguments(args.name, (owner, *args.values), args.keywords, args.loc)
            return _by_rule(b, frame, rule, args, node)
        case Known(value=known):
            return _call_known(b, frame, known, args, node)
        case _:
            refuse("PO0119", f"{describe(function)} cannot be called", args.loc, _NO_CALL)


def _call_known(  # noqa: C901  one case per kind of object
    b: Builder, frame: Frame, known: object, args: Arguments, node: ast.Call
) -> Value:
    rule = numpy_table.rule_of(known) or python_table.rule_of(known)
    if rule is not None:
        return _by_rule(b, frame, rule, args, node)
    if any(known is silent for silent in SILENT_CALLS):
        return Known(None)
    if known is np.vectorize:
        function, *_ = args.take("pyfunc", "otypes doc excluded cache signature")
        return Known(Vectorized(function))
    if isinstance(known, Vectorized | np.vectorize):
        inner = known.function if isinstance(known, Vectorized) else Known(known.pyfunc)
        values = (inner, *args.values)
        elements = Arguments(args.name, values, args.keywords, args.loc)
        return _by_rule(b, frame, Written(frontend.library.calls.vectorized), elements, node)
    if isinstance(known, Bound):
        own = replace(args, values=(Known(known.owner), *args.values))
        return call_value(b, frame, Known(known.function), own, node)
    if isinstance(known, Record) and known.kind is not dict:
        method = inspect.getattr_static(known.kind, "__call__", None)
        if isinstance(plain_function(method), FunctionType):
            return call_value(b, frame, Known(Bound(cast(Any, method), known)), args, node)
        refuse("PO0119", f"{describe(Known(known))} cannot be called", args.loc, _NO_CALL)
    if known is functools.partial:
        return Known(Partial(args.values[0], args.values[1:], args.keywords))
    if isinstance(known, functools.partial):
        given = {name: Known(value) for name, value in known.keywords.items()}
        known = Partial(Known(known.func), tuple(map(Known, known.args)), given)
    if isinstance(known, Partial):
        keywords = {**known.keywords, **args.keywords}
        own = replace(args, values=(*known.values, *args.values), keywords=keywords)
        return call_value(b, frame, known.function, own, node)
    if isinstance(known, Derived | Mapped) or known is derivative or known is examples:
        return _transformed(b, frame, known, args, node)
    plain = plain_function(known)
    derives = vars(plain).get("derives") if isinstance(plain, FunctionType) else None
    if derives is not None and plain is not known:  # of a kernel object; plain functions are flat
        wanted = frontend.reader.derivatives.of_kernel(plain, derives)
        return _transformed(b, frame, wanted, args, node)
    if isinstance(known, FunctionType) and known in MAKERS:
        if MAKERS[known] == "vmap":
            return frontend.reader.batching.mapped(args)
        return frontend.reader.derivatives.derived(MAKERS[known], args)
    made = made_object(known, args)
    if made is not None:
        return made
    if isinstance(known, type) and issubclass(known, np.generic):
        return _converted(b, known, args)
    if is_inlinable(known) and not _is_library(known):
        return _inlined(b, frame, known, args, node)
    name = getattr(known, "__name__", repr(known))
    module = str(getattr(known, "__module__", "") or "")
    if isinstance(getattr(known, "__self__", None), np.random.RandomState | np.random.Generator):
        hint = "draw them before the call, and pass the array, or use `po.random`"
        refuse("PO0150", f"random numbers (`{name}`) cannot be drawn in a kernel", args.loc, hint)
    if module.split(".")[0] == "numpy" or isinstance(known, np.ufunc):
        hint = frontend.syntax.advice.instead_of_numpy(name, known)
        refuse("PO0150", f"NumPy's `{name}` is not supported", args.loc, hint)
    hint = frontend.syntax.advice.instead_of_function(name, module)
    refuse("PO0119", f"`{name}` has no array meaning in a kernel", args.loc, hint)


def _transformed(b: Builder, frame: Frame, known: object, args: Arguments, node: ast.Call) -> Value:
    """Return what a derivative, or a function of many examples, gives for these arguments."""
    wanted: object = known
    if known is derivative:
        wanted, args = frontend.reader.derivatives.called(args)
    elif known is examples:
        wanted, args = frontend.reader.batching.called(args)
    assert isinstance(wanted, Derived | Mapped)
    function = wanted.function

    def inline(own: Arguments) -> Value:
        return call_value(b, frame, function, own, node)

    if isinstance(wanted, Derived):
        return frontend.reader.derivatives.differentiated(b, wanted, args, inline)
    return frontend.reader.batching.over_examples(b, wanted, args, inline)


def _by_rule(
    b: Builder,
    frame: Frame,
    rule: AnyRule,
    args: Arguments,
    node: ast.Call,
) -> Value:
    """Apply a rule, or read the function that polyopt wrote; it has no places of its own."""
    if isinstance(rule, OnMasked):
        return rule.rule(b, args)
    args = replace(
        args,
        values=tuple(plain(b, value) for value in args.values),
        keywords={name: plain(b, value) for name, value in args.keywords.items()},
    )
    if not isinstance(rule, Written):
        return rule(b, args)
    said = frame.said or (args.loc, b.text)
    args = _with_arrays(b, rule.function, args)
    first = len(b.drafts)
    value = _inlined(b, frame, rule.function, args, node, said)
    b.drafts[first:] = (replace(draft, written=True) for draft in b.drafts[first:])
    return value


_ARRAYS = frozenset(
    ["a", "b", "v", "x", "y", "z", "m", "f", "p", "ary", "arr", "a1", "a2", "weights", "element"]
)
"""Parameters of the written functions that take lists as arrays."""


def _with_arrays(b: Builder, function: Callable[..., object], args: Arguments) -> Arguments:
    """Return the arguments with lists made arrays where NumPy would make them ones."""
    names = list(inspect.signature(function).parameters)

    def ready(name: str, value: Value) -> Value:
        items = as_sequence(value)
        if name not in _ARRAYS or not isinstance(items, Sequence):
            return value
        return nested(b, items, None, args.loc)

    values = tuple(
        ready(names[n] if n < len(names) else "", value) for n, value in enumerate(args.values)
    )
    keywords = {name: ready(name, value) for name, value in args.keywords.items()}
    return Arguments(args.name, values, keywords, args.loc)


def _is_library(function: object) -> bool:
    module = str(getattr(plain_function(function), "__module__", "") or "")
    return module.split(".")[0] in ("numpy", "math", "scipy")


def _converted(b: Builder, kind: type[np.generic], args: Arguments) -> Value:
    """`np.float32(x)`: a conversion; its result is no longer a Python number."""
    (value,) = args.take("x")
    if kind is np.uint64 and is_large(value):
        value = as_uint64(value) or value
    if isinstance(value, Number) and value.weak and value.dtype is DType.INT64:
        wanted = np.dtype(kind).name
        if wanted in DType._value2member_map_ and DType(wanted).is_integer:  # it must fit
            return Number(exactly(b, value, DType(wanted), args.loc), False)
    found = frontend.numpy.creation.astype(
        b, Arguments(args.name, (value, Known(kind)), {}, args.loc)
    )
    if isinstance(found, Tensor) and found.rank == 0:
        number = as_value(found)
        if isinstance(number, Number):
            return Number(number.expr, False)
    return found


def _inlined(
    b: Builder,
    frame: Frame,
    known: object,
    args: Arguments,
    node: ast.Call,
    said: tuple[Loc | None, str] | None = None,
) -> Value:
    plain = plain_function(known)
    callable_ = cast(Callable[..., Any], plain)
    if plain in frame.callers or len(frame.callers) > MAX_DEPTH:
        refuse("PO0123", f"`{args.name}` calls itself", args.loc, "write it as a loop")
    function = b.facts.functions.get(plain)
    if function is None:
        function = b.facts.functions[plain] = read_function(callable_, b.facts.recording)
    code = "PO0103" if said is None else "PO0151"
    bound = bind_arguments(function.signature, args, code)
    place = (node.lineno, node.col_offset)
    callers = (*frame.callers, plain)
    calls, told = (*frame.calls, place), said or frame.said
    inner = Frame(function, frame.reader, calls, callers, said=told, caller=frame)
    for name, value in bound.items():
        lazy = inner.said is not None and stays_lazy(value)
        inner.env[name] = value if lazy else kept(b, name, value)
    titles, loc, text = dict(b.titles), b.loc, b.text
    try:
        result = frame.reader.function(b, inner)
    except FrontendError as error:
        strange = is_installed(function.file) and not is_installed(frame.function.file)
        if said is not None or not strange:
            raise
        hint = frontend.syntax.advice.instead_of_function(function.name, str(callable_.__module__))
        refuse("PO0119", f"`{args.name}` is no kernel: {error.args[0]}", args.loc, hint)
    b.titles, b.loc, b.text = titles, loc, text
    return Known(None) if result is None else result


def made_object(known: object, args: Arguments) -> Value | None:
    """Return the object that a call makes."""
    if known is record:
        (kind,) = args.values
        assert isinstance(kind, Known)
        assert isinstance(kind.value, type)
        return Known(Record(kind.value, dict(args.keywords)))
    if known is getattr(sys.modules.get("dataclasses"), "replace", ()):
        (owner,) = args.values
        if isinstance(owner, Known) and isinstance(owner.value, Record):
            return Known(replaced(owner.value, args.keywords, args.loc))
    if not isinstance(known, type):
        return None
    if issubclass(known, tuple) and hasattr(known, "_fields"):
        found = _bound(known, args)
        return Sequence(tuple(found.values()), kind=known)
    if known is dict and not args.values:
        return Known(Record(dict, dict(args.keywords)))
    if is_plain_dataclass(known):
        return Known(Record(known, _bound(known, args)))
    return None


def replaced(owner: Record, changes: Mapping[str, Value], loc: Loc | None) -> Record:
    """Return an object of a dataclass with some of its fields changed."""
    unknown = [name for name in changes if name not in owner.fields]
    if unknown or not is_plain_dataclass(owner.kind):
        name = owner.kind.__name__
        hint = f"make one of all its fields: {name}(...)"
        refuse("PO0103", f"`replace` of an object of class `{name}`", loc, hint)
    return Record(owner.kind, {**owner.fields, **changes})


def _bound(kind: type, args: Arguments) -> dict[str, Value]:
    """Return the values of the parameters of a class, defaults included."""
    signature = inspect.signature(kind)
    try:
        bound = signature.bind(*args.values, **args.keywords)
    except TypeError as error:
        refuse(
            "PO0103", f"`{kind.__name__}`: {error}", args.loc, f"write {kind.__name__}{signature}"
        )
    given = dict(bound.arguments)
    bound.apply_defaults()
    return {
        name: given[name] if name in given else Known(value)
        for name, value in bound.arguments.items()
    }
