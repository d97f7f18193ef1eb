"""Divisors among Python's own numbers: one that is zero raises, as in Python.

In: the divisor of `/`, `//` or `%`.  Out: the divisor, beside a fault where it is zero (PO0233).
Refuses: a divisor that is always zero (PO0147).
Numbers of NumPy divide by zero without an error; a scalar of an array is one.
"""

from __future__ import annotations

from polyopt.errors import Loc
from polyopt.frontend.integers.affine_integers import TRUE, compare, less
from polyopt.frontend.integers.ranges import range_of
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.marks import dynamic_params
from polyopt.frontend.program.memory import cheap_number
from polyopt.frontend.program.statement_domains import Scope
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.values import Number
from polyopt.ir.expr import Compare, CompareOp, Const, Expr, Iter, Load, integer, walk
from polyopt.ir.types import DType

_ZEROS = (Const(0, DType.INT64), Const(0.0, DType.FLOAT64))
HINT = "test the divisor first"


def nonzero(b: Builder, divisor: Number, loc: Loc | None) -> Number:
    """Return the divisor, which is not zero where the kernel goes on."""
    if divisor.expr in _ZEROS:
        refuse("PO0147", "division by zero", loc, "divide by a number that is not zero")
    if b.scout or isinstance(divisor.expr, Const):
        return divisor
    if divisor.dtype.is_integer:
        span = range_of(divisor.expr, b.span_of)
        is_zero: Expr = compare(CompareOp.EQ, divisor.expr, integer(0))
        if span.low > 0 or span.high < 0 or b.never(is_zero):
            return divisor
    early = before_loops(b, divisor.expr)
    if early is not None and divisor.expr in b.nonzero:
        return divisor
    if early is None:
        divisor = cheap_number(b, divisor)
    if divisor.dtype.is_integer:
        is_zero = compare(CompareOp.EQ, divisor.expr, integer(0))
    else:
        is_zero = Compare(CompareOp.EQ, divisor.expr, Const(0, divisor.dtype))
    number = b.fault("PO0233", f"`{b.words}` divides by zero", loc, HINT)
    if early is None:
        b.fail_where(is_zero, number)
        return divisor
    b.nonzero.add(divisor.expr)
    scope, b.scope = b.scope, early
    b.fail_where(is_zero, number)
    b.scope = scope
    return divisor


def before_loops(b: Builder, decided: Expr) -> Scope | None:
    """Return where a value that the call decides is tested once: where all loops around run.

    None where that is here, or the iterations have to be asked.
    """
    scope = b.scope
    bounds = tuple(bound for loop in scope.loops for bound in (loop.lower, loop.upper))
    asked = (decided, *bounds, *scope.conditions)
    is_left = any(loop.going is not None for loop in scope.loops)
    if not scope.loops or is_left or scope.guard != TRUE or dynamic_params(*asked):
        return None
    if any(isinstance(part, Iter | Load) for expr in asked for part in walk(expr)):
        return None
    runs = (
        less(loop.lower, loop.upper) if loop.step > 0 else less(loop.upper, loop.lower)
        for loop in scope.loops
    )
    order = (integer(-1), integer(len(b.drafts)))
    return Scope(conditions=(*scope.conditions, *runs), order=order)
