"""Choose the helper that computes an operation where C's operator has another meaning.

In: a binary operation, the dialect.  Out: the kind of its helper.
"""

from __future__ import annotations

from polyopt.emit.dialect import C11, Dialect
from polyopt.emit.helpers import HelperKind
from polyopt.ir.expr import Binary, BinaryOp, Const
from polyopt.ir.types import DType

HELPER_OF = {
    BinaryOp.MIN: HelperKind.MIN,
    BinaryOp.MAX: HelperKind.MAX,
    BinaryOp.FLOORDIV: HelperKind.FLOORDIV,
    BinaryOp.MOD: HelperKind.MOD,
    BinaryOp.POW: HelperKind.POW,
    BinaryOp.SHL: HelperKind.SHL,
    BinaryOp.SHR: HelperKind.SHR,
    BinaryOp.MUL: HelperKind.MUL,
    BinaryOp.DIV: HelperKind.DIV,
}


def helper_kind(expr: Binary, dialect: Dialect) -> HelperKind:
    """Return what computes an operation; sizes are divided by a positive number, as a rule."""
    by = expr.right.value if isinstance(expr.right, Const) else 0
    is_size = expr.op is BinaryOp.FLOORDIV and expr.dtype is DType.INT64
    if is_size and dialect is C11 and isinstance(by, int) and by > 0:
        return HelperKind.FLOOR
    return HELPER_OF[expr.op]
