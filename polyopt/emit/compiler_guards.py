"""Find bodies of which compilers make wrong or slow code, unless the text guards against it.

In: a body.  Out: whether it needs a guard.
gcc 12 and later turn `a*b - c` next to `d*e + f` into one fused instruction when both are stored
side by side, although contraction is off; nothing else is fused.
gcc gives registers to constants of loops around, and keeps sums of the innermost loop in memory
where these need almost all registers: a product then takes twice the time.
"""

from __future__ import annotations

from collections.abc import Iterator

from polyopt.ir.expr import Binary, BinaryOp, Expr, walk
from polyopt.ir.loops import Assign, Body, Declare, For, SetLocal

_MANY = 8  # registers: half of those of x86 without AVX-512


def needs_registers(body: Body) -> bool:
    """Tell whether `body` declares many vectors for a loop, such as the sums of a register tile."""
    many = 0
    for node in body:
        many += isinstance(node, Declare) and node.lanes > 1
        if many >= _MANY and isinstance(node, For):
            return True
    return False


def mixes_products(body: Body) -> bool:
    """Tell whether the statements directly in `body` both add and subtract floating products."""
    signs: list[frozenset[BinaryOp]] = []
    for node in body:
        if isinstance(node, Assign | Declare | SetLocal):
            signs.append(frozenset(_product_sums(node.value)))
    some = frozenset[BinaryOp]().union(*signs)
    return len([s for s in signs if s]) > 1 and some >= {BinaryOp.ADD, BinaryOp.SUB}


def _product_sums(value: Expr) -> Iterator[BinaryOp]:
    for part in walk(value):
        match part:
            case Binary(op=BinaryOp.ADD | BinaryOp.SUB) if part.dtype.is_float:
                if _is_product(part.left) or _is_product(part.right):
                    yield part.op
            case _:
                pass


def _is_product(expr: Expr) -> bool:
    return isinstance(expr, Binary) and expr.op is BinaryOp.MUL
