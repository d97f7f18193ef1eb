"""The table of elementwise functions: NumPy's name -> how one element is computed.

In: operands in the dtypes of NumPy's own loop.  Out: the element's expression.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from polyopt.frontend.arithmetic.elementwise import Elementwise, Rule
from polyopt.frontend.integers.affine_integers import (
    FALSE,
    ONE,
    TRUE,
    both,
    compare,
    either,
    floordiv,
    is_affine,
    minus,
    modulo,
    negated,
    plus,
    times,
)
from polyopt.frontend.numpy import complexes, number_functions
from polyopt.frontend.numpy.complexes import either_kind
from polyopt.frontend.values.promote import call, cast, real_dtype, wrapped
from polyopt.frontend.values.values import has_loads
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Const,
    Expr,
    MathFunc,
    Select,
    Unary,
    UnaryOp,
)
from polyopt.ir.types import DType, Kind

Parts: TypeAlias = tuple[Expr, ...]


def _is_size_arithmetic(args: Parts, out: DType) -> bool:
    return out is DType.INT64 and not any(has_loads(a) for a in args)


def _binary_node(op: BinaryOp, args: Parts, out: DType) -> Expr:
    return Binary(op, args[0], args[1], out)


def _add(args: Parts, out: DType) -> Expr:
    if _is_size_arithmetic(args, out):
        return plus(*args)
    return _binary_node(BinaryOp.OR if out is DType.BOOL else BinaryOp.ADD, args, out)


def _subtract(args: Parts, out: DType) -> Expr:
    return minus(*args) if _is_size_arithmetic(args, out) else _binary_node(BinaryOp.SUB, args, out)


def _multiply(args: Parts, out: DType) -> Expr:
    if _is_size_arithmetic(args, out):
        return times(*args)
    return _binary_node(BinaryOp.AND if out is DType.BOOL else BinaryOp.MUL, args, out)


def _divisor_is_safe(divisor: Expr) -> bool:
    return not divisor.dtype.is_integer or (
        isinstance(divisor, Const) and divisor.value not in (0, -1)
    )


def _divided(op: BinaryOp, args: Parts, out: DType) -> Expr:
    """Integer division by zero is zero in NumPy; the least integer divided by -1 wraps."""
    left, right = args
    if _divisor_is_safe(right):
        return Binary(op, left, right, out)
    zero, one = cast(Const(0, DType.INT64), out), cast(Const(1, DType.INT64), out)
    is_zero = Compare(CompareOp.EQ, right, zero)
    safe = Select(is_zero, one, right, out)
    return Select(is_zero, zero, Binary(op, left, safe, out), out)


def _floor_divide(args: Parts, out: DType) -> Expr:
    if _is_size_arithmetic(args, out) and _divisor_is_safe(args[1]):
        return floordiv(*args)
    return _divided(BinaryOp.FLOORDIV, args, out)


def _remainder(args: Parts, out: DType) -> Expr:
    if _is_size_arithmetic(args, out) and _divisor_is_safe(args[1]):
        return modulo(*args)
    return _divided(BinaryOp.MOD, args, out)


def _fmod(args: Parts, out: DType) -> Expr:
    """C's remainder has the sign of the number, Python's that of the divisor."""
    left, right = args
    if not out.is_integer:
        return call(MathFunc.FMOD, left, right)
    rest = _divided(BinaryOp.MOD, args, out)
    if out.kind.value == "u":
        return rest
    zero = cast(Const(0, DType.INT64), out)
    signs = Binary(
        BinaryOp.XOR,
        Compare(CompareOp.LT, left, zero),
        Compare(CompareOp.LT, right, zero),
        DType.BOOL,
    )
    moved = both(signs, Compare(CompareOp.NE, rest, zero))
    return Select(moved, Binary(BinaryOp.SUB, rest, right, out), rest, out)


def _power(args: Parts, out: DType) -> Expr:
    base, exponent = args
    if not isinstance(exponent, Const):
        if out.kind is Kind.SIGNED and not is_affine(exponent):  # where negative, there is a fault
            exponent = Binary(BinaryOp.MAX, exponent, Const(0, out), out)
        return Binary(BinaryOp.POW, base, exponent, out)
    value = exponent.value
    if value == 0:
        return cast(Const(1, DType.INT64), out)
    if value == 1:
        return base
    if value == 2:
        return _multiply((base, base), out)
    if out.is_integer and isinstance(value, int) and value > 0:
        return _repeated_product(base, value, out)
    if value == 0.5 and not out.is_integer:
        return call(MathFunc.SQRT, base)
    if value == -1 and not out.is_integer:
        return Binary(BinaryOp.DIV, cast(Const(1, DType.INT64), out), base, out)
    return Binary(BinaryOp.POW, base, exponent, out)


def _repeated_product(base: Expr, exponent: int, out: DType) -> Expr:
    """Squares and products; integers wrap the same in any order."""
    if exponent == 1:
        return base
    half = _repeated_product(base, exponent // 2, out)
    square = _multiply((half, half), out)
    return square if exponent % 2 == 0 else _multiply((square, base), out)


def _binary(op: BinaryOp) -> Rule:
    return lambda args, out: _binary_node(op, args, out)


def _unary(op: UnaryOp) -> Rule:
    return lambda args, out: Unary(op, args[0], out)


def _math(func: MathFunc) -> Rule:
    return lambda args, out: call(func, *args, dtype=out)


def _compare(op: CompareOp) -> Rule:
    def rule(args: Parts, out: DType) -> Expr:
        """Fold comparisons of sizes that differ by a constant."""
        if args[0].dtype is DType.INT64 and not any(has_loads(a) for a in args):
            return compare(op, *args)
        if args[0].dtype is not args[1].dtype:
            return number_functions.mixed_order(op, *args)
        if args[0].dtype.is_complex and op not in (CompareOp.EQ, CompareOp.NE):
            return complexes.ordered(op, *args)
        return Compare(op, args[0], args[1])

    return rule


def _negative(args: Parts, out: DType) -> Expr:
    if _is_size_arithmetic(args, out):
        return times(args[0], -1)
    if isinstance(args[0], Const) and not isinstance(args[0].value, bool):
        number = args[0].value
        return Const(wrapped(-number, out) if isinstance(number, int) else -number, out)
    return Unary(UnaryOp.NEG, args[0], out)


def _minimum(args: Parts, out: DType) -> Expr:
    return _binary_node(BinaryOp.AND if out is DType.BOOL else BinaryOp.MIN, args, out)


def _maximum(args: Parts, out: DType) -> Expr:
    return _binary_node(BinaryOp.OR if out is DType.BOOL else BinaryOp.MAX, args, out)


def _number_first(op: CompareOp, args: Parts, out: DType) -> Expr:
    """The operand that is no NaN, the first one where `op` holds of both."""
    left, right = args
    no_number = call(MathFunc.ISNAN, right, dtype=DType.BOOL)
    keep = Binary(BinaryOp.OR, Compare(op, left, right), no_number, DType.BOOL)
    return Select(keep, left, right, out)


def _fmax(args: Parts, out: DType) -> Expr:
    """Of two zeros NumPy takes the second one, but for float16 and the last elements."""
    op = CompareOp.GE if out is DType.FLOAT16 else CompareOp.GT
    return _number_first(op, args, out) if out.is_float else _maximum(args, out)


def _fmin(args: Parts, out: DType) -> Expr:
    op = CompareOp.LE if out is DType.FLOAT16 else CompareOp.LT
    return _number_first(op, args, out) if out.is_float else _minimum(args, out)


def _fmax_of_numbers(args: Parts, out: DType) -> Expr:
    """Of two zeros NumPy takes the first one, but for float32."""
    return _number_first(CompareOp.GE, args, out) if out is DType.FLOAT64 else _fmax(args, out)


def _fmin_of_numbers(args: Parts, out: DType) -> Expr:
    return _number_first(CompareOp.LE, args, out) if out is DType.FLOAT64 else _fmin(args, out)


def _absolute(args: Parts, out: DType) -> Expr:
    if args[0].dtype is DType.BOOL or args[0].dtype.kind.value == "u":
        return args[0]
    return Unary(UnaryOp.ABS, args[0], out)


def _sign(args: Parts, out: DType) -> Expr:
    value = args[0]
    zero, one = cast(Const(0, DType.INT64), out), cast(Const(1, DType.INT64), out)
    if out is DType.BOOL or out.kind.value == "u":
        return Select(Compare(CompareOp.GT, value, zero), one, zero, out)
    minus_one = cast(Const(-1, DType.INT64), out)
    is_zero = Compare(CompareOp.EQ, value, zero)
    kept = value if out is DType.BFLOAT16 else zero  # there a zero keeps its sign
    otherwise = Select(is_zero, kept, value, out)
    below = Select(Compare(CompareOp.LT, value, zero), minus_one, otherwise, out)
    return Select(Compare(CompareOp.GT, value, zero), one, below, out)


def _square(args: Parts, out: DType) -> Expr:
    return _multiply((args[0], args[0]), out)


def _reciprocal(args: Parts, out: DType) -> Expr:
    one = cast(Const(1, DType.INT64), out)
    if out.is_integer:  # 1 and -1 are kept, zero is what this machine's NumPy makes of it
        zero, value = cast(Const(0, DType.INT64), out), args[0]
        is_one: Expr = Compare(CompareOp.EQ, value, one)
        if out.kind is Kind.SIGNED:
            is_one = either(is_one, Compare(CompareOp.EQ, value, Const(-1, out)))
        with np.errstate(divide="ignore", invalid="ignore"):
            of_zero = Const(int(np.reciprocal(np.zeros(1, out.numpy))[0]), out)
        of_others = Select(is_one, value, zero, out)
        return Select(Compare(CompareOp.EQ, value, zero), of_zero, of_others, out)
    return Binary(BinaryOp.DIV, one, args[0], out)


def _same(args: Parts, out: DType) -> Expr:
    return args[0]


def _rounding(func: MathFunc) -> Rule:
    return lambda args, out: call(func, args[0]) if out.is_float else args[0]


_PARTS = (MathFunc.REAL, MathFunc.IMAG)


def _predicate(func: MathFunc, otherwise: Const) -> Rule:
    """isnan and its kin are constants on integers."""

    def rule(args: Parts, out: DType) -> Expr:
        value = args[0]
        if value.dtype.is_complex:
            parts = (call(p, value, dtype=real_dtype(value.dtype)) for p in _PARTS)
            real, imag = (call(func, part, dtype=DType.BOOL) for part in parts)
            return both(real, imag) if func is MathFunc.ISFINITE else either(real, imag)
        return call(func, value, dtype=DType.BOOL) if value.dtype.is_float else otherwise

    return rule


def _logical(join: Callable[[Expr, Expr], Expr]) -> Rule:
    """NumPy's logical functions take any numbers; nonzero is true."""
    return lambda args, out: join(cast(args[0], DType.BOOL), cast(args[1], DType.BOOL))


