"""What Python counts with: len, range, slice.

In: arguments of the call.  Out: numbers, ranges, slices.
Refuses: bounds that are no integers (PO0131), a step of zero (PO0132), len of a number (PO0147).
"""

from __future__ import annotations

from polyopt import frontend
from polyopt.frontend.arithmetic.operators import describe
from polyopt.frontend.integers.affine_integers import strip_casts
from polyopt.frontend.numpy.call_arguments import Arguments, is_none, number
from polyopt.frontend.numpy.table_rules import Rule
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.subscripts.masks import count
from polyopt.frontend.values.codes import refuse, refuse_raising
from polyopt.frontend.values.values import (
    Iterated,
    Known,
    Masked,
    Number,
    Range,
    Sequence,
    Slice,
    Tensor,
    Value,
)
from polyopt.ir.expr import Expr, integer


def _len(b: Builder, args: Arguments) -> Value:
    """len"""
    (value,) = args.take("obj")
    match value:
        case Sequence(items=items):
            return Known(len(items))
        case Iterated(count=length):
            return Number(b.extent(length), True)
        case Known(value=tuple() | list() | str() as known):
            return Known(len(known))
        case Tensor() if value.rank:
            return Number(b.extent(value.shape[0]), True)
        case Masked():
            return count(b, value, args.loc)
        case _:
            fail = refuse_raising if isinstance(value, Number) else refuse
            fail("PO0147", f"len of {describe(value)}", args.loc)


def _range(b: Builder, args: Arguments) -> Value:
    """range"""
    first, stop, step = args.take("start", "stop step")
    start: Expr = integer(0)
    if is_none(stop):
        stop = first
    else:
        start = _bound(b, first, args)
    by: int | Expr = 1
    if not is_none(step):
        by = frontend.subscripts.strides.step_of(b, step, "the step of a range", args.loc)
    if by == 0:
        refuse("PO0132", "a range with step zero", args.loc)
    end = _bound(b, stop, args)
    return (
        Range(start, end, by)
        if isinstance(by, int)
        else frontend.subscripts.strides.stepped_range(b, start, end, by)
    )


def _marked(b: Builder, args: Arguments) -> Value:
    """parallel"""
    (value,) = args.take("iterable")
    return value


def _slice(b: Builder, args: Arguments) -> Value:
    """slice"""
    first, stop, step = args.take("start", "stop step")
    if len(args.values) == 1:
        return Slice(Known(None), first, Known(None))
    return Slice(first, stop, step)


def _bound(b: Builder, value: Value, args: Arguments) -> Expr:
    found = number(b, value, "a loop bound", args.loc)
    expr = strip_casts(found.expr)
    if not found.dtype.is_integer:
        hint = "use `//` for whole quotients"
        refuse("PO0131", f"a loop bound is {describe(found)}, not an integer", args.loc, hint)
    return b.dynamic(expr, "bound")


BUILTINS: dict[str, Rule] = {
    "len": _len, "range": _range, "slice": _slice, "prange": _range, "parallel": _marked,
}  # fmt: skip
