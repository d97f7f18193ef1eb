"""Python's own functions: builtins on numbers and arrays, and the math module.

In: a builtin or math function.  Out: the rule that turns a call into a value, or None.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable

from polyopt.frontend.arguments import Arguments, is_none, known_int, number, size
from polyopt.frontend.builder import Builder
from polyopt.frontend.codes import refuse
from polyopt.frontend.elementwise import apply, combine
from polyopt.frontend.folds import reduced
from polyopt.frontend.integers import (
    constant,
    floordiv,
    maximum,
    minimum,
    minus,
    plus,
    select,
    strip_casts,
    times,
    why_not_affine,
)
from polyopt.frontend.masks import count
from polyopt.frontend.memory import cheap_number, forced, settled
from polyopt.frontend.operators import describe, operand, operate
from polyopt.frontend.promote import call, cast, common_dtype
from polyopt.frontend.subscripts import At, select_parts
from polyopt.frontend.ufuncs import UFUNCS
from polyopt.frontend.values import (
    Iterated,
    Known,
    Masked,
    Number,
    Range,
    Sequence,
    Tensor,
    Value,
    as_value,
    has_loads,
)
from polyopt.ir.expr import BinaryOp, Compare, CompareOp, Expr, MathFunc, integer
from polyopt.ir.types import DType

Rule = Callable[[Builder, Arguments], Value]


def _weak(number: Number) -> Number:
    return Number(number.expr, True)


# -- builtins ---------------------------------------------------------------------------------


def _len(b: Builder, args: Arguments) -> Value:
    """len"""
    (value,) = args.take("obj")
    match value:
        case Sequence(items=items):
            return Known(len(items))
        case Known(value=tuple() | list() | str() as known):
            return Known(len(known))
        case Tensor() if value.rank:
            return Number(b.extent(value.shape[0]), True)
        case Masked():
            return count(b, value, args.loc)
        case _:
            refuse("PO0147", f"len of {describe(value)}", args.loc)


def _range(b: Builder, args: Arguments) -> Value:
    """range"""
    first, stop, step = args.take("start", "stop step")
    start: Expr = integer(0)
    if is_none(stop):
        stop = first
    else:
        start = _bound(b, first, args)
    by = 1
    if not is_none(step):
        by = known_int(b, step, "the step of a range", args.loc)
    if by == 0:
        refuse("PO0132", "a range with step zero", args.loc)
    return Range(start, _bound(b, stop, args), by)


def _bound(b: Builder, value: Value, args: Arguments) -> Expr:
    found = number(b, value, "a loop bound", args.loc)
    expr = strip_casts(found.expr)
    if not found.dtype.is_integer:
        hint = "use `//` for whole quotients"
        refuse("PO0131", f"a loop bound is {describe(found)}, not an integer", args.loc, hint)
    reason = why_not_affine(expr)
    if reason is not None:
        hint = "use sums of sizes, integer arguments and outer loop variables"
        refuse("PO0131", f"a loop bound is not affine: {reason}", args.loc, hint)
    return expr


def _extreme(name: str) -> Rule:
    """min and max: of Python's numbers as Python compares them, of one array as a reduction."""
    op = BinaryOp.MIN if name == "min" else BinaryOp.MAX

    def rule(b: Builder, args: Arguments) -> Value:
        if args.keywords:
            refuse("PO0151", f"`{name}` with `{next(iter(args.keywords))}=`", args.loc)
        values = args.values
        if len(values) == 1:
            only = values[0]
            if isinstance(only, Tensor):
                if only.rank != 1:
                    refuse("PO0142", f"`{name}` of an array of rank {only.rank}", args.loc)
                return reduced(b, name, only, None, False, args.loc)
            values = only.items if isinstance(only, Sequence) else values
        if all(isinstance(v, Known) for v in values):
            return Known((min if name == "min" else max)(v.value for v in values))  # type: ignore
        found = [number(b, value, f"an argument of `{name}`", args.loc) for value in values]
        result = found[0]
        for other in found[1:]:
            result = _extreme_pair(b, op, result, other, args)
        return result

    return rule


def _extreme_pair(b: Builder, op: BinaryOp, left: Number, right: Number, args: Arguments) -> Number:
    kind = common_dtype(((left.dtype, left.weak), (right.dtype, right.weak)), args.loc)
    weak = left.weak and right.weak
    if kind is DType.INT64 and not (has_loads(left.expr) or has_loads(right.expr)):
        pick = minimum if op is BinaryOp.MIN else maximum
        return Number(pick(cast(left.expr, kind), cast(right.expr, kind)), weak)
    if kind.is_integer:
        name = "minimum" if op is BinaryOp.MIN else "maximum"
        result = apply(b, UFUNCS[name], (left, right), args.loc)
        assert isinstance(result, Number)
        return Number(result.expr, weak)
    left, right = cheap_number(b, left), cheap_number(b, right)
    a, c = cast(left.expr, kind, args.loc), cast(right.expr, kind, args.loc)
    order = CompareOp.LT if op is BinaryOp.MIN else CompareOp.GT
    return Number(select(Compare(order, c, a), c, a), weak)


