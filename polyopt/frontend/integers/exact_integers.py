"""Python's integers stay exact: what may leave 64 bits is checked, at the call or where it happens.

In: an operation on Python's integers and its 64-bit result.  Out: the result, proven to fit,
limited by a check of the call, or computed beside a fault that says where it does not fit.
"""

from __future__ import annotations

from contextlib import nullcontext

from polyopt import frontend
from polyopt.errors import Loc
from polyopt.frontend.integers.affine_integers import TRUE, both, constant, either, negated
from polyopt.frontend.integers.ranges import (
    CONVERTED,
    LEAST,
    MOST,
    SIZE,
    WORD,
    Span,
    of_binary,
    of_type,
    of_unary,
    range_of,
)
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.drafts import dynamic_params, is_dynamic_name
from polyopt.frontend.program.endpoint_checks import note_definition, note_overflow
from polyopt.frontend.program.memory import stored_number
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.promote import cast
from polyopt.frontend.values.values import Number, Tensor
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Cast,
    Compare,
    CompareOp,
    Const,
    Expr,
    Iter,
    Load,
    Param,
    Symbol,
    Unary,
    UnaryOp,
    children,
    integer,
    walk,
)
from polyopt.ir.types import DType

CODE = "PO0234"
HINT = "keep the numbers smaller, take them modulo something, or compute in floats"
_BINARY = {
    "add": BinaryOp.ADD, "subtract": BinaryOp.SUB, "multiply": BinaryOp.MUL,
    "floor_divide": BinaryOp.FLOORDIV, "left_shift": BinaryOp.SHL,
    "right_shift": BinaryOp.SHR, "power": BinaryOp.POW,
}  # fmt: skip
_PLAIN = {
    "add": BinaryOp.ADD, "subtract": BinaryOp.SUB, "multiply": BinaryOp.MUL,
    "bitwise_and": BinaryOp.AND, "bitwise_or": BinaryOp.OR, "bitwise_xor": BinaryOp.XOR,
}  # fmt: skip
_EVEN = ("add", "subtract", "negative")  # of operands that change evenly, so does the result
_UNARY = {"negative": UnaryOp.NEG, "absolute": UnaryOp.ABS}
_F64 = DType.FLOAT64


def exact(b: Builder, name: str, operands: tuple[Expr, ...], result: Expr, loc: Loc | None) -> Expr:
    """Return the INT64 `result` of operator `name`, checked where it may differ from Python's."""
    if isinstance(result, Const) or (name not in _BINARY and name not in _UNARY):
        return result
    if _is_proven(b, name, operands):
        return result
    if is_known_at_call(result):
        if _is_unconditional(b, result):
            b.limit(result, loc)
            return result
        whole = b.facts.expanded(result)
        if any((old.loops, old.value) == (b.scope.loops, whole) for old in b.limits):
            return result  # computed before, under no condition
    b.unproven = True
    if b.scout:
        return result
    return _found(b, name, tuple(_held(b, operand) for operand in operands), loc)


def in_words(name: str, operands: tuple[Expr, ...], result: Expr, loc: Loc | None) -> Expr:
    """Return `result`, or the operation itself where collected terms have larger constants."""
    wide = (p.value for p in walk(result) if isinstance(p, Const) and isinstance(p.value, int))
    if all(LEAST <= value <= MOST for value in wide):
        return result
    if name in _UNARY or name == "invert":
        return Unary(_UNARY.get(name, UnaryOp.INVERT), operands[0], DType.INT64)
    if name not in _PLAIN:
        refuse("PO0145", "a constant of this expression does not fit 64 bits", loc, HINT)
    return Binary(_PLAIN[name], operands[0], operands[1], DType.INT64)


def limited(b: Builder, value: Expr, loc: Loc | None) -> Expr:
    """Return `value`, arithmetic on sizes and iterators, which a check of the call limits."""
    if not isinstance(value, Const) and not is_known_at_call(value):
        return value
    if range_of(value, b.span_of) == WORD:
        b.limit(value, loc)
    return value


def whole_number(b: Builder, value: Expr, loc: Loc | None) -> Expr:
    """Return a number, floats rounded towards zero, as one of Python's integers.

    A float that is not a number, or lies beyond `CONVERTED`, is a fault.
    """
    if b.scout or not (value.dtype.is_float or value.dtype is DType.UINT64):
        return cast(value, DType.INT64, loc)
    if value.dtype is DType.UINT64:
        whole = _held(b, cast(value, DType.INT64, loc))
        number = b.fault(CODE, f"`{b.words}` does not fit 64 bits with a sign", loc, HINT)
        b.fail_where(_is_negative(whole), number, guarded=True)
        return whole
    wide = value if value.dtype is _F64 else Cast(value, _F64)
    fits = Compare(CompareOp.LT, Unary(UnaryOp.ABS, wide, _F64), Const(float(CONVERTED.high), _F64))
    message = f"`{b.words}` is not a number or does not lie within 2**62"
    number = b.fault(CODE, message, loc, "test the float before it is converted")
    b.fail_where(negated(fits), number, guarded=True)
    whole = Cast(value, DType.INT64)
    b.converted.add(whole)
    return whole


