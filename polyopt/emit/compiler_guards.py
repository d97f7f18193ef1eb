"""Find bodies of which compilers make wrong or slow code, unless the text guards against it.

In: a body.  Out: whether it needs a guard, and which.
gcc 12 and later turn `a*b - c` next to `d*e + f` into one fused instruction when both are stored
side by side, although contraction is off; nothing else is fused.
gcc gives registers to constants of loops around, and keeps sums of the innermost loop in memory
where these need almost all registers: a product then takes twice the time.
"""

from __future__ import annotations

from collections.abc import Iterator

from polyopt.emit.helpers import Helper, HelperKind
from polyopt.ir.expr import Binary, BinaryOp, Expr, walk
from polyopt.ir.loops import Assign, Body, Declare, For, SetLocal

_MANY = 8  # registers: half of those of x86 without AVX-512


def needed_registers(body: Body) -> tuple[Helper, ...]:
    """Return what frees registers where `body` declares many vectors for a loop.

    Such are the sums of a register tile.
    """
    last = max((n for n, node in enumerate(body) if isinstance(node, For)), default=0)
    many = [node for node in body[:last] if isinstance(node, Declare) and node.lanes > 1]
    return (Helper(HelperKind.FREE, many[0].dtype, many[0].lanes),) if len(many) >= _MANY else ()


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