def _abs(b: Builder, args: Arguments) -> Value:
    """abs"""
    (value,) = args.take("x")
    if isinstance(value, Known):
        return Known(abs(value.value))  # type: ignore[arg-type]
    found = settled(b, operand(value, args.loc))
    result = apply(b, UFUNCS["absolute"], (found,), args.loc)
    if isinstance(found, Number) and isinstance(result, Number):
        return Number(result.expr, found.weak)
    return result


def _int(b: Builder, args: Arguments) -> Value:
    """int: truncation"""
    (value,) = args.take("x")
    if isinstance(value, Known):
        return Known(int(value.value))  # type: ignore[call-overload]
    found = number(b, value, "the argument of int", args.loc)
    if found.dtype.is_complex:
        refuse("PO0144", "int of a complex number", args.loc, "take `.real`")
    return Number(cast(found.expr, DType.INT64, args.loc), True)


def _float(b: Builder, args: Arguments) -> Value:
    """float"""
    (value,) = args.take("x")
    if isinstance(value, Known):
        return Known(float(value.value))  # type: ignore[arg-type]
    found = number(b, value, "the argument of float", args.loc)
    if found.dtype.is_complex:
        refuse("PO0144", "float of a complex number", args.loc, "take `.real`")
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
    (value,) = args.take("iterable")
    match value:
        case Tensor(shape=shape) if len(shape) == 1:
            return reduced(b, "sum", value, None, False, args.loc)
        case Sequence(items=items):
            total: Value = Known(0)
            for item in items:
                total = operate(b, "add", (total, item), args.loc)
            return total
        case _:
            refuse("PO0147", f"sum of {describe(value)}", args.loc, "use np.sum")


def _pow(b: Builder, args: Arguments) -> Value:
    """pow"""
    base, exponent = args.take("base exp")
    return operate(b, "power", (base, exponent), args.loc)


def _sequence(b: Builder, args: Arguments) -> Value:
    """tuple and list of a tuple"""
    (value,) = args.take("iterable")
    if not isinstance(value, Sequence):
        refuse("PO0147", f"tuple of {describe(value)}", args.loc)
    return value


# -- iteration --------------------------------------------------------------------------------


def iterated(b: Builder, value: Value, args: Arguments) -> Iterated:
    """Return what `for` runs over: a range or the first dimension of an array."""
    match value:
        case Range():
            distance = (
                minus(value.stop, value.start) if value.step > 0 else minus(value.start, value.stop)
            )
            count = floordiv(plus(distance, abs(value.step) - 1), integer(abs(value.step)))
            start, step = value.start, value.step
            return Iterated(count, lambda i: Number(plus(start, times(i, step)), True))
        case Iterated():
            return value
        case Tensor() if value.rank:
            array = forced(b, value)
            return Iterated(array.shape[0], lambda i: _item(b, array, i, args))
        case _:
            refuse("PO0130", f"a loop over {describe(value)}", args.loc, "loop over a range")


def _item(b: Builder, value: Tensor, index: Expr, args: Arguments) -> Value:
    return as_value(select_parts(b, value, (At(index, "item"),), "the array", args.loc))


def _enumerate(b: Builder, args: Arguments) -> Value:
    """enumerate"""
    value, start = args.take("iterable", "start")
    first = integer(0) if is_none(start) else size(b, start, "the start of enumerate", args.loc)
    inner = iterated(b, value, args)
    return Iterated(inner.count, lambda i: Sequence((Number(plus(first, i), True), inner.item(i))))


def _zip(b: Builder, args: Arguments) -> Value:
    """zip: as long as the shortest"""
    parts = [iterated(b, value, args) for value in args.values]
    if not parts or args.keywords:
        refuse("PO0151", "zip with these arguments", args.loc)
    count = parts[0].count
    for part in parts[1:]:
        count = minimum(count, part.count)
    return Iterated(count, lambda i: Sequence(tuple(part.item(i) for part in parts)))


def _reversed(b: Builder, args: Arguments) -> Value:
    """reversed of a range"""
    (value,) = args.take("sequence")
    if not isinstance(value, Range):
        refuse("PO0130", f"reversed of {describe(value)}", args.loc, "loop over a range")
    inner = iterated(b, value, args)
    length = constant(inner.count)
    if value.step in (1, -1):
        return Range(plus(value.stop, -value.step), plus(value.start, -value.step), -value.step)
    if length is None:
        refuse("PO0130", "reversed of a range with a step", args.loc, "write the range downwards")
    last = plus(value.start, (length - 1) * value.step)
    return Range(last, plus(value.start, -value.step), -value.step)


# -- math -------------------------------------------------------------------------------------

