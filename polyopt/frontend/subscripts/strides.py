"""Steps of ranges and slices that are no constants.

In: bounds and a step found while the kernel runs.  Out: the first position and how many there are.
A step of zero is a fault of the call.
"""

from __future__ import annotations

from polyopt.errors import Loc
from polyopt.frontend.arithmetic.operators import describe
from polyopt.frontend.integers.affine_integers import (
    ONE,
    ZERO,
    at_least,
    compare,
    constant,
    floordiv,
    less,
    maximum,
    minimum,
    minus,
    plus,
    select,
    strip_casts,
    times,
)
from polyopt.frontend.numpy.call_arguments import known_int
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.drafts import dynamic_params
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.values import Iterated, Number, Value, has_loads
from polyopt.ir.expr import CompareOp, Expr, integer
from polyopt.ir.names import iterators


def step_of(b: Builder, value: Value, what: str, loc: Loc | None) -> int | Expr:
    """Return a step: a constant, or an expression for one that only the running kernel knows."""
    if not isinstance(value, Number) or constant(strip_casts(value.expr)) is not None:
        return known_int(b, value, what, loc)
    expr = strip_casts(value.expr)
    if not (has_loads(expr) or iterators(expr) or dynamic_params(expr)):
        return known_int(b, value, what, loc)
    if not value.dtype.is_integer:
        refuse("PO0151", f"{what} is {describe(value)}, not an integer", loc)
    step = b.dynamic(expr, "step")
    if not b.always(compare(CompareOp.NE, step, ZERO)):
        number = b.fault("PO0132", f"{what} is zero", loc, "pass a step that is not zero")
        b.fail_where(compare(CompareOp.EQ, step, ZERO), number)
    return step


def stepped_range(b: Builder, start: Expr, stop: Expr, step: Expr) -> Iterated:
    """Return `range(start, stop, step)`."""
    count = b.dynamic(_count(start, stop, step), "count")
    return Iterated(count, lambda i: Number(plus(start, times(i, step)), True))


def stepped_cut(
    b: Builder, start: Expr | None, stop: Expr | None, step: Expr, extent: Expr
) -> tuple[Expr, Expr]:
    """Return first position and length of `start:stop:step`, clipped as Python does."""
    size = b.extent(extent)
    up = less(ZERO, step)
    low = select(up, ZERO, integer(-1))
    high = select(up, size, plus(size, -1))
    first = select(up, low, high) if start is None else clipped(start, size, low, high)
    last = select(up, high, low) if stop is None else clipped(stop, size, low, high)
    found = b.dynamic(first, "start")
    count = b.dynamic(_count(found, last, step), "count")
    b.demand(at_least(size, count), "PO0171", "a slice is no longer than its array", b.loc)
    b.bounds[count] = size
    return found, count


def clipped(bound: Expr, size: Expr, low: Expr, high: Expr) -> Expr:
    """Return Python's meaning of a slice bound."""
    return select(less(bound, ZERO), maximum(plus(bound, size), low), minimum(bound, high))


def _count(start: Expr, stop: Expr, step: Expr) -> Expr:
    """Return how many steps lie between; a step of zero divides nothing."""
    ahead, back = maximum(step, ONE), maximum(times(step, -1), ONE)
    forward = floordiv(plus(minus(stop, start), minus(ahead, 1)), ahead)
    backward = floordiv(plus(minus(start, stop), minus(back, 1)), back)
    return maximum(select(less(ZERO, step), forward, backward), ZERO)
