"""Recognize register tiles: the nests whose operands are packed, and their operands.

In: a node.  Out: its loops by their parts, where it has the shape; expressions that are operands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from polyopt.dataclass import dataclass
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Cast,
    Const,
    Expr,
    Load,
    Param,
    Symbol,
    Unary,
    UnaryOp,
    children,
    walk,
)
from polyopt.ir.linear import slope_of
from polyopt.ir.loops import Assign, For, LoopKind, Node
from polyopt.ir.names import has_iterator

_MADE_OF = (BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL, BinaryOp.DIV, BinaryOp.RATIO)


@dataclass(frozen=True, slots=True)
class RegisterTile:
    """The loops of a register tile: over tiles, depth, rows, lanes.

    `block`: a loop between tiles and depth, over the panels of a block.
    """

    tiles: For
    block: For | None
    depth: For
    rows: For
    lanes: For

    @property
    def panel(self) -> tuple[For, ...]:
        """Return the loops over the elements of the panels."""
        return (*(() if self.block is None else (self.block,)), self.depth, self.lanes)

    @property
    def assign(self) -> Assign:
        """Return the assignment in it."""
        (assign,) = self.lanes.body
        assert isinstance(assign, Assign)
        return assign


def register_nest(node: Node) -> RegisterTile | None:
    """Return the register tile below `node` when it has the shape that operands are packed for."""
    loops = []
    while isinstance(node, For) and len(node.body) == 1:
        loops.append(node)
        node = node.body[0]
    if len(loops) not in (4, 5) or not isinstance(node, Assign):
        return None
    tiles, *block, depth, rows, lanes = loops
    outer = [LoopKind.SEQUENTIAL] * (len(loops) - 2)
    wanted = [*outer, LoopKind.UNROLL, LoopKind.VECTOR]
    if [loop.kind for loop in loops] != wanted or any(loop.step != 1 for loop in loops):
        return None
    return RegisterTile(tiles, block[0] if block else None, depth, rows, lanes)


def operands_of(expr: Expr, accepts: Callable[[Expr], bool]) -> Iterator[Expr]:
    """Yield the largest parts of `expr` that are accepted: elements, and arithmetic on floats."""
    if isinstance(expr, Load) or is_arithmetic(expr):
        if accepts(expr):
            yield expr
            return
        if isinstance(expr, Load):
            return
    for part in children(expr):
        yield from operands_of(part, accepts)


def is_arithmetic(expr: Expr) -> bool:
    """Tell whether an expression does nothing but arithmetic on elements and scalars, in floats."""
    if not expr.dtype.is_float or expr.dtype.is_half:
        return False
    match expr:
        case Load() | Const() | Symbol():
            return True
        case Binary(op=op, left=left, right=right) if op in _MADE_OF:
            return is_arithmetic(left) and is_arithmetic(right)
        case Unary(op=UnaryOp.NEG, operand=operand):
            return is_arithmetic(operand)
        case Cast(operand=Load(index=()) | Const() | Param() | Symbol()):
            return True  # a number of Python beside elements of another type
        case _:
            return False


def is_contiguous(expr: Expr, loop: For) -> bool:
    """Tell whether elements that vary along a loop lie side by side along it."""
    found = (part for part in walk(expr) if isinstance(part, Load))
    return all(_is_side_by_side(load, loop) for load in found if has_iterator(load, {loop.iter}))


def _is_side_by_side(load: Load, loop: For) -> bool:
    *outer, last = load.index
    step = slope_of(last, loop.iter)
    return step == 1 and not any(has_iterator(i, {loop.iter}) for i in outer)
