"""Integer expressions of subscripts, bounds and sizes: folding, bounds, what is affine.

In: INT64 `Expr`.  Out: simpler ones, or facts about them; nothing here asks isl.
"""

from __future__ import annotations

from collections.abc import Mapping

from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Cast,
    Compare,
    CompareOp,
    Const,
    Expr,
    Iter,
    Param,
    Select,
    Unary,
    UnaryOp,
    children,
    integer,
)
from polyopt.ir.integers import COMPARISONS, opposite
from polyopt.ir.linear import Linear, from_linear, linear, normalize
from polyopt.ir.showing import show
from polyopt.ir.types import DType

ZERO = integer(0)
ONE = integer(1)
TRUE = Const(True, DType.BOOL)
FALSE = Const(False, DType.BOOL)


def plus(left: Expr, right: Expr | int) -> Expr:
    """Return the sum, terms collected."""
    other = integer(right) if isinstance(right, int) else right
    return normalize(Binary(BinaryOp.ADD, left, other, DType.INT64))


def minus(left: Expr, right: Expr | int) -> Expr:
    """Return the difference, terms collected."""
    other = integer(right) if isinstance(right, int) else right
    return normalize(Binary(BinaryOp.SUB, left, other, DType.INT64))


def times(left: Expr, right: Expr | int) -> Expr:
    """Return the product, constants multiplied into sums."""
    other = integer(right) if isinstance(right, int) else right
    a, b = constant(left), constant(other)
    if a is not None and b is not None:
        return integer(a * b)
    if a is not None:
        return _scaled(other, a)
    if b is not None:
        return _scaled(left, b)
    return normalize(Binary(BinaryOp.MUL, left, other, DType.INT64))


def _scaled(expr: Expr, factor: int) -> Expr:
    value = linear(expr)
    terms = tuple((atom, c * factor) for atom, c in value.terms if factor)
    return from_linear(Linear(value.constant * factor, terms))


