"""Print assignments in place: `x = x + y` as `x += y`.

In: a target and its new value.  Out: C's operator and its right side, where it means the same.
"""

from __future__ import annotations

from polyopt.ir.expr import Binary, BinaryOp, Expr
from polyopt.ir.types import DType

_OPERATORS = {
    BinaryOp.ADD: "+=",
    BinaryOp.SUB: "-=",
    BinaryOp.MUL: "*=",
    BinaryOp.DIV: "/=",
}
_EXACT = (
    DType.INT32,
    DType.INT64,
    DType.UINT32,
    DType.UINT64,
    DType.FLOAT32,
    DType.FLOAT64,
)


def in_place(target: Expr, value: Expr) -> tuple[str, Binary] | None:
    """Return the operator for `target = value` and `value`, whose right side it is applied to."""
    if not isinstance(value, Binary) or value.left != target or target.dtype not in _EXACT:
        return None
    operator = _OPERATORS.get(value.op)
    return None if operator is None else (operator, value)
