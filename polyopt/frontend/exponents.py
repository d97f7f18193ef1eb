"""Exponents of powers of NumPy's integers: none is negative.

In: the exponent, a number or an array, and the type of the result.
Out: checks of the call, faults.
Refuses: negative constants (PO0147); what only the running kernel knows is a fault (PO0232).
"""

from __future__ import annotations

from polyopt.errors import Loc
from polyopt.frontend.builder import Builder
from polyopt.frontend.codes import refuse
from polyopt.frontend.integers import at_least, is_affine, is_nonnegative
from polyopt.frontend.intervals import interval_of
from polyopt.frontend.memory import cheap, cheap_number, forced
from polyopt.frontend.values import Operandish, Tensor
from polyopt.ir.expr import Compare, CompareOp, Const
from polyopt.ir.types import DType, Kind

_NEGATIVE_POWER = "integers to negative powers are not allowed in NumPy"
_FLOAT_BASE = "convert the base to float first"


def demand_exponent(b: Builder, exponent: Operandish, output: DType, loc: Loc | None) -> Operandish:
    """Require that the exponent of a power of integers is not negative, as NumPy does.

    Returns the exponent; what only the running kernel knows is a fault (PO0232).
    """
    if not output.is_integer or exponent.dtype.kind is not Kind.SIGNED:
        return exponent
    if isinstance(exponent, Tensor):
        exponent = cheap(b, forced(b, exponent))
        loops, index = b.fresh_loops(exponent.shape)
        expr = exponent.at(index)
    else:
        exponent = cheap_number(b, exponent)
        loops, expr = (), exponent.expr
    if isinstance(expr, Const):
        if int(expr.value.real) < 0:
            refuse("PO0147", _NEGATIVE_POWER, loc, _FLOAT_BASE)
        return exponent
    zero = Const(0, expr.dtype)
    if expr.dtype is DType.INT64 and is_affine(expr):
        with b.within(loops):
            b.demand(at_least(expr, zero), "PO0147", _NEGATIVE_POWER, loc, _FLOAT_BASE)
        return exponent
    low = interval_of(expr, {}, b.span_of).low
    if low is None or not is_nonnegative(low):
        number = b.fault("PO0232", _NEGATIVE_POWER, loc, _FLOAT_BASE)
        b.fail_where(Compare(CompareOp.LT, expr, zero), number, loops)
    return exponent
