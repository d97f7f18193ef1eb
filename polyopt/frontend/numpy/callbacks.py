"""Calls back into NumPy and SciPy: operands in memory, results in new arrays, a mark in between.

In: a function of the table, or any ufunc, and the arguments of its call.  Out: arrays.
Refuses: arguments that the table does not name, shapes that do not fit (PO0151, PO0140).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from polyopt.dataclass import dataclass, field
from polyopt.errors import Loc
from polyopt.frontend.arithmetic.elementwise import aligned, operand_kinds
from polyopt.frontend.arithmetic.operators import describe, operand
from polyopt.frontend.integers.affine_integers import FALSE, ONE, TRUE, ZERO, clipped
from polyopt.frontend.numpy.call_arguments import Arguments, known_int, tensor
from polyopt.frontend.numpy.callback_table import (
    LIBRARY,
    OF_COMPLEX,
    LibraryRule,
    Operands,
    called_name,
    resolve,
)
from polyopt.frontend.numpy.creation import in_type
from polyopt.frontend.numpy.reductions import reduction
from polyopt.frontend.numpy.table_rules import Rule
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.drafts import Invocation
from polyopt.frontend.program.memory import forced, is_whole, store, stored, stored_number
from polyopt.frontend.program.statement_domains import Loop
from polyopt.frontend.subscripts.compaction import total
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.constants import as_sequence, nested
from polyopt.frontend.values.promote import dtypes_of
from polyopt.frontend.values.shapes import equate
from polyopt.frontend.values.values import (
    Buffer,
    Index,
    Known,
    Number,
    Sequence,
    Tensor,
    Value,
    as_tensor,
    as_value,
    view_of,
)
from polyopt.frontend.variables.memory_variables import refuse_write
from polyopt.ir.expr import Const, Expr, Iter, Param, walk
from polyopt.ir.integers import evaluate
from polyopt.ir.library import filled
from polyopt.ir.names import iterators
from polyopt.ir.source import Layout, LibraryCall, Operand
from polyopt.ir.types import DType, dtype_of

_WHOLE = frozenset(["axis", "n", "deg", "bins", "kth", "s", "axes"])  # shapes depend on them


@dataclass
class _Call:
    """A call being prepared: its operands in memory, its arguments with `Operand`s in place."""

    buffers: list[Buffer] = field(default_factory=list)
    arrays: list[tuple[DType, Index]] = field(default_factory=list)
    named: dict[str, Index] = field(default_factory=dict)
    positional: list[object] = field(default_factory=list)
    keywords: list[tuple[str, object]] = field(default_factory=list)

    def operand(self, b: Builder, value: Tensor) -> Operand:
        """Return the operand that `value` is, put into memory if it is not there yet."""
        self.buffers.append(in_memory(b, value))
        return Operand(len(self.buffers) - 1, value.weak and value.rank == 0)


def rule_of(function: object) -> Rule | None:
    """Return the rule of a NumPy or SciPy function that is called back for, or None."""
    name = called_name(function)
    if name is not None:
        return _rule(name, function, LIBRARY[name])
    if isinstance(function, np.ufunc):
        return _ufunc_rule(function)
    return None


def ordering(name: str, plain: Rule) -> Rule:
    """Return the rule of a function that orders numbers; `plain` is the one for real ones."""
    full = f"numpy.{name}"
    of_complex = _rule(full, getattr(np, name), OF_COMPLEX[full])

    def rule(b: Builder, args: Arguments) -> Value:
        first = args.values[0] if args.values else None
        is_complex = isinstance(first, Tensor) and first.dtype.is_complex
        return (of_complex if is_complex else plain)(b, args)

    return rule


# -- functions of the table -------------------------------------------------------------------


def _rule(full: str, function: object, entry: LibraryRule) -> Rule:
    def rule(b: Builder, args: Arguments) -> Value:
        call, options = _prepared(b, function, entry, args)

        def equal(left: Expr, right: Expr) -> Expr:
            return equate(b, left, right, f"`{args.name}`", args.loc)

        def count(shape: Index) -> Expr:
            return total(b, shape)

        shapes_of = tuple(buffer.shape for buffer in call.buffers)
        arrays = tuple(call.arrays)
        operands = Operands(
            args.name, arrays, call.named, shapes_of, options, args.loc, equal, count
        )
        shapes = entry.shapes(operands)
        dtypes = _dtypes(full, function, call, options, entry, args)
        if len(dtypes) != len(shapes):
            refuse("PO0151", f"`{args.name}` with these arguments", args.loc)
        return _called(b, full, call, dtypes, shapes, args.loc)

    return rule


def _prepared(
    b: Builder, function: object, entry: LibraryRule, args: Arguments
) -> tuple[_Call, dict[str, Any]]:
    """Return the call with arrays in memory, and the other arguments' values by name."""
    names, given = _bound(function, entry, args)
    call = _Call()
    options: dict[str, Any] = {}
    for name in entry.arrays.split():
        plain = name.rstrip("*?")
        value = given.pop(plain, None)
        if value is None or (isinstance(value, Known) and value.value is None):
            if name[-1] != "?":
                refuse("PO0151", f"`{args.name}` needs the argument `{plain}`", args.loc)
            continue
        if name[-1] == "?" and _is_option(value):
            given[plain] = value
            continue
        several = name[-1] == "*"
        found = (_several if several else _array)(b, call, value, args.loc)
        call.named[plain] = call.arrays[-1][1]
        if names[len(call.positional)] == plain:
            call.positional.append(found)
        else:
            call.keywords.append((plain, found))
    for name, value in given.items():
        if name not in entry.options.split():
            hint = f"supported arguments: {entry.arrays} {entry.options}".replace("?", "")
            refuse("PO0151", f"`{args.name}` with `{name}=`", args.loc, hint.replace("*", ""))
        options[name] = _option(b, call, name, value, args.loc)
        call.keywords.append((name, options[name]))
    return call, options


