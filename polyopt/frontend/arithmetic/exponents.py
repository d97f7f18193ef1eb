"""Powers that NumPy or Python has no number of the result's type for.

In: the operands and the type of the result.
Out: checks of the call, faults.
Refuses: negative exponents of NumPy's integers (PO0147); what only the running kernel knows, and a
complex power of Python's floats, is a fault (PO0232).
Divisors among Python's own numbers: one that is zero raises.
"""

from __future__ import annotations

import math

from polyopt.errors import Loc
from polyopt.frontend.integers.affine_integers import (
    TRUE,
    at_least,
    both,
    compare,
    is_affine,
    is_nonnegative,
    less,
)
from polyopt.frontend.integers.intervals import interval_of
from polyopt.frontend.integers.ranges import range_of
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.drafts import dynamic_params
from polyopt.frontend.program.memory import cheap, cheap_number, forced
from polyopt.frontend.program.statement_domains import Scope
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.promote import call, cast
from polyopt.frontend.values.values import Number, Operandish, Tensor
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
    Select,
    Unary,
    UnaryOp,
    integer,
    walk,
)
from polyopt.ir.types import DType, Kind

_NEGATIVE_POWER = "integers to negative powers are not allowed in NumPy"
_FLOAT_BASE = "convert the base to float first"
_COMPLEX_BASE = "test the number first, or convert it with `complex` or `np.float64`"


def demand_exponent(b: Builder, exponent: Operandish, output: DType, loc: Loc | None) -> Operandish:
    """Require that the exponent of a power of integers is not negative, as NumPy does.

    Returns the exponent; what only the running kernel knows is a fault (PO0232).
    """
    if not output.is_integer or exponent.dtype.kind is not Kind.SIGNED:
        return exponent
    if isinstance(exponent, Tensor):
        exponent = cheap(b, forced(b, exponent))
        loops, index = b.fresh_loops(exponent.shape)
        expr = exponent.at(index)
    else:
        exponent = cheap_number(b, exponent)
        loops, expr = (), exponent.expr
    if isinstance(expr, Const):
        if int(expr.value.real) < 0:
            refuse("PO0147", _NEGATIVE_POWER, loc, _FLOAT_BASE)
        return exponent
    zero = Const(0, expr.dtype)
    if expr.dtype is DType.INT64 and is_affine(expr):
        with b.within(loops):
            b.demand(at_least(expr, zero), "PO0147", _NEGATIVE_POWER, loc, _FLOAT_BASE)
        return exponent
    low = interval_of(expr, {}, b.span_of).low
    if low is None or not is_nonnegative(low):
        number = b.fault("PO0232", _NEGATIVE_POWER, loc, _FLOAT_BASE)
        b.fail_where(Compare(CompareOp.LT, expr, zero), number, loops)
    return exponent


def demand_real(b: Builder, base: Number, exponent: Number, loc: Loc | None) -> None:
    """Require that a power of Python's own numbers is real: a root of a negative one is complex."""
    if b.scout or not may_be_complex(b, base, exponent):
        return
    power = exponent.expr
    is_complex: Expr = Compare(
        CompareOp.LT, cast(base.expr, DType.FLOAT64), Const(0.0, DType.FLOAT64)
    )
    if not isinstance(power, Const):
        below = Compare(CompareOp.LT, Call(MathFunc.FLOOR, (power,), power.dtype), power)
        is_complex = both(is_complex, below)
    number = b.fault("PO0232", f"`{b.words}` of a negative number is complex", loc, _COMPLEX_BASE)
    scope, b.scope = b.scope, before_loops(b, is_complex) or b.scope
    b.fail_where(is_complex, number)
    b.scope = scope


def may_be_complex(b: Builder, base: Number, exponent: Number) -> bool:
    """Whether a power of real numbers of Python may be complex."""
    power = exponent.expr
    whole = (
        isinstance(power, Const) and not isinstance(power.value, complex) and power.value % 1 == 0
    )
    types = base.dtype, exponent.dtype
    if whole or exponent.dtype.is_integer or any(dtype.is_complex for dtype in types):
        return False
    if base.dtype.is_integer and b.nonnegative(base.expr):
        return False
    return not _is_never_negative(cast(base.expr, DType.FLOAT64))