def _logical_xor(left: Expr, right: Expr) -> Expr:
    return Binary(BinaryOp.XOR, left, right, DType.BOOL)


def _logical_not(args: Parts, out: DType) -> Expr:
    return negated(cast(args[0], DType.BOOL))


def _bitwise_not(args: Parts, out: DType) -> Expr:
    if out is DType.BOOL:
        return negated(args[0])
    if _is_size_arithmetic(args, out):
        return minus(times(args[0], -1), ONE)
    return Unary(UnaryOp.INVERT, args[0], out)


def _conjugate(args: Parts, out: DType) -> Expr:
    return call(MathFunc.CONJ, args[0]) if out.is_complex else args[0]


def _in_single(rule: Rule) -> Rule:
    """Return `rule`, for numbers of 16 bits made in float32 and rounded once, as NumPy does."""

    def made(args: Parts, out: DType) -> Expr:
        if not out.is_half:
            return rule(args, out)
        wide = tuple(cast(arg, DType.FLOAT32) for arg in args)
        return cast(rule(wide, DType.FLOAT32), out)

    return made


def _scaled(above: float, below: float) -> Rule:
    def rule(args: Parts, out: DType) -> Expr:
        kind = out.numpy.type
        factor = float(kind(above) / kind(below))
        return Binary(BinaryOp.MUL, args[0], Const(factor, out), out)

    return _in_single(rule)


