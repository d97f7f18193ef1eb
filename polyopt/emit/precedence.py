"""C's operators and how tightly they bind."""

from __future__ import annotations

from polyopt.ir.expr import BinaryOp

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
