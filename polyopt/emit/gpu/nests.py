"""Collect nested THREAD loops: their box, and the thread that runs an iteration.

In: the outermost loop.  Out: the loops, their constant extents, the number of an iteration.
Refuses (`Unbounded`): loops without a constant extent.
The extent of a loop is the least constant that the difference of an operand of the upper bound's
minimum and the lower bound, or an operand of its maximum, is; rounded up by the step.  It has at
least `lanes` places where these are more than one.
"""

from __future__ import annotations

from collections.abc import Container
from itertools import product
from math import prod

from polyopt.dataclass import dataclass, replace
from polyopt.emit.gpu.distribution import directly_inside
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
from polyopt.ir.linear import linear, normalize
from polyopt.ir.loops import Body, For, If, LoopKind
from polyopt.ir.names import has_iterator
from polyopt.ir.types import DType


class Unbounded(Exception):
    """A THREAD loop has no constant extent."""


@dataclass(frozen=True, slots=True)
class ThreadNest:
    """Directly nested THREAD loops, outermost first.

    `conditions` stand between them, each with the number of loops around it; `body` is inside all.
    """

    loops: tuple[For, ...]
    extents: tuple[int, ...]
    conditions: tuple[tuple[int, Expr], ...]
    body: Body

    @property
    def size(self) -> int:
        """The number of iterations of the box."""
        return prod(self.extents)

    @property
    def number(self) -> Expr:
        """The number of an iteration, row by row; thread `number % threads` runs it."""
        result: Expr = integer(0)
        for loop, extent in zip(self.loops, self.extents, strict=True):
            place = normalize(sub(Iter(loop.iter), loop.lower))
            if loop.step != 1:
                place = Binary(BinaryOp.FLOORDIV, place, integer(loop.step), DType.INT64)
            result = add(mul(integer(extent), result), place)
        return normalize(result)

    @property
    def combined(self) -> str | None:
        """The array that neighbouring threads combine into, if they do."""
        reductions = self.loops[-1].reductions
        return reductions[0][1].name if reductions else None

    @property
    def first(self) -> Expr:
        """The number of the first of the iterations that combine."""
        last = self.loops[-1]
        return normalize(substitute(self.number, {last.iter: last.lower}))


def bounds_use(loop: For, iters: Container[str]) -> bool:
    """Tell whether a bound of `loop` uses an iterator of `iters`."""
    return has_iterator(loop.lower, iters) or has_iterator(loop.upper, iters)


def thread_nest(loop: For) -> ThreadNest:
    """Return the nest that starts at the THREAD loop `loop`; raises `Unbounded`."""
    loops, extents, conditions = [loop], [extent(loop)], []
    body = loop.body
    while (found := directly_inside(body, LoopKind.THREAD)) is not None:
        between, inner = found
        conditions += [(len(loops), condition) for condition in between]
        loops.append(inner)
        extents.append(extent(inner))
        body = inner.body
    return ThreadNest(tuple(loops), tuple(extents), tuple(conditions), body)


def rebuilt(nest: ThreadNest, body: Body) -> For:
    """Return the loops of a nest around `body`."""
    for position in range(len(nest.loops) - 1, -1, -1):
        loop = replace(nest.loops[position], body=body)
        body = (loop,)
        for depth, condition in reversed(nest.conditions):
            if depth == position:
                body = (If(condition, body),)
    return loop


def extent(loop: For) -> int:
    """Return the constant extent of a loop; raises `Unbounded`."""
    found = [distance for _, distance in spans(loop)]
    if not found or loads(loop.lower) or loads(loop.upper):
        raise Unbounded(loop.iter)
    return max(0 if loop.lanes == 1 else loop.lanes, -(-min(found) // loop.step))


def spans(loop: For) -> list[tuple[Expr, int]]:
    """Return lower bounds of a loop, each with a constant distance of an upper bound from it."""
    lowers = dict.fromkeys((loop.lower, *operands(loop.lower, BinaryOp.MAX)))
    found = []
    for lower, upper in product(lowers, operands(loop.upper, BinaryOp.MIN)):
        value = linear(sub(upper, lower))
        if not value.terms:
            found.append((lower, value.constant))
    return found