def floordiv(left: Expr, right: Expr) -> Expr:
    """Return Python's `left // right`, folded when both are constants."""
    a, b = constant(left), constant(right)
    if b == 1:
        return left
    if a is not None and b:
        return integer(a // b)
    return Binary(BinaryOp.FLOORDIV, left, right, DType.INT64)


def modulo(left: Expr, right: Expr) -> Expr:
    """Return Python's `left % right`, folded when both are constants."""
    a, b = constant(left), constant(right)
    if b == 1:
        return ZERO
    if a is not None and b:
        return integer(a % b)
    return Binary(BinaryOp.MOD, left, right, DType.INT64)


def minimum(left: Expr, right: Expr) -> Expr:
    """Return the smaller one; folded when their difference is a constant."""
    gap = constant(minus(left, right))
    if gap is not None:
        return left if gap <= 0 else right
    return Binary(BinaryOp.MIN, left, right, DType.INT64)


def maximum(left: Expr, right: Expr) -> Expr:
    """Return the larger one; folded when their difference is a constant."""
    gap = constant(minus(left, right))
    if gap is not None:
        return left if gap >= 0 else right
    return Binary(BinaryOp.MAX, left, right, DType.INT64)


def constant(expr: Expr) -> int | None:
    """Return the value of an integer constant, or None."""
    match expr:
        case Const(value=bool()):
            return None
        case Const(value=int(value)):
            return value
        case _:
            return None


def compare(op: CompareOp, left: Expr, right: Expr) -> Expr:
    """Return the comparison of two INT64 values, folded when their difference is a constant."""
    gap = constant(minus(left, right))
    if gap is None:
        return Compare(op, left, right)
    return Const(COMPARISONS[op](gap, 0), DType.BOOL)


def less(left: Expr, right: Expr) -> Expr:
    """Return `left < right`."""
    return compare(CompareOp.LT, left, right)


def at_least(left: Expr, right: Expr) -> Expr:
    """Return `left >= right`."""
    return compare(CompareOp.GE, left, right)


def both(left: Expr, right: Expr) -> Expr:
    """Return `left & right`, constants folded."""
    if left == TRUE or right == FALSE:
        return right
    if right == TRUE or left == FALSE:
        return left
    return Binary(BinaryOp.AND, left, right, DType.BOOL)


def either(left: Expr, right: Expr) -> Expr:
    """Return `left | right`, constants folded."""
    if left == FALSE or right == TRUE:
        return right
    if right == FALSE or left == TRUE:
        return left
    return Binary(BinaryOp.OR, left, right, DType.BOOL)


def negated(condition: Expr) -> Expr:
    """Return the opposite of a BOOL expression; integer comparisons are turned around."""
    match condition:
        case Const(value=value):
            return Const(not value, DType.BOOL)
        case Compare(left=left) if not left.dtype.is_float and not left.dtype.is_complex:
            return opposite(condition)
        case Unary(op=UnaryOp.INVERT, operand=operand):
            return operand
        case _:
            return Unary(UnaryOp.INVERT, condition, DType.BOOL)


def select(condition: Expr, then: Expr, otherwise: Expr) -> Expr:
    """Return `then if condition else otherwise`, folded where one of them is known."""
    if isinstance(condition, Const):
        return then if condition.value else otherwise
    if then == otherwise:
        return then
    if then.dtype is DType.BOOL and all(is_affine(e) for e in (condition, then, otherwise)):
        return either(both(condition, then), both(negated(condition), otherwise))
    return Select(condition, then, otherwise, then.dtype)


def clipped(extent: Expr) -> Expr:
    """Return the extent as a size: no less than zero."""
    if is_nonnegative(extent):
        return extent
    return maximum(extent, ZERO)


def unclipped(extent: Expr) -> Expr:
    """Return the extent without a `max(…, 0)` around it: loops over both are the same."""
    match extent:
        case Binary(op=BinaryOp.MAX, right=Const(value=0)):
            return extent.left
        case _:
            return extent


def is_size(param: str) -> bool:
    """Whether a parameter is a dimension of an array (`A.shape[0]`), never negative."""
    return param.endswith("]")


def is_nonnegative(expr: Expr) -> bool:
    """Whether `expr` is seen to be at least zero without asking isl."""
    low = lower_bound(expr, {})
    return low is not None and low >= 0


def lower_bound(expr: Expr, loops: Mapping[str, Expr]) -> int | None:
    """Return a number that `expr` never goes below; `loops` gives iterators' first values."""
    match expr:
        case Binary(op=BinaryOp.MAX):
            lows = [lower_bound(expr.left, loops), lower_bound(expr.right, loops)]
            known = [low for low in lows if low is not None]
            return max(known, default=None)
        case Binary(op=BinaryOp.MIN):
            left, right = lower_bound(expr.left, loops), lower_bound(expr.right, loops)
            return None if left is None or right is None else min(left, right)
        case _:
            return _linear_bound(expr, loops)


def _linear_bound(expr: Expr, loops: Mapping[str, Expr]) -> int | None:
    value = linear(expr)
    total = value.constant
    for atom, factor in value.terms:
        low = _atom_bound(atom, loops)
        if factor < 0 or low is None:
            return None
        total += factor * low
    return total


def _atom_bound(atom: Expr, loops: Mapping[str, Expr]) -> int | None:
    match atom:
        case Param(name=name):
            return 0 if is_size(name) else None
        case Iter(name=name):
            start = loops.get(name)
            rest = {key: value for key, value in loops.items() if key != name}
            return None if start is None else lower_bound(start, rest)
        case Binary(op=BinaryOp.FLOORDIV, right=Const(value=int(divisor))) if divisor > 0:
            low = lower_bound(atom.left, loops)
            return None if low is None else low // divisor
        case Binary(op=BinaryOp.MOD, right=Const(value=int(divisor))) if divisor > 0:
            return 0
        case Binary(op=BinaryOp.MIN | BinaryOp.MAX):
            return lower_bound(atom, loops)
        case _:
            return None


def strip_casts(expr: Expr) -> Expr:
    """Return an integer expression without casts that keep its value (of sizes and iterators)."""
    match expr:
        case Cast(operand=operand, dtype=DType.INT64) if operand.dtype.is_integer:
            return strip_casts(operand)
        case Cast(operand=Param() | Iter() as operand) if expr.dtype.is_integer:
            return operand
        case _:
            return expr


def why_not_affine(expr: Expr) -> str | None:
    """Return the reason why an integer or BOOL expression is not affine, or None when it is."""
    reason = _fault(expr)
    if reason is not None:
        return f"`{show(expr)}` {reason}"
    return next((reason for c in children(expr) if (reason := why_not_affine(c))), None)


def _fault(expr: Expr) -> str | None:
    """Return what is wrong with the outermost operation."""
    match expr:
        case Iter() | Param() | Unary(op=UnaryOp.NEG | UnaryOp.ABS):
            return None
        case Unary(op=UnaryOp.INVERT):
            return None if expr.dtype is DType.BOOL else "uses `~` on integers"
        case Const():
            return None if isinstance(expr.value, int) else "is no integer"
        case Compare():
            whole = expr.left.dtype is DType.INT64
            return None if whole else "compares values that are no sizes or iterators"
        case Binary():
            return _binary_fault(expr)
        case Select():
            return None if expr.dtype is DType.INT64 else "chooses between truth values"
        case _:
            return "is read or computed while the kernel runs"


def _binary_fault(expr: Binary) -> str | None:
    match expr.op:
        case BinaryOp.ADD | BinaryOp.SUB | BinaryOp.MIN | BinaryOp.MAX:
            return None
        case BinaryOp.MUL:
            varying = constant(expr.left) is None and constant(expr.right) is None
            return "multiplies two values that both vary" if varying else None
        case BinaryOp.FLOORDIV | BinaryOp.MOD:
            divisor = constant(expr.right)
            fits = divisor is not None and divisor > 0
            return None if fits else "divides by something other than a positive constant"
        case BinaryOp.AND | BinaryOp.OR | BinaryOp.XOR:
            return None if expr.dtype is DType.BOOL else f"uses `{expr.op.value}` on integers"
        case _:
            return f"uses `{expr.op.value}`"


def is_affine(expr: Expr) -> bool:
    """Whether an integer or BOOL expression is quasi-affine in iterators and parameters."""
    return why_not_affine(expr) is None
