"""Replace comparisons with a quotient by comparisons with its dividend.

In: a condition on sizes and iterators.  Out: the same, without the quotient where it has one.
"""

from __future__ import annotations

from polyopt.dataclass import replace
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Const,
    Expr,
    add,
    integer,
    mul,
    sub,
)
from polyopt.ir.linear import Linear, from_linear, linear, normalize
from polyopt.ir.types import DType


def undivided(test: Expr) -> Expr:
    """Return `a < b // c + d` as `c * (a - d + 1) - 1 < b`, `a <= b // c + d` alike."""
    match test:
        case Compare(op=CompareOp.LT | CompareOp.LE, left=left, right=right) if (
            left.dtype is DType.INT64
        ):
            pass
        case _:
            return test
    gap = linear(sub(right, left))
    for atom, factor in gap.terms:
        match atom:
            case Binary(op=BinaryOp.FLOORDIV, left=over, right=Const(value=int(by))) if (
                factor == 1 and by > 0
            ):
                rest = Linear(gap.constant, tuple(t for t in gap.terms if t[0] != atom))
                least = mul(integer(-by), from_linear(rest))
                if test.op is CompareOp.LT:
                    least = add(integer(by - 1), least)
                found = replace(test, left=normalize(least), right=normalize(over))
                return undivided(found)
            case _:
                pass
    return test