_MATH = {
    "sqrt": MathFunc.SQRT, "cbrt": MathFunc.CBRT, "exp": MathFunc.EXP, "exp2": MathFunc.EXP2,
    "expm1": MathFunc.EXPM1, "log2": MathFunc.LOG2, "log10": MathFunc.LOG10,
    "log1p": MathFunc.LOG1P, "sin": MathFunc.SIN, "cos": MathFunc.COS, "tan": MathFunc.TAN,
    "asin": MathFunc.ASIN, "acos": MathFunc.ACOS, "atan": MathFunc.ATAN, "sinh": MathFunc.SINH,
    "cosh": MathFunc.COSH, "tanh": MathFunc.TANH, "asinh": MathFunc.ASINH,
    "acosh": MathFunc.ACOSH, "atanh": MathFunc.ATANH, "erf": MathFunc.ERF,
    "erfc": MathFunc.ERFC, "gamma": MathFunc.TGAMMA, "lgamma": MathFunc.LGAMMA,
    "atan2": MathFunc.ATAN2, "hypot": MathFunc.HYPOT, "copysign": MathFunc.COPYSIGN,
    "fmod": MathFunc.FMOD, "log": MathFunc.LOG,
}  # fmt: skip
_TESTS = {"isnan": MathFunc.ISNAN, "isinf": MathFunc.ISINF, "isfinite": MathFunc.ISFINITE}
_ROUNDS = {"floor": MathFunc.FLOOR, "ceil": MathFunc.CEIL, "trunc": MathFunc.TRUNC}


def _float_function(name: str, func: MathFunc, kind: DType = DType.FLOAT64) -> Rule:
    """Return the rule of a function of Python floats; constants are computed at once."""
    original = getattr(math, name, None)

    def rule(b: Builder, args: Arguments) -> Value:
        if args.keywords:
            refuse("PO0151", f"`{name}` with keyword arguments", args.loc)
        if original is not None and all(isinstance(v, Known) for v in args.values):
            try:
                return Known(original(*[v.value for v in args.values if isinstance(v, Known)]))
            except (ValueError, TypeError, OverflowError) as error:
                refuse("PO0147", f"`{name}`: {error}", args.loc)
        found = tuple(number(b, v, f"an argument of `{name}`", args.loc) for v in args.values)
        wanted = (
            2 if func in (MathFunc.ATAN2, MathFunc.HYPOT, MathFunc.COPYSIGN, MathFunc.FMOD) else 1
        )
        if len(found) != wanted:
            refuse("PO0151", f"`{name}` with {len(found)} arguments", args.loc)
        inputs = (DType.FLOAT64,) * len(found)
        result = combine(
            b, name, found, inputs, kind, lambda p, out: call(func, *p, dtype=out), args.loc
        )
        assert isinstance(result, Number)
        return _weak(result)

    return rule


def _rounded(name: str, func: MathFunc) -> Rule:
    """math.floor and its kin give Python integers."""
    as_float = _float_function(name, func)

    def rule(b: Builder, args: Arguments) -> Value:
        result = as_float(b, args)
        if isinstance(result, Number):
            return Number(cast(result.expr, DType.INT64), True)
        return result

    return rule


def _math_pow(b: Builder, args: Arguments) -> Value:
    """math.pow"""
    base, exponent = args.take("x y")
    as_float = [_float(b, Arguments("float", (v,), {}, args.loc)) for v in (base, exponent)]
    return operate(b, "power", tuple(as_float), args.loc)


def _math_fabs(b: Builder, args: Arguments) -> Value:
    """math.fabs"""
    return _abs(b, Arguments("abs", (_float(b, args),), {}, args.loc))


_RULES: list[tuple[object, Rule]] = [
    (builtins.len, _len), (builtins.range, _range), (builtins.min, _extreme("min")),
    (builtins.max, _extreme("max")), (builtins.abs, _abs), (builtins.int, _int),
    (builtins.float, _float), (builtins.bool, _bool), (builtins.sum, _sum),
    (builtins.pow, _pow), (builtins.tuple, _sequence), (builtins.list, _sequence),
    (builtins.enumerate, _enumerate), (builtins.zip, _zip), (builtins.reversed, _reversed),
    (math.pow, _math_pow), (math.fabs, _math_fabs),
]  # fmt: skip
for _name, _func in _MATH.items():
    if hasattr(math, _name):
        _RULES.append((getattr(math, _name), _float_function(_name, _func)))
for _name, _func in _TESTS.items():
    _RULES.append((getattr(math, _name), _float_function(_name, _func, DType.BOOL)))
for _name, _func in _ROUNDS.items():
    _RULES.append((getattr(math, _name), _rounded(_name, _func)))
_BY_OBJECT = {id(function): rule for function, rule in _RULES}


def rule_of(function: object) -> Rule | None:
    """Return the rule of a builtin or math function."""
    return _BY_OBJECT.get(id(function))
