"""Make the grid of blocks a box that is known before the launch.

In: a nest of BLOCK loops.  Out: loops whose bounds are the same for all blocks, guards for the
blocks that have nothing to do, the code of a block.
A loop whose bounds depend on the loops around it gets the least and the greatest they take.
"""

from __future__ import annotations

from polyopt.dataclass import dataclass, replace
from polyopt.emit.gpu.distribution import directly_inside, in_order
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Const,
    Expr,
    Iter,
    Param,
    Symbol,
    add,
    integer,
    mul,
    operands,
    sub,
    walk,
)
from polyopt.ir.linear import Linear, from_linear, linear, normalize
from polyopt.ir.loops import Body, For, If, LoopKind
from polyopt.ir.names import has_iterator
from polyopt.ir.types import DType

MOST = 6
"""Loops that a grid has room for."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A box of blocks: `body` is what a block runs, conditions around it included."""

    loops: tuple[For, ...]
    body: Body


def grid_of(outermost: For) -> Grid:
    """Return the grid of a BLOCK loop that holds its other BLOCK loops directly."""
    loops = [replace(outermost, body=())]
    conditions: list[Expr] = []
    body = outermost.body
    while len(loops) < MOST and (found := directly_inside(body, LoopKind.BLOCK)) is not None:
        between, loop = found
        found_box = boxed(loop, loops)
        if found_box is None:
            break
        box, own = found_box
        conditions += [*between, *own]
        loops.append(replace(box, body=()))
        body = loop.body
    body = in_order(body, LoopKind.BLOCK)
    for condition in reversed(conditions):
        body = (If(condition, body),)
    return Grid(tuple(loops), body)


def boxed(loop: For, around: list[For]) -> tuple[For, tuple[Expr, ...]] | None:
    """Return the loop with bounds that none of `around` decides, and when it runs; or None."""
    iters = {outer.iter: outer for outer in around}
    if not _uses((loop.lower, loop.upper), iters):
        return loop, ()
    lower = _end(loop.lower, iters, least=True)
    upper = _end(loop.upper, iters, least=False)
    if lower is None or upper is None or _uses((lower, upper), iters):
        return None
    if loop.step != 1 and not (_divides(loop.step, loop.lower) and _divides(loop.step, lower)):
        return None
    known = {*operands(lower, BinaryOp.MAX), *operands(upper, BinaryOp.MIN)}
    here = Iter(loop.iter)
    guards: list[Expr] = [
        Compare(CompareOp.GE, here, end)
        for end in operands(loop.lower, BinaryOp.MAX)
        if end not in known
    ]
    guards += [
        Compare(CompareOp.LT, here, end)
        for end in operands(loop.upper, BinaryOp.MIN)
        if end not in known
    ]
    return replace(loop, lower=lower, upper=upper), tuple(guards)


def _uses(exprs: tuple[Expr, ...], iters: dict[str, For]) -> bool:
    return any(has_iterator(e, iters) for e in exprs)


def _divides(step: int, expr: Expr) -> bool:
    """Tell whether `expr` is certainly a multiple of `step`."""
    match expr:
        case Binary(op=BinaryOp.MIN | BinaryOp.MAX):
            return _divides(step, expr.left) and _divides(step, expr.right)
        case _:
            value = linear(expr)
            return value.constant % step == 0 and all(n % step == 0 for _, n in value.terms)


def _end(bound: Expr, iters: dict[str, For], *, least: bool) -> Expr | None:
    """Return where the box begins or ends: by the operands of the bound that stay simple, if any.

    The conditions of the blocks have all of them.
    """
    op = BinaryOp.MAX if least else BinaryOp.MIN
    found = [_extreme(part, iters, least=least) for part in operands(bound, op)]
    ends = [end for end in found if end is not None]
    ends = [end for end in ends if not _has_choice(end)] or ends
    if not ends:
        return None
    result = ends[0]
    for end in ends[1:]:
        if end != result:
            result = Binary(op, result, end, DType.INT64)
    return result


def _has_choice(expr: Expr) -> bool:
    ops = (BinaryOp.MIN, BinaryOp.MAX)
    return any(isinstance(part, Binary) and part.op in ops for part in walk(expr))


def _extreme(expr: Expr, iters: dict[str, For], *, least: bool) -> Expr | None:
    """Return a bound of `expr` over the iterations of `iters`; None where none is seen."""
    match expr:
        case Const() | Param() | Symbol():
            return expr
        case Iter() if expr.name not in iters:
            return expr
        case Iter():
            loop = iters[expr.name]
            end = loop.lower if least else sub(loop.upper, integer(1))
            return _extreme(end, iters, least=least)
        case Binary(op=BinaryOp.MIN | BinaryOp.MAX):
            left = _extreme(expr.left, iters, least=least)
            right = _extreme(expr.right, iters, least=least)
            if left is None or right is None:
                return None
            return left if left == right else Binary(expr.op, left, right, DType.INT64)
        case Binary(op=BinaryOp.FLOORDIV, right=Const(value=int(by))) if by > 0:
            left = _extreme(expr.left, iters, least=least)
            return None if left is None else _quotient(normalize(left), by)
        case Binary(op=BinaryOp.MOD, right=Const(value=int(by))) if by > 0:
            return integer(0 if least else by - 1)
        case _:
            return _extreme_sum(expr, iters, least=least)


def _quotient(left: Expr, by: int) -> Expr:
    value = linear(left)
    if all(factor % by == 0 for _, factor in value.terms):
        terms = tuple((atom, factor // by) for atom, factor in value.terms)
        return from_linear(Linear(value.constant // by, terms))
    return Binary(BinaryOp.FLOORDIV, left, integer(by), DType.INT64)


def _extreme_sum(expr: Expr, iters: dict[str, For], *, least: bool) -> Expr | None:
    value = linear(expr)
    total: Expr = integer(value.constant)
    for atom, factor in value.terms:
        if atom == expr:
            return None
        part = _extreme(atom, iters, least=least == (factor > 0))
        if part is None:
            return None
        total = add(total, mul(integer(factor), part))
    return normalize(total)