def nonnegative(b: Builder, value: Expr) -> Expr:
    """Return one of Python's integers; a negative one is a fault, the result is then too large."""
    if b.scout or range_of(value, b.span_of).low >= 0:
        return value
    held = _held(b, value)
    number = b.fault(CODE, f"`{b.words}` does not fit 64 bits", b.loc, HINT)
    b.fail_where(_is_negative(held), number, guarded=True)
    return held


def sum_fits(b: Builder, items: Tensor) -> bool:
    """Whether the sum of a vector fits 64 bits, if Python computes it exactly."""
    if items.view is None or not items.view.buffer.weak or not items.dtype.is_integer:
        return True
    span = b.ranges.get(items.view.buffer.name, of_type(items.dtype))
    count = range_of(items.shape[0], b.span_of).clipped(SIZE)
    return Span(min(span.low, 0) * count.high, max(span.high, 0) * count.high).within(WORD)


def exact_sum(b: Builder, items: Tensor, loc: Loc | None) -> Number:
    """Return the sum of a vector of Python's integers, added one after another."""
    total = stored_number(b, Number(integer(0), True), "total").expr
    assert isinstance(total, Load)
    b.forget(total.array)
    loops, index = b.fresh_loops(items.shape)
    with b.loop(loops[0]) if loops else nullcontext():
        element = cast(items.at(index), DType.INT64, loc)
        added = Binary(BinaryOp.ADD, total, element, DType.INT64)
        b.emit((), total, exact(b, "add", (total, element), added, loc))
    return Number(total, True)


def exact_size(b: Builder, value: Expr, loc: Loc | None) -> Expr:
    """Return the absolute value of one of Python's integers."""
    return exact(b, "absolute", (value,), Unary(UnaryOp.ABS, value, DType.INT64), loc)


def _is_proven(b: Builder, name: str, operands: tuple[Expr, ...]) -> bool:
    spans = tuple(range_of(operand, b.span_of) for operand in operands)
    if name in _UNARY:
        return of_unary(_UNARY[name], spans[0]).within(WORD)
    found = of_binary(_BINARY[name], *spans)
    return found is not None and found.within(WORD)


def is_known_at_call(expr: Expr) -> bool:
    """Whether an expression is integer arithmetic that the arguments of a call decide."""
    match expr:
        case Param(name=name):
            return not is_dynamic_name(name)
        case Iter() | Const():
            return True
        case Unary(op=UnaryOp.NEG | UnaryOp.ABS) | Binary() if expr.dtype is DType.INT64:
            if isinstance(expr, Binary) and expr.op not in _AT_CALL:
                return False
            return all(map(is_known_at_call, children(expr)))
        case _:
            return False


_AT_CALL = (
    BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL, BinaryOp.FLOORDIV, BinaryOp.MOD, BinaryOp.MIN,
    BinaryOp.MAX,
)  # fmt: skip


def _is_unconditional(b: Builder, expr: Expr) -> bool:
    """Whether the call decides that the operation happens, and in which iterations.

    A condition on iterators is left out: the check asks for more than Python needs.
    """
    loops = b.scope.loops
    if b.scope.guard != TRUE or any(loop.going is not None for loop in loops):
        return False
    if any(dynamic_params(loop.lower, loop.upper) for loop in loops):
        return False
    return not b.scope.conditions or has_iterator(expr)


def has_iterator(expr: Expr) -> bool:
    """Whether an expression has an iterator in it."""
    return isinstance(expr, Iter) or any(map(has_iterator, children(expr)))


# -- while the kernel runs --------------------------------------------------------------------


def _held(b: Builder, expr: Expr) -> Expr:
    """Return an operand that may be read several times."""
    inner = expr
    while isinstance(inner, Cast):
        inner = inner.operand
    plain = isinstance(inner, Const | Iter | Param | Symbol) or (
        isinstance(inner, Load) and not inner.index
    )
    return expr if plain else _variable(b, expr)


def _found(b: Builder, name: str, operands: tuple[Expr, ...], loc: Loc | None) -> Expr:
    """Return the result in a variable, beside a fault where it does not fit."""
    wrapped, outside = _overflow(b, name, operands)
    number = b.fault(CODE, f"`{b.words}` does not fit 64 bits", loc, HINT)
    if name in _EVEN:
        note_overflow(b, outside, number, operands)
    else:
        b.fail_where(outside, number, guarded=True)
    return _variable(b, wrapped)


def _variable(b: Builder, value: Expr) -> Expr:
    found = stored_number(b, Number(value, True), "value").expr
    note_definition(b, found, value)
    return found


