"""Python's math module: functions of Python's own numbers.

In: a function of `math`.  Out: the rule that turns a call into a number, or None.
Constants are computed at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from polyopt.frontend.arithmetic.elementwise import apply, combine
from polyopt.frontend.arithmetic.folding import check_function
from polyopt.frontend.arithmetic.operators import operand, operate
from polyopt.frontend.integers.exact_integers import exact_size, nonnegative, whole_number
from polyopt.frontend.library import mathematics
from polyopt.frontend.numpy.axis_reductions import reduced
from polyopt.frontend.numpy.call_arguments import Arguments, is_none, number, real_number
from polyopt.frontend.numpy.table_rules import Rule, Written
from polyopt.frontend.numpy.ufuncs import PAIRS, UFUNCS
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.memory import stored_number
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.constants import as_sequence
from polyopt.frontend.values.promote import call, cast
from polyopt.frontend.values.values import Known, Number, Sequence, Tensor, Value
from polyopt.ir.expr import Binary, BinaryOp, Const, MathFunc
from polyopt.ir.types import DType

F64 = DType.FLOAT64


def _weak(number: Number) -> Number:
    return Number(number.expr, True)


_MATH = {
    "sqrt": MathFunc.SQRT, "cbrt": MathFunc.CBRT, "exp": MathFunc.EXP, "exp2": MathFunc.EXP2,
    "expm1": MathFunc.EXPM1, "log2": MathFunc.LOG2, "log10": MathFunc.LOG10,
    "log1p": MathFunc.LOG1P, "sin": MathFunc.SIN, "cos": MathFunc.COS, "tan": MathFunc.TAN,
    "asin": MathFunc.ASIN, "acos": MathFunc.ACOS, "atan": MathFunc.ATAN, "sinh": MathFunc.SINH,
    "cosh": MathFunc.COSH, "tanh": MathFunc.TANH, "asinh": MathFunc.ASINH,
    "acosh": MathFunc.ACOSH, "atanh": MathFunc.ATANH, "erf": MathFunc.ERF,
    "erfc": MathFunc.ERFC, "gamma": MathFunc.TGAMMA, "lgamma": MathFunc.LGAMMA,
    "atan2": MathFunc.ATAN2, "hypot": MathFunc.HYPOT, "copysign": MathFunc.COPYSIGN,
    "fmod": MathFunc.FMOD, "remainder": MathFunc.REMAINDER, "nextafter": MathFunc.NEXTAFTER,
    "fma": MathFunc.FMA,
}  # fmt: skip
_ARITY = {
    MathFunc.ATAN2: 2, MathFunc.HYPOT: 2, MathFunc.COPYSIGN: 2, MathFunc.FMOD: 2,
    MathFunc.REMAINDER: 2, MathFunc.NEXTAFTER: 2, MathFunc.FMA: 3,
}  # fmt: skip
_TESTS = {"isnan": MathFunc.ISNAN, "isinf": MathFunc.ISINF, "isfinite": MathFunc.ISFINITE}
_ROUNDS = {"floor": MathFunc.FLOOR, "ceil": MathFunc.CEIL, "trunc": MathFunc.TRUNC}


def _float_function(name: str, func: MathFunc, kind: DType = DType.FLOAT64) -> Rule:
    """Return the rule of a function of Python floats."""

    def rule(b: Builder, args: Arguments) -> Value:
        if args.keywords:
            refuse("PO0151", f"`{name}` with keyword arguments", args.loc)
        for value in args.values:
            if isinstance(value, Tensor) and value.rank:
                hint = "use NumPy's function of arrays"
                refuse("PO0142", f"`math.{name}` of an array", args.loc, hint)
        what = f"an argument of `{name}`"
        found = tuple(real_number(b, value, what, args.loc) for value in args.values)
        wanted = _ARITY.get(func, 1)
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
            return Number(whole_number(b, result.expr, args.loc), True)
        return result

    return rule


def _as_float(b: Builder, value: Value, args: Arguments) -> Number:
    found = real_number(b, value, f"an argument of `{args.name}`", args.loc)
    return Number(cast(found.expr, F64, args.loc), True)


def _pow(b: Builder, args: Arguments) -> Value:
    """math.pow"""
    sides = tuple(_as_float(b, value, args) for value in args.take("x y"))
    return operate(b, "power", sides, args.loc)


def _fabs(b: Builder, args: Arguments) -> Value:
    """math.fabs"""
    (value,) = args.take("x")
    return _of_ufunc(b, "absolute", (_as_float(b, value, args),), args)


def _of_ufunc(b: Builder, name: str, values: tuple[Number, ...], args: Arguments) -> Value:
    result = apply(b, UFUNCS[name], values, args.loc)
    assert isinstance(result, Number)
    return _weak(result)


def _log(b: Builder, args: Arguments) -> Value:
    """math.log, natural or to a base"""
    value, base = args.take("x", "base")
    plain = _computed(math.log, _float_function("log", MathFunc.LOG))
    top = plain(b, Arguments(args.name, (value,), {}, args.loc))
    if is_none(base):
        return top
    bottom = plain(b, Arguments(args.name, (base,), {}, args.loc))
    return operate(b, "divide", (top, bottom), args.loc)


def _scaled(factor: float) -> Rule:
    def rule(b: Builder, args: Arguments) -> Value:
        (value,) = args.take("x")
        expr = _as_float(b, value, args).expr
        return Number(Binary(BinaryOp.MUL, expr, Const(factor, F64), F64), True)

    return rule


def _integers(name: str) -> Rule:
    """math.gcd and math.lcm of any number of integers."""
    first = 0 if name == "gcd" else 1

    def rule(b: Builder, args: Arguments) -> Value:
        result = Number(Const(first, DType.INT64), True)
        for value in args.values:
            found = number(b, value, f"an argument of `{args.name}`", args.loc)
            if found.dtype.is_float or found.dtype.is_complex:
                refuse("PO0147", f"`{args.name}` of numbers that are no integers", args.loc)
            wide = Number(cast(found.expr, DType.INT64), True)
            both = apply(b, UFUNCS["gcd"], (result, wide), args.loc)
            assert isinstance(both, Number)
            if name == "gcd":
                result = _weak(both)
                continue
            shared = stored_number(b, _weak(both), "shared")
            parts = operate(b, "floor_divide", (result, shared), args.loc)
            product = operate(b, "multiply", (parts, wide), args.loc)
            size = exact_size(b, number(b, product, "a product", args.loc).expr, args.loc)
            result = Number(size, True)
        return Number(nonnegative(b, result.expr), True) if name == "gcd" else result

    return rule


def _ldexp(b: Builder, args: Arguments) -> Value:
    """math.ldexp"""
    value, power = args.take("x i")
    exponent = number(b, power, "the exponent", args.loc)
    wide = Number(cast(exponent.expr, DType.INT64), False)
    return _of_ufunc(b, "ldexp", (_as_float(b, value, args), wide), args)


def _pair(name: str) -> Rule:
    """math.frexp and math.modf."""

    def rule(b: Builder, args: Arguments) -> Value:
        (value,) = args.take("x")
        found = _as_float(b, value, args)
        kinds = (F64, DType.INT32) if name == "frexp" else (F64, F64)
        parts: list[Value] = []
        for op, kind in zip(PAIRS[name], kinds, strict=True):
            part = combine(b, name, (found,), (F64,), kind, op.rule, args.loc, repeats=True)
            assert isinstance(part, Number)
            wide = cast(part.expr, DType.INT64) if kind is DType.INT32 else part.expr
            parts.append(Number(wide, True))
        return Sequence(tuple(parts))

    return rule


def _ulp(b: Builder, args: Arguments) -> Value:
    """math.ulp: the distance to the next larger magnitude"""
    (value,) = args.take("x")
    size = apply(b, UFUNCS["absolute"], (_as_float(b, value, args),), args.loc)
    assert isinstance(size, Number)
    return _of_ufunc(b, "spacing", (size,), args)


def _hypot(b: Builder, args: Arguments) -> Value:
    """math.hypot of any number of coordinates"""
    if len(args.values) == 2:
        return _float_function("hypot", MathFunc.HYPOT)(b, args)
    total: Value = Known(0.0)
    for value in args.values:
        part = _as_float(b, value, args)
        square = operate(b, "multiply", (part, part), args.loc)
        total = operate(b, "add", (total, square), args.loc)
    return _float_function("sqrt", MathFunc.SQRT)(b, Arguments(args.name, (total,), {}, args.loc))


def _folded(name: str, operator: str, first: float) -> Rule:
    """math.prod and math.fsum: of a tuple, or of a vector."""

    def rule(b: Builder, args: Arguments) -> Value:
        value, start = args.take("iterable", "start")
        items = as_sequence(value)
        total: Value = Known(first) if is_none(start) else start
        if isinstance(items, Sequence):
            for item in items.items:
                if name == "sum":
                    item = _as_float(b, item, args)
                total = operate(b, operator, (total, item), args.loc)
            return total
        found = operand(items, args.loc)
        if not isinstance(found, Tensor) or found.rank != 1:
            refuse("PO0147", f"`{args.name}` of no tuple and no vector", args.loc, "use np.prod")
        whole = reduced(b, name, found, None, False, args.loc)
        return operate(b, operator, (total, whole), args.loc)

    return rule


def _computed(original: Callable[..., object], rule: Rule) -> Rule:
    """Return the rule that asks Python itself where all arguments are known."""

    def known(b: Builder, args: Arguments) -> Value:
        if all(isinstance(value, Known) for value in args.values) and not args.keywords:
            values = tuple(v.value for v in args.values if isinstance(v, Known))
            check_function(original.__name__, values, args.loc)
            try:
                return Known(original(*values))
            except (ValueError, TypeError, OverflowError) as error:
                refuse("PO0147", f"`{args.name}`: {error}", args.loc)
        return rule(b, args)

    return known


def _only_known(b: Builder, args: Arguments) -> Value:
    """Functions that no C library has: of constants only."""
    hint = "compute it outside and pass it as an argument"
    refuse("PO0119", f"`{args.name}` of values that are not known while compiling", args.loc, hint)


_SPECIAL: dict[str, Rule] = {
    "pow": _pow, "fabs": _fabs, "log": _log, "degrees": _scaled(180.0 / math.pi),
    "radians": _scaled(math.pi / 180.0), "gcd": _integers("gcd"), "lcm": _integers("lcm"),
    "ldexp": _ldexp, "frexp": _pair("frexp"), "modf": _pair("modf"), "ulp": _ulp,
    "hypot": _hypot, "prod": _folded("prod", "multiply", 1), "fsum": _folded("sum", "add", 0.0),
    "factorial": _only_known, "comb": _only_known, "perm": _only_known,
}  # fmt: skip


_WRITTEN: tuple[Callable[..., object], ...] = (
    mathematics.isclose, mathematics.isqrt, mathematics.dist,
)  # fmt: skip


def _rules() -> dict[int, Rule | Written]:
    found: dict[str, Rule] = {
        **{name: _float_function(name, func) for name, func in _MATH.items()},
        **{name: _float_function(name, func, DType.BOOL) for name, func in _TESTS.items()},
        **{name: _rounded(name, func) for name, func in _ROUNDS.items()},
        **_SPECIAL,
    }
    result: dict[int, Rule | Written] = {
        id(getattr(math, name)): _computed(getattr(math, name), rule)
        for name, rule in found.items()
        if hasattr(math, name)
    }
    for function in _WRITTEN:
        result[id(getattr(math, function.__name__))] = Written(function)
    return result


RULES = _rules()
NAMES = sorted({*_MATH, *_TESTS, *_ROUNDS, *_SPECIAL, *(f.__name__ for f in _WRITTEN)})
