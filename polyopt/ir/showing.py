"""Expressions as text for people, with the fewest parentheses."""

from __future__ import annotations

from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Broadcast,
    Call,
    Cast,
    Compare,
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
)
from polyopt.never import assert_never

_PRECEDENCE = {
    BinaryOp.OR: 1,
    BinaryOp.XOR: 2,
    BinaryOp.AND: 3,
    BinaryOp.SHL: 4,
    BinaryOp.SHR: 4,
    BinaryOp.ADD: 5,
    BinaryOp.SUB: 5,
    BinaryOp.MUL: 6,
    BinaryOp.DIV: 6,
    BinaryOp.RATIO: 6,
    BinaryOp.FLOORDIV: 6,
    BinaryOp.MOD: 6,
    BinaryOp.POW: 8,
}


def show(expr: Expr) -> str:
    """Return `expr` in Python's notation, for people."""
    return _show(expr, 0)


def _show(expr: Expr, outer: int) -> str:  # noqa: C901 - one case per kind
    match expr:
        case Const():
            return repr(expr.value)
        case Iter() | Param() | Symbol():
            return expr.name
        case Load() | VectorLoad():
            index = ", ".join(show(i) for i in expr.index)
            return f"{expr.array}[{index}]" if expr.index else expr.array
        case Unary(op=UnaryOp.ABS):
            return f"abs({show(expr.operand)})"
        case Unary():
            return _paren(f"{expr.op.value}{_show(expr.operand, 7)}", outer > 7)
        case Binary(op=BinaryOp.MIN | BinaryOp.MAX):
            return f"{expr.op.value}({show(expr.left)}, {show(expr.right)})"
        case Binary():
            level = _PRECEDENCE[expr.op]
            text = f"{_show(expr.left, level)} {expr.op.value} {_show(expr.right, level + 1)}"
            return _paren(text, outer > level)
        case Compare():
            return _paren(
                f"{_show(expr.left, 1)} {expr.op.value} {_show(expr.right, 1)}", outer > 0
            )
        case Call():
            return f"{expr.func.c_name}({', '.join(show(a) for a in expr.args)})"
        case Select():
            text = f"{_show(expr.then, 1)} if {show(expr.condition)} else {show(expr.otherwise)}"
            return _paren(text, outer > 0)
        case Cast():
            return f"{expr.dtype.value}({show(expr.operand)})"
        case Broadcast():
            return show(expr.operand)
        case _:
            assert_never(expr)


def _paren(text: str, needed: bool) -> str:
    return f"({text})" if needed else text