def _heaviside(args: Parts, out: DType) -> Expr:
    value, middle = args
    zero, one = Const(0.0, out), Const(1.0, out)
    at_zero = Select(Compare(CompareOp.EQ, value, zero), middle, value, out)
    above = Select(Compare(CompareOp.GT, value, zero), one, at_zero, out)
    return Select(Compare(CompareOp.LT, value, zero), zero, above, out)


def _logaddexp(args: Parts, out: DType) -> Expr:
    """Return max + log1p(exp(-|difference|)), and x + log 2 where both are equal."""
    left, right = args
    difference = Binary(BinaryOp.SUB, left, right, out)
    grown = call(MathFunc.EXP, Unary(UnaryOp.NEG, Unary(UnaryOp.ABS, difference, out), out))
    sum_ = Binary(
        BinaryOp.ADD, Binary(BinaryOp.MAX, left, right, out), call(MathFunc.LOG1P, grown), out
    )
    doubled = Binary(BinaryOp.ADD, left, Const(float(np.log(2.0)), out), out)
    return Select(Compare(CompareOp.EQ, left, right), doubled, sum_, out)


_ONE_ARGUMENT = {
    "sqrt": MathFunc.SQRT, "cbrt": MathFunc.CBRT, "exp": MathFunc.EXP, "exp2": MathFunc.EXP2,
    "expm1": MathFunc.EXPM1, "log": MathFunc.LOG, "log2": MathFunc.LOG2, "log10": MathFunc.LOG10,
    "log1p": MathFunc.LOG1P, "sin": MathFunc.SIN, "cos": MathFunc.COS, "tan": MathFunc.TAN,
    "arcsin": MathFunc.ASIN, "arccos": MathFunc.ACOS, "arctan": MathFunc.ATAN,
    "sinh": MathFunc.SINH, "cosh": MathFunc.COSH, "tanh": MathFunc.TANH,
    "arcsinh": MathFunc.ASINH, "arccosh": MathFunc.ACOSH, "arctanh": MathFunc.ATANH,
    "arctan2": MathFunc.ATAN2, "hypot": MathFunc.HYPOT, "copysign": MathFunc.COPYSIGN,
}  # fmt: skip

