"""Extrema written as choices: `m = x if x > m else m`.

In: an expression, its target.  Out: MAX or MIN where the order of such updates is free, or None.
Refuses choices that take the target on true: `m if m > x else x` ends with what follows a NaN.
A NaN among the `x` is left out, a NaN in the target at the start stays: whatever the order.
"""

from __future__ import annotations

from polyopt.ir.expr import BinaryOp, Compare, CompareOp, Expr, Load, Select, Symbol, walk


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
