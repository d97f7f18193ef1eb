"""Python's own functions of numbers and arrays, but those that count (`counting.py`).

In: arguments of the call.  Out: its value.
"""

from __future__ import annotations

from collections.abc import Callable
from types import BuiltinMethodType

import numpy as np

from polyopt.dataclass import replace
from polyopt.frontend.arithmetic.elementwise import apply
from polyopt.frontend.arithmetic.operators import as_int, describe, operand, operate
from polyopt.frontend.integers.affine_integers import (
    ONE,
    at_least,
    both,
    either,
    maximum,
    minimum,
    select,
)
from polyopt.frontend.integers.exact_integers import exact_size, exact_sum, sum_fits, whole_number
from polyopt.frontend.numpy import selection
from polyopt.frontend.numpy.axis_reductions import ordered_extreme, reduced
from polyopt.frontend.numpy.call_arguments import Arguments, is_none, number, real_number
from polyopt.frontend.numpy.complexes import of_parts
from polyopt.frontend.numpy.grids import arange
from polyopt.frontend.numpy.table_rules import Rule
from polyopt.frontend.numpy.ufuncs import UFUNCS
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.memory import cheap_number, forced, settled
from polyopt.frontend.reader.closures import Closure
from polyopt.frontend.reader.comprehensions import collected, unrolled
from polyopt.frontend.values.codes import refuse, refuse_raising
from polyopt.frontend.values.constants import as_sequence
from polyopt.frontend.values.promote import cast
from polyopt.frontend.values.values import (
    Buffer,
    Iterated,
    Known,
    Number,
    Range,
    Sequence,
    Tensor,
    Value,
    View,
    has_loads,
    item_of,
)
from polyopt.frontend.variables import lists
from polyopt.frontend.variables.alternatives import choose
from polyopt.ir.expr import BinaryOp, Compare, CompareOp, Const, Expr
from polyopt.ir.types import DType


def _known(function: Callable[..., object], values: tuple[object, ...], args: Arguments) -> Known:
    """Return what Python computes of constants."""
    try:
        return Known(function(*values))
    except (TypeError, ValueError, OverflowError) as error:
        refuse_raising("PO0147", f"`{args.name}`: {error}", args.loc)


def _weak(number: Number) -> Number:
    return Number(number.expr, True)


def _of_items(whole: Number, items: Tensor) -> Number:
    """Return what items amount to: Python's number where these are and it has the type."""
    own = whole.dtype in (DType.BOOL, DType.INT64, DType.FLOAT64, DType.COMPLEX128)
    return Number(whole.expr, own and items.view is not None and items.view.buffer.weak)


# -- builtins ---------------------------------------------------------------------------------


def _extreme(name: str) -> Rule:
    """min and max: of Python's numbers as Python compares them, of one array as a reduction."""
    op = BinaryOp.MIN if name == "min" else BinaryOp.MAX

    def rule(b: Builder, args: Arguments) -> Value:
        others = set(args.keywords) - {"default"}
        if others:
            refuse("PO0151", f"`{name}` with `{min(others)}=`", args.loc)
        default = args.keywords.get("default")
        if default is not None:
            return _or_default(b, rule, default, args)
        values = args.values
        if len(values) == 1:
            only = values[0]
            if isinstance(only, Tensor | Iterated):
                return _extreme_item(b, name, only, args)
            found_items = as_sequence(only)
            values = found_items.items if isinstance(found_items, Sequence) else values
        if all(isinstance(v, Known) for v in values):
            known = [v.value for v in values if isinstance(v, Known)]
            return _known(min if name == "min" else max, (known,), args)
        found = [number(b, value, f"an argument of `{name}`", args.loc) for value in values]
        result = found[0]
        for other in found[1:]:
            result = _extreme_pair(b, op, result, other, args)
        return result

    return rule


def _extreme_item(b: Builder, name: str, only: Tensor | Iterated, args: Arguments) -> Value:
    """Return the least or largest item."""
    if isinstance(only, Iterated):
        items = collected(b, only, None, args.loc)
        whole = ordered_extreme(b, name, items, args.loc)
        return _of_items(number(b, whole, "the result", args.loc), items)
    if only.rank != 1:
        refuse("PO0142", f"`{name}` of an array of rank {only.rank}", args.loc)
    whole = ordered_extreme(b, name, only, args.loc)
    if not lists.is_list(only):
        return whole
    return item_of(only, number(b, whole, "the result", args.loc))