def _bound(
    function: object, entry: LibraryRule, args: Arguments
) -> tuple[list[str], dict[str, Value]]:
    """Return the function's parameters, and the arguments by their names."""
    names = [*(name.rstrip("*?") for name in entry.arrays.split()), *entry.options.split()]
    try:
        signature = inspect.signature(function)  # type: ignore[arg-type]
        names = list(signature.parameters)
    except (TypeError, ValueError):
        pass  # a function written in C that does not tell
    if len(args.values) > len(names):
        refuse("PO0151", f"`{args.name}` with {len(args.values)} arguments", args.loc)
    return names, {**dict(zip(names, args.values, strict=False)), **args.keywords}


def _is_option(value: Value) -> bool:
    """Whether an argument that may be an array is a number or a name."""
    return isinstance(as_sequence(value), Number | Known)


def _array(b: Builder, call: _Call, value: Value, loc: Loc | None) -> object:
    """Return an array argument; constants are passed as they are."""
    if isinstance(value, Known) and isinstance(value.value, bool | int | float | complex):
        kind = dtype_of(np.asarray(value.value).dtype)
        call.arrays.append((kind, ()))
        return value.value
    if isinstance(value, Number) and isinstance(value.expr, Const) and value.weak:
        call.arrays.append((value.dtype, ()))
        return value.expr.value
    items = as_sequence(value)
    plain = nested(b, items, None, loc) if isinstance(items, Sequence) else tensor(b, value, loc)
    plain = forced(b, plain)
    result = call.operand(b, plain)
    whole = call.buffers[-1]
    varies = any(iterators(extent) for extent in plain.shape)
    call.arrays.append((whole.dtype, whole.shape if varies else plain.shape))
    return result


def _several(b: Builder, call: _Call, value: Value, loc: Loc | None) -> object:
    """Return a tuple of arrays, or the rows of one."""
    found = as_sequence(value)
    if isinstance(found, Sequence):
        return tuple(_array(b, call, item, loc) for item in found.items)
    return _array(b, call, value, loc)


def _option(b: Builder, call: _Call, name: str, value: Value, loc: Loc | None) -> object:
    match value:
        case Known(value=None | bool() | int() | float() | complex() | str()):
            return value.value
        case Known(value=tuple(items)) | Known(value=list(items)):
            return tuple(_option(b, call, name, Known(item), loc) for item in items)
        case Known(value=np.generic() as scalar):
            return scalar.item()
        case Sequence(items=items):
            return tuple(_option(b, call, name, item, loc) for item in items)
        case Tensor() if name == "bins":
            return call.operand(b, forced(b, value))
        case Number() if name in _WHOLE:
            return known_int(b, value, f"`{name}`", loc)
        case Number():
            return call.operand(b, as_tensor(value))
        case _:
            refuse("PO0151", f"`{name}` is {describe(value)}", loc, "give a constant or a number")


# -- any ufunc --------------------------------------------------------------------------------


def _ufunc_rule(ufunc: np.ufunc) -> Rule | None:
    full = _full_name(ufunc)
    if full is None or ufunc.signature is not None:
        return None

    def rule(b: Builder, args: Arguments) -> Value:
        if args.keywords or len(args.values) != ufunc.nin:
            message = f"`{args.name}` with these arguments"
            refuse("PO0151", message, args.loc, f"give {ufunc.nin} positional arguments")
        values = [operand(value, args.loc) for value in args.values]
        dtypes = dtypes_of(ufunc, operand_kinds(values), args.loc)
        inputs, outputs = dtypes[: ufunc.nin], dtypes[ufunc.nin :]
        tensors = aligned(b, [as_tensor(value) for value in values], args.name, args.loc)
        call = _Call()
        for value, kind in zip(tensors, inputs, strict=True):
            call.positional.append(call.operand(b, in_type(value, kind, args.loc)))
        shapes = (tensors[0].shape,) * ufunc.nout
        return _called(b, full, call, outputs, shapes, args.loc)

    return rule


def _full_name(ufunc: np.ufunc) -> str | None:
    homes = ("numpy", "scipy.special")
    names = (f"{home}.{ufunc.__name__}" for home in homes)
    return next((name for name in names if resolve(name) is ufunc), None)


# -- the call ---------------------------------------------------------------------------------


