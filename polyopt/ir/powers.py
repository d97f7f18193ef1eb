"""Powers to small constants that products make, exactly or within four units in the last place.

In: an expression.  Out: the same with such powers as calls of `MathFunc.POWER`.
NumPy's powers may lie as far from the exact ones, `BinaryOp.POW` stands for one unit.
"""

from __future__ import annotations

from polyopt.ir.expr import Binary, BinaryOp, Call, Cast, Const, Expr, MathFunc, rewrite
from polyopt.ir.types import DType

_TYPES = (DType.FLOAT32, DType.FLOAT64)
EXPONENTS = (-3.0, -2.0, -1.5, -0.5, 1.5, 2.5, 3.0, 4.0, 5.0, 6.0)
"""Of others the roundings add up to more, or the front end has other operations."""
PRECISE = (-3.0, -2.0, 4.0, 5.0, 6.0)
"""Those that `BinaryOp.POW` needs no logarithm for, besides three."""


def by_products(expr: Expr) -> Expr:
    """Return `expr` with powers to `EXPONENTS` as a few products, a quotient, a root."""
    return rewrite(expr, _as_products)


def _as_products(expr: Expr) -> Expr | None:
    match expr:
        case Binary(op=BinaryOp.POW, dtype=dtype) if dtype in _TYPES:
            exponent = constant_of(expr.right)
            if exponent in EXPONENTS:
                base = by_products(expr.left)
                return Call(MathFunc.POWER, (base, Const(exponent, dtype)), dtype)
    return None


def constant_of(expr: Expr) -> float | None:
    """Return the number that an exponent is, None where it is none."""
    while isinstance(expr, Cast):
        expr = expr.operand
    return float(expr.value.real) if isinstance(expr, Const) else None
