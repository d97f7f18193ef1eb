"""Extrema: loops that make one chain of choices, `m = x if x > m else m`, which lanes can share.

In: a loop.  Out: the accumulator, what is chosen, what comes before it; None for other loops.
Emitters and the proof read the same form.  Lanes choose among the `x` in any order, the result of
that being the one in order but for its sign where it is a zero, and where `m` began as NaN: equal
numbers have equal bits, zeros aside, and a NaN among the `x` is never chosen.
`m = x if x > m else m` is an extremum written as a choice.
"""

from __future__ import annotations

from polyopt.dataclass import dataclass
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Expr,
    Load,
    Select,
    Symbol,
    walk,
)
from polyopt.ir.loops import Declare, For, SetLocal
from polyopt.ir.names import symbols
from polyopt.ir.types import DType

DTYPES = (DType.FLOAT32, DType.FLOAT64)


@dataclass(frozen=True, slots=True)
class Extremum:
    """`symbol` becomes `value` where that is beyond it by `op`, after the locals in `before`."""

    symbol: Symbol
    op: BinaryOp
    value: Expr
    before: tuple[Declare, ...]


def extremum_of(loop: For) -> Extremum | None:
    """Return the extremum that a loop makes, and nothing else; None for other loops."""
    if loop.step != 1 or loop.reductions or not loop.body:
        return None
    *others, last = loop.body
    before = tuple(node for node in others if isinstance(node, Declare) and node.lanes == 1)
    if len(before) < len(others) or not isinstance(last, SetLocal):
        return None
    if last.lanes > 1 or last.dtype not in DTYPES or last.name in {n.name for n in before}:
        return None
    symbol = Symbol(last.name, last.dtype)
    op = chosen(last.value, symbol)
    if op is None or symbol.name in symbols(*(node.value for node in before)):
        return None
    assert isinstance(last.value, Select)
    return Extremum(symbol, op, last.value.then, before)


@dataclass(frozen=True, slots=True)
class Update:
    """`target = target op fresh`, or where `is_choice` the extremum of both as a choice."""

    op: BinaryOp
    fresh: Expr
    is_choice: bool

    def of(self, target: Expr, fresh: Expr) -> Expr:
        """Return the same update of `target` by `fresh`."""
        if not self.is_choice:
            return Binary(self.op, target, fresh, target.dtype)
        beyond = CompareOp.GT if self.op is BinaryOp.MAX else CompareOp.LT
        return Select(Compare(beyond, fresh, target), fresh, target, target.dtype)


def update_by(value: Expr, target: Load | Symbol) -> Update | None:
    """Return how `value` goes on from `target`, which its new part does not read; or None."""
    match value:
        case Binary(op=op, left=left, right=fresh) if left == target:
            found = Update(op, fresh, False)
        case Select(then=fresh) if (which := chosen(value, target)) is not None:
            found = Update(which, fresh, True)
        case _:
            return None
    return None if any(part == target for part in walk(found.fresh)) else found


def chosen(value: Expr, target: Load | Symbol) -> BinaryOp | None:
    """Return the operator of an update of `target` by `value`."""
    match value:
        case Select(condition=Compare(op=op, left=left, right=right), then=fresh, otherwise=other):
            pass
        case _:
            return None
    if other != target or not target.dtype.is_float or target.dtype.is_half:
        return None
    if any(part == target for part in walk(fresh)):
        return None
    greater, smaller = (right, left) if op in (CompareOp.LT, CompareOp.LE) else (left, right)
    if op in (CompareOp.EQ, CompareOp.NE):
        return None
    if (greater, smaller) == (fresh, target):
        return BinaryOp.MAX
    return BinaryOp.MIN if (greater, smaller) == (target, fresh) else None
