"""Compute which thread runs an iteration of nested THREAD loops.

In: the outermost loop of a nest.  Out: its loops, their constant extents, the number of an
iteration, counted row by row.  Refuses (`NoBox`): loops whose extent is not constant.
An extent is the least constant difference of an operand of the upper bound's minimum and the lower
bound, or an operand of its maximum; at least `lanes` iterations where these are more than one.
Nothing that determines it is read from an array.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from polyopt.dataclass import dataclass
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Expr,
    Iter,
    add,
    integer,
    loads,
    mul,
    operands,
    sub,
    substitute,
)
from polyopt.ir.linear import linear
from polyopt.ir.loops import Body, For, If, LoopKind
from polyopt.ir.types import DType


class NoBox(Exception):
    """The extent of `loop` is not constant."""

    def __init__(self, loop: For) -> None:
        super().__init__(loop.iter)
        self.loop = loop


@dataclass(frozen=True, slots=True)
class ThreadNest:
    """Directly nested THREAD loops, outermost first; `inside` is the code of one thread."""

    loops: tuple[For, ...]
    extents: tuple[int, ...]
    inside: Body

    @property
    def size(self) -> int:
        """The number of iterations of the box."""
        return prod(self.extents)

    def number(self) -> Expr:
        """Return the number of an iteration, row by row."""
        result: Expr = integer(0)
        for loop, extent in zip(self.loops, self.extents, strict=True):
            place = sub(Iter(loop.iter), loop.lower)
            if loop.step != 1:
                place = Binary(BinaryOp.FLOORDIV, place, integer(loop.step), DType.INT64)
            result = add(mul(integer(extent), result), place)
        return result

    @property
    def combined(self) -> str | None:
        """The array that neighbouring threads reduce into, if any."""
        reductions = self.loops[-1].reductions
        return reductions[0][1].name if reductions else None

    def first(self) -> Expr:
        """Return the number of the first of the iterations that reduce together."""
        last = self.loops[-1]
        return substitute(self.number(), {last.iter: last.lower})


def thread_nest(outermost: For) -> ThreadNest:
    """Return the nest that starts at a THREAD loop; raises `NoBox`."""
    loops = [outermost]
    while (inner := _next(loops[-1].body)) is not None:
        loops.append(inner)
    return ThreadNest(tuple(loops), tuple(map(_extent, loops)), loops[-1].body)


def _next(body: Body) -> For | None:
    """Return the THREAD loop in a body, with only conditions around it."""
    match body:
        case (For(kind=LoopKind.THREAD) as loop,):
            return loop
        case (If(condition=condition, then=then, otherwise=()),) if not loads(condition):
            return _next(then)
        case _:
            return None


def _extent(loop: For) -> int:
    if loads(loop.lower) or loads(loop.upper):
        raise NoBox(loop)
    found = [
        distance
        for upper in operands(loop.upper, BinaryOp.MIN)
        for lower in {loop.lower: None, **dict.fromkeys(operands(loop.lower, BinaryOp.MAX))}
        for distance in _constant(sub(upper, lower))
    ]
    if not found:
        raise NoBox(loop)
    return max(0 if loop.lanes == 1 else loop.lanes, -(-min(found) // loop.step))


def _constant(expr: Expr) -> Iterator[int]:
    value = linear(expr)
    if not value.terms:
        yield value.constant