def in_memory(b: Builder, value: Tensor) -> Buffer:
    """Return a contiguous array of the kernel, or an argument, that holds `value`."""
    sized = Tensor(tuple(clipped(e) for e in value.shape), value.dtype, value.at, value.view)
    buffer = is_whole(sized) if value.view is not None else None
    if buffer is not None and buffer.layout is Layout.C:
        return buffer
    shape = tuple(_fixed(b, extent) for extent in value.shape)
    whole = stored(b, Tensor(shape, value.dtype, value.at, cost=value.cost), "operand")
    assert whole.view is not None
    return whole.view.buffer


def _fixed(b: Builder, extent: Expr) -> Expr:
    """Return an extent that is one number for the whole array: in loops a size found there."""
    if not iterators(extent):
        return extent
    held = stored_number(b, Number(clipped(extent), True), "length")
    return b.dynamic(held.expr, "length")


def _called(
    b: Builder,
    full: str,
    call: _Call,
    dtypes: tuple[DType, ...],
    shapes: tuple[Index, ...],
    loc: Loc | None,
) -> Value:
    title = full.rpartition(".")[2]
    outputs = [b.new_buffer(title, k, s) for k, s in zip(dtypes, shapes, strict=True)]
    site = LibraryCall(
        full,
        tuple(call.positional),
        tuple(call.keywords),
        tuple((buffer.dtype, len(buffer.shape)) for buffer in call.buffers),
        tuple((buffer.dtype, len(buffer.shape)) for buffer in outputs),
        loc,
    )
    b.library.append(site)
    where = Invocation(
        len(b.library) - 1,
        tuple(buffer.name for buffer in call.buffers),
        tuple(buffer.name for buffer in outputs),
    )
    _mark(b, where)
    found = tuple(as_value(view_of(buffer)) for buffer in outputs)
    return found[0] if len(found) == 1 else Sequence(found)


def _mark(b: Builder, where: Invocation) -> None:
    """Place the call; under a condition it is the body of a loop that runs at most once."""
    if b.scope.guard == TRUE and not b.scope.conditions:
        b.mark(where)
        return
    going = b.unconditional("called", TRUE, FALSE)
    (loop,), _ = b.fresh_loops((Param("?"),))
    with b.anywhere(), b.repeat(Loop(loop.iter, ZERO, ONE, 1, going)):
        b.mark(where)


def sort_in_place(b: Builder, args: Arguments) -> Value:
    """`a.sort()`"""
    view, rest = args.values[0], args.values[1:]
    if not isinstance(view, Tensor) or view.view is None:
        refuse("PO0163", "this expression is no array that can be written", args.loc)
    refuse_write(b, view, args.loc)
    rule = _rule("numpy.sort", np.sort, LIBRARY["numpy.sort"])
    found = rule(b, Arguments(args.name, (view, *rest), args.keywords, args.loc))
    store(b, view, as_tensor(operand(found, args.loc)), args.loc)
    return Known(None)


# -- dtypes -----------------------------------------------------------------------------------


def _dtypes(
    full: str,
    function: object,
    call: _Call,
    options: Mapping[str, Any],
    entry: LibraryRule,
    args: Arguments,
) -> tuple[DType, ...]:
    """Return the results' dtypes: those of a call with small arrays of the same types."""
    asked = (options.get(name) for name in ("kth", "deg"))
    least = max([entry.example, *(n + 2 for n in asked if isinstance(n, int))])
    arrays = [_example(b.dtype, tuple(_small(e, least) for e in b.shape)) for b in call.buffers]
    positional = [filled(value, arrays) for value in call.positional]
    keywords = {name: filled(value, arrays) for name, value in call.keywords}
    try:
        with np.errstate(all="ignore"):
            result = _callable(function)(*positional, **keywords)
    except Exception as error:
        refuse("PO0151", f"`{full}`: {error}", args.loc, "see NumPy's documentation of it")
    results = result if isinstance(result, tuple) else (result,)
    try:
        return tuple(dtype_of(np.asarray(value).dtype) for value in results)
    except ValueError:
        hint = "convert the arguments to float64 or complex128"
        refuse("PO0143", f"`{args.name}` gives elements of an unknown type", args.loc, hint)


def _callable(function: object) -> Callable[..., Any]:
    assert callable(function)
    return function


def _small(extent: Expr, example: int) -> int:
    """Return a small number for an extent: equal extents get equal ones."""
    if isinstance(extent, Const):
        return int(extent.value.real)
    names = {part.name for part in walk(extent) if isinstance(part, Param | Iter)}
    return max(evaluate(extent, dict.fromkeys(names, example)), 1)


def _example(dtype: DType, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Return an array with which every function of the table works: identities, rising numbers."""
    if len(shape) >= 2:
        matrix = np.eye(shape[-2], shape[-1], dtype=dtype.numpy)
        return np.array(np.broadcast_to(matrix, shape))
    return np.arange(np.prod(shape, dtype=np.int64)).astype(dtype.numpy).reshape(shape)


FUNCTIONS = {name: ordering(name, reduction(name)) for name in ("max", "min")}