def _or_default(b: Builder, rule: Rule, default: Value, args: Arguments) -> Value:
    """Return what `rule` finds among items, `default` where there are none."""
    if len(args.values) != 1:
        refuse("PO0147", f"`{args.name}` of several arguments with `default=`", args.loc)
    only = as_sequence(args.values[0])
    plain = replace(args, keywords={})
    match only:
        case Sequence(items=items):
            return rule(b, plain) if items else default
        case Tensor(shape=(extent,)) | Iterated(count=extent):
            is_some = at_least(extent, ONE)
            with b.operand(is_some):
                found = cheap_number(b, number(b, rule(b, plain), "the result", args.loc))
            other = number(b, default, "the default", args.loc)
            return choose(b, is_some, found, other, args.loc)
        case _:
            return rule(b, plain)


def _extreme_pair(b: Builder, op: BinaryOp, left: Number, right: Number, args: Arguments) -> Number:
    weak = left.weak and right.weak
    if left.dtype is not right.dtype:
        left, right = cheap_number(b, left), cheap_number(b, right)
        name = "less" if op is BinaryOp.MIN else "greater"
        found = operand(operate(b, name, (right, left), args.loc), args.loc)
        assert isinstance(found, Number)
        return choose(b, found.expr, right, left, args.loc)
    kind = left.dtype
    if weak and kind.is_complex:
        refuse("PO0146", "Python does not order complex numbers", args.loc, "compare abs()")
    order = CompareOp.LT if op is BinaryOp.MIN else CompareOp.GT
    if left.weak is not right.weak:
        left, right = cheap_number(b, left), cheap_number(b, right)
    if kind is DType.INT64 and not (has_loads(left.expr) or has_loads(right.expr)):
        pick = minimum if op is BinaryOp.MIN else maximum
        whole = pick(left.expr, right.expr)
    elif kind.is_integer:
        name = "minimum" if op is BinaryOp.MIN else "maximum"
        result = apply(b, UFUNCS[name], (left, right), args.loc)
        assert isinstance(result, Number)
        whole = result.expr
    else:
        left, right = cheap_number(b, left), cheap_number(b, right)
        whole = select(Compare(order, right.expr, left.expr), right.expr, left.expr)
    if left.weak is right.weak or not kind.is_integer:
        return Number(whole, weak)
    chosen = choose(b, Compare(order, right.expr, left.expr), right, left, args.loc)
    return replace(chosen, expr=whole)


def _abs(b: Builder, args: Arguments) -> Value:
    """abs"""
    (value,) = args.take("x")
    if isinstance(value, Known):
        return _known(abs, (value.value,), args)
    found = settled(b, operand(value, args.loc))
    if isinstance(found, Number) and found.weak:
        found = as_int(found)
    result = apply(b, UFUNCS["absolute"], (found,), args.loc)
    if isinstance(found, Number) and isinstance(result, Number):
        if found.weak and found.dtype is DType.INT64:
            return Number(exact_size(b, found.expr, args.loc), True)
        return Number(result.expr, found.weak)
    return result


def _int(b: Builder, args: Arguments) -> Value:
    """int: truncation"""
    (value,) = args.take("x")
    if isinstance(value, Known):
        return _known(int, (value.value,), args)
    found = real_number(b, value, "the argument of int", args.loc)
    return Number(whole_number(b, found.expr, args.loc), True)


def _float(b: Builder, args: Arguments) -> Value:
    """float"""
    (value,) = args.take("x")
    if isinstance(value, Known):
        return _known(float, (value.value,), args)
    found = real_number(b, value, "the argument of float", args.loc)
    return Number(cast(found.expr, DType.FLOAT64, args.loc), True)


def _bool(b: Builder, args: Arguments) -> Value:
    """bool"""
    (value,) = args.take("x")
    if isinstance(value, Known):
        return Known(bool(value.value))
    return _weak(
        Number(cast(number(b, value, "the argument of bool", args.loc).expr, DType.BOOL), True)
    )