def root(args: tuple[Expr, ...], out: DType) -> Expr:
    """Return the power one half of a number, as `pow` of C99 (F.9.4.4) has it.

    That differs from the square root at -0.0 and minus infinity; NumPy has roots of arrays.
    """
    base = args[0]
    is_whole = isinstance(base, Cast) and base.operand.dtype.is_integer
    is_root = isinstance(base, Call) and base.func is MathFunc.SQRT
    if is_whole or (_is_never_negative(base) and not is_root):
        return call(MathFunc.SQRT, base)
    infinity = Const(math.inf, out)
    positive = Binary(BinaryOp.ADD, base, Const(0.0, out), out)
    is_least = Compare(CompareOp.EQ, base, Const(-math.inf, out))
    return Select(is_least, infinity, call(MathFunc.SQRT, positive), out)


def _is_never_negative(value: Expr) -> bool:
    """Tell whether a float's form says that it is not below zero."""
    match value:
        case Const(value=float() | int() as known):
            return known >= 0
        case Call(func=MathFunc.SQRT | MathFunc.EXP) | Unary(op=UnaryOp.ABS):
            return True
        case Binary(op=BinaryOp.ADD | BinaryOp.MIN | BinaryOp.DIV):
            return _is_never_negative(value.left) and _is_never_negative(value.right)
        case Binary(op=BinaryOp.MUL):
            parts = value.left, value.right
            return value.left == value.right or all(map(_is_never_negative, parts))
        case _:
            return False


_ZEROS = (Const(0, DType.INT64), Const(0.0, DType.FLOAT64))
HINT = "test the divisor first"


def nonzero(b: Builder, divisor: Number, loc: Loc | None) -> Number:
    """Return the divisor, which is not zero where the kernel goes on."""
    if divisor.expr in _ZEROS:
        refuse("PO0147", "division by zero", loc, "divide by a number that is not zero")
    if b.scout or isinstance(divisor.expr, Const):
        return divisor
    if divisor.dtype.is_integer:
        span = range_of(divisor.expr, b.span_of)
        is_zero: Expr = compare(CompareOp.EQ, divisor.expr, integer(0))
        if span.low > 0 or span.high < 0 or b.never(is_zero):
            return divisor
    early = before_loops(b, divisor.expr)
    if early is not None and divisor.expr in b.nonzero:
        return divisor
    if early is None:
        divisor = cheap_number(b, divisor)
    if divisor.dtype.is_integer:
        is_zero = compare(CompareOp.EQ, divisor.expr, integer(0))
    else:
        is_zero = Compare(CompareOp.EQ, divisor.expr, Const(0, divisor.dtype))
    number = b.fault("PO0233", f"`{b.words}` divides by zero", loc, HINT)
    if early is None:
        b.fail_where(is_zero, number)
        return divisor
    b.nonzero.add(divisor.expr)
    scope, b.scope = b.scope, early
    b.fail_where(is_zero, number)
    b.scope = scope
    return divisor


def before_loops(b: Builder, decided: Expr) -> Scope | None:
    """Return where a value that the call decides is tested once: where all loops around run.

    None where that is here, or the iterations have to be asked.
    """
    scope = b.scope
    bounds = tuple(bound for loop in scope.loops for bound in (loop.lower, loop.upper))
    asked = (decided, *bounds, *scope.conditions)
    is_left = any(loop.going is not None for loop in scope.loops)
    if not scope.loops or is_left or scope.guard != TRUE or dynamic_params(*asked):
        return None
    if any(isinstance(part, Iter | Load) for expr in asked for part in walk(expr)):
        return None
    runs = (
        less(loop.lower, loop.upper) if loop.step > 0 else less(loop.upper, loop.lower)
        for loop in scope.loops
    )
    order = (integer(-1), integer(len(b.drafts)))
    return Scope(conditions=(*scope.conditions, *runs), order=order)
