"""Check that index arithmetic fits 64 bits in every bound, condition and subscript.

In: the loops as they are printed.  Out: one claim.  Intervals (Moore, "Interval Analysis", 1966),
with sizes within `LARGEST_SIZE`, which every call checks; arithmetic on data is the source's own.
"""

from __future__ import annotations

from collections.abc import Mapping

from polyopt.dataclass import dataclass
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Const,
    Expr,
    Iter,
    Load,
    Param,
    Select,
    Symbol,
    Unary,
    UnaryOp,
    VectorLoad,
    children,
    walk,
)
from polyopt.ir.loops import Assign, Body, Declare, For, If, LoopFunction, SetLocal
from polyopt.ir.nodes import bodies, own_expressions
from polyopt.ir.showing import show
from polyopt.ir.source import LARGEST_SIZE, SizeOf
from polyopt.ir.types import DType
from polyopt.proof.certificate import Claim, ClaimKind, Verdict
from polyopt.proof.nodes import set_locals
from polyopt.proof.paths import conjuncts

LEAST, MOST = -(2**63), 2**63 - 1


class _TooWide(Exception):
    """A step may leave 64 bits."""

    def __init__(self, expr: Expr) -> None:
        super().__init__(show(expr))


@dataclass(frozen=True, slots=True)
class _Interval:
    low: int
    high: int


ANY_SIZE = _Interval(-LARGEST_SIZE, LARGEST_SIZE)


def check_widths(function: LoopFunction, bound: tuple[str, ...]) -> Claim:
    """Return whether no index arithmetic overflows; `bound` are sizes computed at run time."""
    sizes = {s.param for s in function.signature.sizes if isinstance(s, SizeOf)}
    known = dict.fromkeys((*function.params, *bound), ANY_SIZE)
    known |= dict.fromkeys(sizes & set(known), _Interval(0, LARGEST_SIZE))
    formula = f"sizes of -{LARGEST_SIZE} to {LARGEST_SIZE}"
    try:
        _body(function.body, known, set_locals(function.body))
    except _TooWide as error:
        return Claim(
            ClaimKind.WIDTH, "index arithmetic", Verdict.OPEN, formula, f"{error} may overflow"
        )
    return Claim(ClaimKind.WIDTH, "index arithmetic", Verdict.PROVEN, formula)


def fits(expr: Expr, loops: tuple[For, ...], params: tuple[str, ...]) -> bool:
    """Tell whether no arithmetic on indices or in conditions overflows in `loops`."""
    known: Mapping[str, _Interval] = dict.fromkeys(params, ANY_SIZE)
    try:
        for loop in loops:
            known = _inside(loop, known)
        _condition(expr, known)
    except _TooWide:
        return False
    return True


def _body(body: Body, known: Mapping[str, _Interval], sets: frozenset[str]) -> None:
    for node in body:
        for expr in own_expressions(node):
            if isinstance(node, For):
                _interval(expr, known)
            elif isinstance(node, If):
                _conditions(expr, known)
            else:
                _visit(expr, known)
        if isinstance(node, Assign):
            for subscript in node.target.index:
                _interval(subscript, known)
        if isinstance(node, Declare | SetLocal) and not node.statement:
            known = _after(node, known, sets)
        inner = _inside(node, known) if isinstance(node, For) else known
        for part in bodies(node):
            _body(part, inner, sets)


def _after(
    node: Declare | SetLocal, known: Mapping[str, _Interval], sets: frozenset[str]
) -> Mapping[str, _Interval]:
    """Return the intervals after a local of the loops' own was set."""
    if node.dtype is not DType.INT64 or node.lanes != 1:
        return known
    value = _interval(node.value, known)
    if value is None or node.name in sets:
        return known
    return {**known, node.name: value}


def _inside(loop: For, known: Mapping[str, _Interval]) -> Mapping[str, _Interval]:
    """Return the intervals in the loop, with that of its iterator."""
    inner = {name: value for name, value in known.items() if name != loop.iter}
    lower, upper = _interval(loop.lower, known), _interval(loop.upper, known)
    if lower is not None and upper is not None:
        highest = max(lower.low, upper.high - 1)
        if highest + loop.step > MOST:
            raise _TooWide(loop.upper)
        inner[loop.iter] = _Interval(lower.low, highest)
    return inner