def _sum(b: Builder, args: Arguments) -> Value:
    """sum of a tuple or of a vector"""
    value, start = args.take("iterable", "start")
    total: Value = Known(0) if is_none(start) else start
    found = as_sequence(value)
    if isinstance(found, Iterated):
        return _sum_of_items(b, collected(b, found, None, args.loc), total, args)
    match found:
        case Tensor(view=View(buffer=Buffer(is_list=True, weak=True))):
            return _sum_of_items(b, found, total, args)
        case Tensor(shape=shape) if len(shape) == 1:
            kind = DType.INT64 if found.dtype is DType.BOOL else found.dtype
            whole = reduced(b, "sum", found, None, False, args.loc, kind)
            return whole if is_none(start) else operate(b, "add", (total, whole), args.loc)
        case Sequence(items=items):
            for item in items:
                total = operate(b, "add", (total, item), args.loc)
            return total
        case _:
            refuse("PO0147", f"sum of {describe(value)}", args.loc, "use np.sum")


def _sum_of_items(b: Builder, items: Tensor, total: Value, args: Arguments) -> Value:
    """The sum of what a comprehension made, or of a list of Python's own numbers."""
    if items.rank != 1:
        whole = reduced(b, "sum", items, (0,), False, args.loc)
        return operate(b, "add", (total, whole), args.loc)
    kind = DType.INT64 if items.dtype is DType.BOOL else items.dtype
    if not sum_fits(b, items):
        return operate(b, "add", (total, exact_sum(b, items, args.loc)), args.loc)
    found = reduced(b, "sum", items, None, False, args.loc, kind)
    whole = number(b, found, "the sum", args.loc)
    return operate(b, "add", (total, _of_items(whole, items)), args.loc)


def _pow(b: Builder, args: Arguments) -> Value:
    """pow"""
    base, exponent = args.take("base exp")
    return operate(b, "power", (base, exponent), args.loc)


def _sequence(b: Builder, args: Arguments) -> Value:
    """tuple and list: of a tuple, of a known range, of nothing; lists of any range"""
    (value,) = args.take("", "iterable")
    is_list = args.name.endswith("list")
    if is_none(value):
        return Sequence((), is_list)
    items = unrolled(b, value, args.loc)
    if items is None and is_list and isinstance(value, Range):
        ends = (Number(value.start, True), Number(value.stop, True), Known(value.step))
        value = arange(b, Arguments(args.name, ends, {}, args.loc))
    if items is None and is_list and isinstance(value, Tensor) and value.rank == 1:
        return lists.of_items(b, forced(b, value))
    if items is None:
        hint = "use the array itself, or a list, `[... for ...]`"
        refuse("PO0147", f"`{args.name}` of {describe(value)}", args.loc, hint)
    return Sequence(items, is_list)


# -- about values -----------------------------------------------------------------------------


def _complex(b: Builder, args: Arguments) -> Value:
    """complex"""
    first, second = args.take("", "real imag")
    parts = [Known(0.0) if is_none(v) else v for v in (first, second)]
    if all(isinstance(v, Known) for v in parts):
        values = [v.value for v in parts if isinstance(v, Known)]
        return _known(complex, tuple(values if not is_none(second) else values[:1]), args)
    re, im = (number(b, v, "an argument of complex", args.loc) for v in parts)
    if is_none(second):
        return Number(cast(re.expr, DType.COMPLEX128), True)
    if re.dtype.is_complex or im.dtype.is_complex:
        refuse("PO0144", "complex of complex parts", args.loc, "add them: a + 1j * b")
    first_part, second_part = (cast(p.expr, DType.FLOAT64) for p in (re, im))
    whole = of_parts(first_part, second_part, DType.COMPLEX128)
    return Number(whole, True)


def _round(b: Builder, args: Arguments) -> Value:
    """round: to an integer; NumPy's numbers also to digits, as np.round does"""
    value, digits = args.take("number", "ndigits")
    if isinstance(value, Known) and (is_none(digits) or isinstance(digits, Known)):
        places = (digits.value,) if isinstance(digits, Known) and not is_none(digits) else ()
        return _known(round, (value.value, *places), args)
    found = number(b, value, "the argument of round", args.loc)
    if found.dtype.is_complex:
        refuse_raising("PO0146", "complex numbers are not rounded", args.loc, "round `.real`")
    if is_none(digits):
        if found.dtype.is_integer:
            return Number(cast(found.expr, DType.INT64, args.loc), True)
        rounded = apply(b, UFUNCS["rint"], (found,), args.loc)
        assert isinstance(rounded, Number)
        return Number(whole_number(b, rounded.expr, args.loc), True)
    if found.weak and not found.dtype.is_integer:
        hint = "use np.round, whose rule for ties differs slightly"
        refuse("PO0151", "`round` of a Python number to digits", args.loc, hint)
    return selection.round_(b, Arguments(args.name, (found, digits), {}, args.loc))