def _overflow(b: Builder, name: str, operands: tuple[Expr, ...]) -> tuple[Expr, Expr]:
    """Return the result modulo 2**64, and where it differs from the exact one.

    The bits are those of Warren, "Hacker's Delight", 2-13; products are compared with those of
    floats, which are off by far less than the 2**64 that a wrapped product is.
    """
    left, right = operands[0], operands[-1]
    match name:
        case "add":
            total = _op(BinaryOp.ADD, left, right)
            return total, _outside_sum(left, right, total)
        case "subtract":
            total = _op(BinaryOp.SUB, left, right)
            less = constant(right)
            if less is not None and less != LEAST:
                return total, _outside_sum(left, integer(-less), total)
            return total, _is_negative(_and(_xor(left, right), _xor(left, total)))
        case "multiply":
            return _product(left, right)
        case "negative":
            turned = Unary(UnaryOp.NEG, left, DType.INT64)
            return turned, _is_negative(_and(left, turned))
        case "absolute":
            size = Unary(UnaryOp.ABS, left, DType.INT64)
            return size, _is_negative(size)
        case "floor_divide":
            return _quotient(left, right)
        case "left_shift":
            count = _clamped(right)
            moved = _op(BinaryOp.SHL, left, count)
            lost = Compare(CompareOp.NE, _op(BinaryOp.SHR, moved, count), left)
            beyond = _outside(right, LEAST, 63)
            far = both(beyond, Compare(CompareOp.NE, left, integer(0)))
            return moved, either(either(lost, far), _is_negative(right))
        case "right_shift":
            return _op(BinaryOp.SHR, left, _clamped(right)), _is_negative(right)
        case _:
            return _power(left, right)


def _op(op: BinaryOp, left: Expr, right: Expr) -> Binary:
    return Binary(op, left, right, DType.INT64)


def _and(left: Expr, right: Expr) -> Expr:
    return _op(BinaryOp.AND, left, right)


def _xor(left: Expr, right: Expr) -> Expr:
    return _op(BinaryOp.XOR, left, right)


def _is_negative(expr: Expr) -> Expr:
    return Compare(CompareOp.LT, expr, integer(0))


def _outside(expr: Expr, low: int, high: int) -> Expr:
    above: Expr = Compare(CompareOp.GT, expr, integer(high))
    return above if low == LEAST else either(Compare(CompareOp.LT, expr, integer(low)), above)


def _outside_sum(left: Expr, right: Expr, total: Expr) -> Expr:
    """Return where a sum leaves 64 bits; with a constant, one comparison tells."""
    for expr, far in ((left, constant(right)), (right, constant(left))):
        if far is not None:
            end, op = (MOST - far, CompareOp.GT) if far > 0 else (LEAST - far, CompareOp.LT)
            return Compare(op, expr, integer(end))
    return _is_negative(_and(_xor(left, total), _xor(right, total)))


def _clamped(count: Expr) -> Expr:
    if constant(count) is not None and 0 <= (constant(count) or 0) <= 63:
        return count
    return _op(BinaryOp.MIN, _op(BinaryOp.MAX, count, integer(0)), integer(63))


def _product(left: Expr, right: Expr) -> tuple[Expr, Expr]:
    product = _op(BinaryOp.MUL, left, right)
    factor, other = constant(right), left
    if factor is None:
        factor, other = constant(left), right
    if factor is not None and factor not in (0, -1):
        ends = sorted((_towards_zero(LEAST, factor), _towards_zero(MOST, factor)))
        return product, _outside(other, *ends)
    nearly = Binary(BinaryOp.MUL, Cast(left, _F64), Cast(right, _F64), _F64)
    difference = Binary(BinaryOp.SUB, nearly, Cast(product, _F64), _F64)
    apart = Unary(UnaryOp.ABS, difference, _F64)
    return product, Compare(CompareOp.GE, apart, Const(2.0**63, _F64))


def _towards_zero(value: int, by: int) -> int:
    quotient = abs(value) // abs(by)
    return quotient if (value < 0) == (by < 0) else -quotient


def _quotient(left: Expr, right: Expr) -> tuple[Expr, Expr]:
    """Only the least number divided by -1 leaves 64 bits; a divisor of zero is asked elsewhere."""
    whole = frontend.numpy.ufuncs.UFUNCS["floor_divide"].rule((left, right), DType.INT64)
    least = Compare(CompareOp.EQ, left, integer(LEAST))
    return whole, both(least, Compare(CompareOp.EQ, right, integer(-1)))


def _power(left: Expr, right: Expr) -> tuple[Expr, Expr]:
    """Powers are compared as floats: no power of an integer lies within their error of 2**63."""
    power = frontend.numpy.ufuncs.UFUNCS["power"].rule((left, right), DType.INT64)
    size = Unary(UnaryOp.ABS, Cast(left, _F64), _F64)
    nearly = Binary(BinaryOp.POW, size, Cast(right, _F64), _F64)
    large = Compare(CompareOp.GE, nearly, Const(2.0**63 * (1 - 2.0**-46), _F64))
    return power, both(large, Compare(CompareOp.GT, right, integer(1)))