def _conditions(expr: Expr, known: Mapping[str, _Interval]) -> None:
    """Check the parts of a condition that are on indices alone, and subscripts elsewhere."""
    for part in conjuncts(expr):
        if any(isinstance(p, Load | VectorLoad) for p in walk(part)):
            _visit(part, known)
        else:
            _condition(part, known)


def _condition(expr: Expr, known: Mapping[str, _Interval]) -> None:
    """Check the sides of the comparisons in a condition on sizes and iterators."""
    if expr.dtype is DType.INT64:
        _interval(expr, known)
        return
    for part in children(expr):
        _condition(part, known)


def _visit(expr: Expr, known: Mapping[str, _Interval]) -> None:
    """Check the subscripts in a value; its other arithmetic is the source's."""
    if isinstance(expr, Load | VectorLoad):
        for part in expr.index:
            _interval(part, known)
        return
    for part in children(expr):
        _visit(part, known)


def _interval(expr: Expr, known: Mapping[str, _Interval]) -> _Interval | None:
    """Return the interval of `expr`, None for data; raises `_TooWide`."""
    match expr:
        case Const(value=bool() | int() as value):
            return _fits(expr, int(value), int(value))
        case Iter(name=name) | Param(name=name) | Symbol(name=name):
            return known.get(name)
        case Load() | VectorLoad():
            for part in expr.index:
                _interval(part, known)
            return None
        case Unary(op=UnaryOp.NEG | UnaryOp.ABS):
            return _unary(expr, known)
        case Binary() if expr.dtype is DType.INT64:
            return _binary(expr, known)
        case Select():
            _conditions(expr.condition, known)
            return _either(_interval(expr.then, known), _interval(expr.otherwise, known))
        case _:
            for part in children(expr):
                _visit(part, known)
            return None


def _either(one: _Interval | None, two: _Interval | None) -> _Interval | None:
    if one is None or two is None:
        return None
    return _Interval(min(one.low, two.low), max(one.high, two.high))


def _unary(expr: Unary, known: Mapping[str, _Interval]) -> _Interval | None:
    inner = _interval(expr.operand, known)
    if inner is None:
        return None
    negated = _fits(expr, -inner.high, -inner.low)
    if expr.op is UnaryOp.NEG:
        return negated
    least = max(0, inner.low, negated.low)
    return _Interval(least, max(inner.high, negated.high))


def _binary(expr: Binary, known: Mapping[str, _Interval]) -> _Interval | None:
    left, right = _interval(expr.left, known), _interval(expr.right, known)
    if left is None or right is None:
        return None
    match expr.op:
        case BinaryOp.ADD:
            return _fits(expr, left.low + right.low, left.high + right.high)
        case BinaryOp.SUB:
            return _fits(expr, left.low - right.high, left.high - right.low)
        case BinaryOp.MUL:
            if left.low != left.high and right.low != right.high:
                return None  # a product of sizes is the source's own
            ends = [a * b for a in (left.low, left.high) for b in (right.low, right.high)]
            return _fits(expr, min(ends), max(ends))
        case BinaryOp.MIN:
            return _Interval(min(left.low, right.low), min(left.high, right.high))
        case BinaryOp.MAX:
            return _Interval(max(left.low, right.low), max(left.high, right.high))
        case BinaryOp.FLOORDIV:
            return _quotient(left, right)
        case BinaryOp.MOD:
            return _remainder(right)
        case _:
            return None


def _quotient(left: _Interval, right: _Interval) -> _Interval | None:
    if right.low <= 0 <= right.high:
        return None
    ends = [a // b for a in (left.low, left.high) for b in (right.low, right.high)]
    return _Interval(min(ends), max(ends))


def _remainder(by: _Interval) -> _Interval | None:
    if by.low <= 0 <= by.high:
        return None
    return _Interval(0, by.high - 1) if by.low > 0 else _Interval(by.low + 1, 0)


def _fits(expr: Expr, low: int, high: int) -> _Interval:
    if low < LEAST or high > MOST:
        raise _TooWide(expr)
    return _Interval(low, high)
