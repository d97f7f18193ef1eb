"""C's operators: how tightly they bind, which of them assign in place (`x = x + y` as `x += y`)."""

from __future__ import annotations

from polyopt.ir.expr import Binary, BinaryOp, Expr
from polyopt.ir.types import DType

SELECT, OR, AND, BIT_OR, BIT_XOR, BIT_AND, EQUALITY, RELATION, SHIFT, SUM, PRODUCT, UNARY, ATOM = (
    range(13)
)
"""C's precedence levels, loosest first."""

BITWISE = (BIT_OR, BIT_XOR, BIT_AND)

LEVEL = {
    BinaryOp.ADD: SUM,
    BinaryOp.SUB: SUM,
    BinaryOp.MUL: PRODUCT,
    BinaryOp.DIV: PRODUCT,
    BinaryOp.RATIO: PRODUCT,
    BinaryOp.FLOORDIV: PRODUCT,
    BinaryOp.MOD: PRODUCT,
    BinaryOp.SHL: SHIFT,
    BinaryOp.SHR: SHIFT,
    BinaryOp.AND: BIT_AND,
    BinaryOp.OR: BIT_OR,
    BinaryOp.XOR: BIT_XOR,
}

_ASSIGNING = {
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
    operator = _ASSIGNING.get(value.op)
    return None if operator is None else (operator, value)
