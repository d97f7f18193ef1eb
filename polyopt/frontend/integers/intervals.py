"""What is known of an integer's value before it is computed.

In: INT64 expressions, some of them found while the kernel runs.  Out: affine bounds, or None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from polyopt.dataclass import dataclass
from polyopt.frontend.integers.affine_integers import (
    ZERO,
    constant,
    floordiv,
    is_affine,
    maximum,
    minimum,
    negated,
    plus,
    times,
)
from polyopt.frontend.integers.ranges import Known, may_wrap
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Cast,
    Compare,
    CompareOp,
    Const,
    Expr,
    Load,
    Select,
    Symbol,
    Unary,
    UnaryOp,
    integer,
)
from polyopt.ir.types import DType, Kind


@dataclass(frozen=True, slots=True)
class Interval:
    """`low <= value <= high`; None: not known."""

    low: Expr | None
    high: Expr | None


ANY = Interval(None, None)


def interval_of(  # noqa: C901  one case each
    expr: Expr, known: Mapping[str, Interval], spans: Known
) -> Interval:
    """Return bounds of an integer expression; `known` are those of arrays' elements.

    `spans` are ranges of names: an operation of 64 bits that may wrap has no bounds.
    """
    if expr.dtype is DType.INT64 and is_affine(expr):
        return Interval(expr, expr)
    if expr.dtype is DType.INT64 and may_wrap(expr, spans):
        return ANY
    match expr:
        case Load(array=array) if array in known:
            return known[array]
        case Cast(operand=operand) if _keeps_value(operand.dtype, expr.dtype):
            return interval_of(operand, known, spans)
        case Binary(op=BinaryOp.MIN | BinaryOp.MAX):
            return _extreme(expr, known, spans)
        case Binary(op=BinaryOp.MOD):
            return _remainder(expr.right)
        case Select():
            then, other = (
                interval_of(expr.then, known, spans),
                interval_of(expr.otherwise, known, spans),
            )
            return Interval(_both(then.low, other.low, True), _both(then.high, other.high, False))
        case Binary(op=BinaryOp.ADD | BinaryOp.SUB) if expr.dtype is DType.INT64:
            return _sum(expr, known, spans)
        case Unary(op=UnaryOp.NEG) if expr.dtype is DType.INT64:
            return _negative(interval_of(expr.operand, known, spans))
        case Binary(op=BinaryOp.MUL) if expr.dtype is DType.INT64:
            return _product(expr, known, spans)
        case Binary(op=BinaryOp.FLOORDIV, right=Const(value=int(divisor))) if divisor > 0:
            part = interval_of(expr.left, known, spans)
            by = integer(divisor)
            low = None if part.low is None else floordiv(part.low, by)
            return Interval(low, None if part.high is None else floordiv(part.high, by))
        case Binary(op=BinaryOp.AND, right=Const(value=int(mask))) if mask >= 0:
            return Interval(ZERO, integer(int(mask)))
        case Load() | Symbol() | Cast():
            return of_type(expr.dtype)
        case _:
            return of_type(expr.dtype)


def interval_where(condition: Expr, expr: Expr) -> Interval:
    """Return the bounds of an integer expression that a condition states where it holds.

    Those of `i` tell of `i + 1`, too, where `i` cannot be so large that the sum wraps around.
    """
    match expr:
        case Binary(op=BinaryOp.ADD, left=base, right=Const(value=int(far))):
            found = interval_where(condition, base)
            near = found.high if far > 0 else found.low
            if near is not None:
                return _shifted(found, far)
        case Binary(op=BinaryOp.SUB, left=base, right=Const(value=int(far))):
            return interval_where(condition, Binary(BinaryOp.ADD, base, integer(-far), expr.dtype))
        case _:
            pass
    found = ANY
    for part in _conjuncts(condition):
        stated = _stated(part, expr)
        found = Interval(
            _joined(found.low, stated.low, maximum), _joined(found.high, stated.high, minimum)
        )
    return found


def _shifted(bounds: Interval, far: int) -> Interval:
    low, high = (None if end is None else plus(end, far) for end in (bounds.low, bounds.high))
    return Interval(low, high)


def _conjuncts(condition: Expr) -> Iterator[Expr]:
    match condition:
        case Binary(op=BinaryOp.AND, left=left, right=right):
            yield from _conjuncts(left)
            yield from _conjuncts(right)
        case Unary(op=UnaryOp.INVERT, operand=Binary(op=BinaryOp.OR, left=left, right=right)):
            yield from _conjuncts(negated(left))
            yield from _conjuncts(negated(right))
        case _:
            yield condition


def _stated(condition: Expr, expr: Expr) -> Interval:
    """Return what one comparison with an affine expression says."""
    if not isinstance(condition, Compare) or expr not in (condition.left, condition.right):
        return ANY
    is_left = condition.left == expr
    other = condition.right if is_left else condition.left
    if condition.op is CompareOp.NE or not is_affine(other):
        return ANY
    if condition.op is CompareOp.EQ:
        return Interval(other, other)
    gap = 1 if condition.op in (CompareOp.LT, CompareOp.GT) else 0
    if (condition.op in (CompareOp.GT, CompareOp.GE)) == is_left:
        return Interval(plus(other, gap), None)
    return Interval(None, plus(other, -gap))


def _joined(
    left: Expr | None, right: Expr | None, join: Callable[[Expr, Expr], Expr]
) -> Expr | None:
    return right if left is None else left if right is None else join(left, right)


def of_type(dtype: DType) -> Interval:
    """Return the bounds of an element type; wide types have none worth knowing."""
    if dtype is DType.BOOL:
        return Interval(ZERO, integer(1))
    if not dtype.is_integer or dtype.size > 4:
        return Interval(ZERO, None) if dtype is DType.UINT64 else ANY
    values = 1 << 8 * dtype.size
    if dtype.kind is Kind.UNSIGNED:
        return Interval(ZERO, integer(values - 1))
    return Interval(integer(-values // 2), integer(values // 2 - 1))


def _keeps_value(source: DType, target: DType) -> bool:
    if source is target:
        return True
    if not target.is_integer or not (source.is_integer or source is DType.BOOL):
        return False
    if source is DType.BOOL:
        return True
    if source.kind is target.kind:
        return source.size <= target.size
    return source.kind is Kind.UNSIGNED and source.size < target.size


def _extreme(expr: Binary, known: Mapping[str, Interval], spans: Known) -> Interval:
    """A minimum is below each operand; above all of them where all are bounded."""
    left, right = interval_of(expr.left, known, spans), interval_of(expr.right, known, spans)
    if expr.op is BinaryOp.MIN:
        return Interval(_both(left.low, right.low, True), _one(left.high, right.high, True))
    return Interval(_one(left.low, right.low, False), _both(left.high, right.high, False))


def _both(left: Expr | None, right: Expr | None, least: bool) -> Expr | None:
    if left is None or right is None:
        return None
    return minimum(left, right) if least else maximum(left, right)


def _one(left: Expr | None, right: Expr | None, least: bool) -> Expr | None:
    if left is None or right is None:
        return right if left is None else left
    return minimum(left, right) if least else maximum(left, right)


def _remainder(divisor: Expr) -> Interval:
    """`x % d` lies between 0 and d - 1, or between d + 1 and 0."""
    match divisor:
        case Select(then=Const(value=1), otherwise=whole):  # guarded against zero
            divisor = whole
        case _:
            pass
    divisor = divisor.operand if isinstance(divisor, Cast) else divisor
    if divisor.dtype is not DType.INT64 or not is_affine(divisor):
        return ANY
    value = constant(divisor)
    if value is not None and value > 0:
        return Interval(ZERO, integer(value - 1))
    return Interval(minimum(plus(divisor, 1), ZERO), maximum(plus(divisor, -1), ZERO))


def _sum(expr: Binary, known: Mapping[str, Interval], spans: Known) -> Interval:
    left, right = interval_of(expr.left, known, spans), interval_of(expr.right, known, spans)
    if expr.op is BinaryOp.SUB:
        right = _negative(right)
    low = None if left.low is None or right.low is None else plus(left.low, right.low)
    high = None if left.high is None or right.high is None else plus(left.high, right.high)
    return Interval(low, high)


def _negative(part: Interval) -> Interval:
    low = None if part.high is None else times(part.high, -1)
    return Interval(low, None if part.low is None else times(part.low, -1))


def _product(expr: Binary, known: Mapping[str, Interval], spans: Known) -> Interval:
    factor = constant(expr.right)
    part = interval_of(expr.left, known, spans)
    if factor is None:
        factor, part = constant(expr.left), interval_of(expr.right, known, spans)
    if factor is None:
        return ANY
    scaled = Interval(
        None if part.low is None else times(part.low, factor),
        None if part.high is None else times(part.high, factor),
    )
    return scaled if factor >= 0 else Interval(scaled.high, scaled.low)