def _divmod(b: Builder, args: Arguments) -> Value:
    """divmod"""
    values = tuple(args.take("x y"))
    return Sequence(tuple(operate(b, name, values, args.loc) for name in _PARTS))


_PARTS = ("floor_divide", "remainder")


def _any_or_all(name: str) -> Rule:
    """any and all: of a tuple, or of one array of rank one."""
    ends = name == "any"

    def rule(b: Builder, args: Arguments) -> Value:
        (value,) = args.take("iterable")
        found = as_sequence(value)
        if isinstance(found, Iterated):
            found = collected(b, found, None, args.loc)
        if isinstance(found, Tensor):
            if found.rank != 1:
                refuse("PO0142", f"`{name}` of an array of rank {found.rank}", args.loc)
            result = reduced(b, name, found, None, False, args.loc)
            return _weak(number(b, result, "the result", args.loc))
        if not isinstance(found, Sequence):
            refuse("PO0147", f"`{name}` of {describe(value)}", args.loc, f"use np.{name}")
        total: Expr = Const(not ends, DType.BOOL)
        for item in found.items:
            expr = cast(number(b, item, "an item", args.loc).expr, DType.BOOL)
            total = either(total, expr) if ends else both(total, expr)
        return Known(bool(total.value)) if isinstance(total, Const) else Number(total, True)

    return rule


def _isinstance(b: Builder, args: Arguments) -> Value:
    """isinstance: what the value would be in Python"""
    value, kinds = args.take("obj class_or_tuple")
    wanted = as_sequence(kinds)
    items = wanted.items if isinstance(wanted, Sequence) else (wanted,)
    types = tuple(item.value for item in items if isinstance(item, Known))
    if len(types) != len(items) or not all(isinstance(t, type) for t in types):
        refuse("PO0147", "isinstance of an unknown type", args.loc, "name a type, such as float")
    return Known(isinstance(_example(value, args), types))  # type: ignore[arg-type]


def _example(value: Value, args: Arguments) -> object:
    match value:
        case Known(value=known):
            return known
        case Sequence(is_list=is_list):
            return [] if is_list else ()
        case Number(weak=True, dtype=dtype):
            return dtype.numpy.type(0).item()
        case Number(dtype=dtype):
            return dtype.numpy.type(0)
        case Tensor(dtype=dtype):
            return np.empty((0,) * max(value.rank, 1), dtype.numpy)
        case _:
            refuse("PO0147", f"isinstance of {describe(value)}", args.loc)


def _hasattr(b: Builder, args: Arguments) -> Value:
    """hasattr: what the value would have in Python"""
    value, name = args.take("obj name")
    if not isinstance(name, Known) or not isinstance(name.value, str):
        refuse("PO0147", "hasattr with an unknown name", args.loc, "write the name as a text")
    return Known(hasattr(_example(value, args), name.value))


def _callable(b: Builder, args: Arguments) -> Value:
    """callable"""
    (value,) = args.take("obj")
    if not isinstance(value, Known):
        return Known(False)
    return Known(callable(value.value) or isinstance(value.value, Closure))


_EXTREMES = {name: _extreme(name) for name in ("min", "max")}
BUILTINS: dict[str, Rule] = {
    **_EXTREMES, "abs": _abs, "int": _int, "float": _float, "bool": _bool, "sum": _sum,
    "pow": _pow, "tuple": _sequence, "list": _sequence, "complex": _complex, "round": _round,
    "divmod": _divmod, "any": _any_or_all("any"), "all": _any_or_all("all"),
    "isinstance": _isinstance, "callable": _callable, "hasattr": _hasattr,
}  # fmt: skip


def method_of_number(function: BuiltinMethodType) -> Rule:
    """Return the rule of a method of a number that is known, such as `(1j).conjugate`."""

    def rule(b: Builder, args: Arguments) -> Value:
        known = tuple(value.value for value in args.values if isinstance(value, Known))
        if len(known) < len(args.values) or args.keywords:
            hint = "compute it before the kernel is called"
            refuse("PO0152", f"`{args.name}` with these arguments", args.loc, hint)
        return _known(function, known, args)

    return rule