_LARGEST = complexes.extreme(CompareOp.GE, skips_nan=False)
_LEAST = complexes.extreme(CompareOp.LE, skips_nan=False)
_LARGEST_NUMBER = complexes.extreme(CompareOp.GE, skips_nan=True)
_LEAST_NUMBER = complexes.extreme(CompareOp.LE, skips_nan=True)
_COMPLEX = {
    "exp2": complexes.exp2, "expm1": complexes.expm1, "log1p": complexes.log1p,
    "log2": complexes.log_to_base(2.0), "log10": complexes.log_to_base(10.0),
}  # fmt: skip


def _one_argument(name: str, func: MathFunc) -> Elementwise:
    plain = _math(func)
    rule = either_kind(plain, _COMPLEX[name]) if name in _COMPLEX else plain
    return Elementwise(getattr(np, name), rule, repeats=name in ("expm1", "log1p"))


UFUNCS: dict[str, Elementwise] = {
    **{name: _one_argument(name, func) for name, func in _ONE_ARGUMENT.items()},
    "add": Elementwise(np.add, _add),
    "subtract": Elementwise(np.subtract, _subtract),
    "multiply": Elementwise(np.multiply, _multiply),
    "divide": Elementwise(np.divide, _binary(BinaryOp.DIV)),
    "floor_divide": Elementwise(np.floor_divide, _floor_divide),
    "remainder": Elementwise(np.remainder, _remainder),
    "power": Elementwise(np.power, _power, repeats=True),
    "float_power": Elementwise(np.float_power, _power, repeats=True),
    "negative": Elementwise(np.negative, _negative),
    "positive": Elementwise(np.positive, _same),
    "absolute": Elementwise(np.absolute, _absolute),
    "fabs": Elementwise(np.fabs, _unary(UnaryOp.ABS)),
    "sign": Elementwise(np.sign, either_kind(_sign, complexes.sign), repeats=True),
    "square": Elementwise(np.square, _square, repeats=True),
    "reciprocal": Elementwise(
        np.reciprocal, either_kind(_reciprocal, complexes.reciprocal), repeats=True
    ),
    "minimum": Elementwise(np.minimum, either_kind(_minimum, _LEAST)),
    "maximum": Elementwise(np.maximum, either_kind(_maximum, _LARGEST)),
    "fmin": Elementwise(
        np.fmin,
        either_kind(_fmin, _LEAST_NUMBER),
        repeats=True,
        of_numbers=either_kind(_fmin_of_numbers, _LEAST_NUMBER),
    ),
    "fmax": Elementwise(
        np.fmax,
        either_kind(_fmax, _LARGEST_NUMBER),
        repeats=True,
        of_numbers=either_kind(_fmax_of_numbers, _LARGEST_NUMBER),
    ),
    "floor": Elementwise(np.floor, _rounding(MathFunc.FLOOR)),
    "ceil": Elementwise(np.ceil, _rounding(MathFunc.CEIL)),
    "trunc": Elementwise(np.trunc, _rounding(MathFunc.TRUNC)),
    "rint": Elementwise(np.rint, either_kind(_rounding(MathFunc.RINT), complexes.rint)),
    "isnan": Elementwise(np.isnan, _predicate(MathFunc.ISNAN, FALSE)),
    "isinf": Elementwise(np.isinf, _predicate(MathFunc.ISINF, FALSE)),
    "isfinite": Elementwise(np.isfinite, _predicate(MathFunc.ISFINITE, TRUE)),
    "signbit": Elementwise(np.signbit, _math(MathFunc.SIGNBIT)),
    "conjugate": Elementwise(np.conjugate, _conjugate),
    "deg2rad": Elementwise(np.deg2rad, _scaled(np.pi, 180.0)),
    "rad2deg": Elementwise(np.rad2deg, _scaled(180.0, np.pi)),
    "radians": Elementwise(np.radians, _scaled(np.pi, 180.0)),
    "degrees": Elementwise(np.degrees, _scaled(180.0, np.pi)),
    "heaviside": Elementwise(np.heaviside, _heaviside, repeats=True),
    "logaddexp": Elementwise(np.logaddexp, _in_single(_logaddexp), repeats=True),
    "less": Elementwise(np.less, _compare(CompareOp.LT)),
    "less_equal": Elementwise(np.less_equal, _compare(CompareOp.LE)),
    "greater": Elementwise(np.greater, _compare(CompareOp.GT)),
    "greater_equal": Elementwise(np.greater_equal, _compare(CompareOp.GE)),
    "equal": Elementwise(np.equal, _compare(CompareOp.EQ)),
    "not_equal": Elementwise(np.not_equal, _compare(CompareOp.NE)),
    "logical_and": Elementwise(np.logical_and, _logical(both)),
    "logical_or": Elementwise(np.logical_or, _logical(either)),
    "logical_xor": Elementwise(np.logical_xor, _logical(_logical_xor)),
    "logical_not": Elementwise(np.logical_not, _logical_not),
    "bitwise_and": Elementwise(np.bitwise_and, _binary(BinaryOp.AND)),
    "bitwise_or": Elementwise(np.bitwise_or, _binary(BinaryOp.OR)),
    "bitwise_xor": Elementwise(np.bitwise_xor, _binary(BinaryOp.XOR)),
    "invert": Elementwise(np.invert, _bitwise_not),
    "left_shift": Elementwise(np.left_shift, _binary(BinaryOp.SHL)),
    "right_shift": Elementwise(np.right_shift, _binary(BinaryOp.SHR)),
    "fmod": Elementwise(np.fmod, _fmod, repeats=True),
    "gcd": Elementwise(np.gcd, number_functions.gcd),
    "lcm": Elementwise(np.lcm, number_functions.lcm, repeats=True),
    "ldexp": Elementwise(np.ldexp, number_functions.ldexp),
    "nextafter": Elementwise(np.nextafter, _math(MathFunc.NEXTAFTER)),
    "spacing": Elementwise(np.spacing, number_functions.spacing, repeats=True),
    "logaddexp2": Elementwise(np.logaddexp2, _in_single(number_functions.logaddexp2), repeats=True),
}
if hasattr(np, "bitwise_count"):  # NumPy 2
    UFUNCS["bitwise_count"] = Elementwise(np.bitwise_count, number_functions.bitwise_count)

PAIRS: dict[str, tuple[Elementwise, Elementwise]] = {
    "divmod": (
        Elementwise(np.divmod, _floor_divide, repeats=True),
        Elementwise(np.divmod, _remainder, repeats=True),
    ),
    "modf": (
        Elementwise(np.modf, number_functions.fraction_of, repeats=True),
        Elementwise(np.modf, number_functions.whole_of, repeats=True),
    ),
    "frexp": (
        Elementwise(np.frexp, number_functions.mantissa_of, repeats=True),
        Elementwise(np.frexp, number_functions.exponent_of, repeats=True),
    ),
}
"""The ufuncs with two results, one rule for each."""
