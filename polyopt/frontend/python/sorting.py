"""`sorted`: few numbers by comparisons that are written out, others by NumPy.

In: a tuple, list, range or vector.  Out: a list; equal items stay in the order they had.
Refuses: `key=` (PO0151), arrays of other ranks (PO0142), Python's complex numbers (PO0146).
NaN, whose place depends on Python's algorithm, is a fault (PO0147).
"""

from __future__ import annotations

import numpy as np

from polyopt.frontend.arithmetic.operators import describe, operand, operate
from polyopt.frontend.integers.affine_integers import ZERO
from polyopt.frontend.numpy import callbacks
from polyopt.frontend.numpy.axis_reductions import reduced
from polyopt.frontend.numpy.call_arguments import Arguments, is_none, number, tensor
from polyopt.frontend.numpy.grids import arange
from polyopt.frontend.numpy.reshaping import flipped
from polyopt.frontend.numpy.table_rules import Rule
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.memory import forced, stored
from polyopt.frontend.reader.comprehensions import collected, unrolled
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.constants import nested
from polyopt.frontend.values.values import (
    Iterated,
    Known,
    Number,
    Range,
    Sequence,
    Tensor,
    Value,
    as_tensor,
)
from polyopt.frontend.variables import lists
from polyopt.frontend.variables.alternatives import choose
from polyopt.frontend.variables.binding import kept
from polyopt.ir.expr import Compare, CompareOp, Const, Expr
from polyopt.ir.types import DType

FEW = 12
"""Items whose comparisons are written out: (n² - n) / 2 of them."""
_NAN = "`sorted` of numbers among which is NaN"


def sorted_(b: Builder, args: Arguments) -> Value:
    """sorted"""
    value, key, reverse = args.take("iterable", "key reverse")
    if not is_none(key) or not isinstance(reverse, Known):
        refuse("PO0151", "`sorted` with these arguments", args.loc, "sort indices with np.argsort")
    down = bool(reverse.value)
    items = unrolled(b, value, args.loc)
    if items is None or len(items) > FEW:
        return _of_many(b, value, down, args)
    if all(isinstance(item, Known) for item in items):
        return _of_known(items, down, args)
    numbers = [number(b, item, "an item of `sorted`", args.loc) for item in items]
    if len(numbers) > 1:
        for item in numbers:
            _refuse_nan(b, item.expr, args)
    for last in range(1, len(numbers)):
        for place in range(last, 0, -1):
            pair = numbers[place - 1], numbers[place]
            numbers[place - 1 : place + 1] = _in_order(b, *pair, down, args)
    return Sequence(tuple(numbers), True)


def _of_known(items: tuple[Value, ...], down: bool, args: Arguments) -> Value:
    found = [item.value for item in items if isinstance(item, Known)]
    try:
        return Sequence(tuple(Known(item) for item in sorted(found, reverse=down)), True)  # type: ignore[type-var]
    except TypeError as error:
        refuse("PO0147", f"`sorted`: {error}", args.loc)


def _in_order(
    b: Builder, first: Number, second: Number, down: bool, args: Arguments
) -> tuple[Number, Number]:
    """Return both, exchanged where the second one has to be before the first."""
    _refuse_complex((first, second), args)
    name = "greater" if down else "less"
    found = operand(operate(b, name, (second, first), args.loc), args.loc)
    assert isinstance(found, Number)
    if isinstance(found.expr, Const):
        return (second, first) if found.expr.value else (first, second)
    condition = kept(b, "is_before", found)
    assert isinstance(condition, Number)
    pairs = ((second, first), (first, second))
    low, high = (kept(b, "item", choose(b, condition.expr, *p, args.loc)) for p in pairs)
    assert isinstance(low, Number)
    assert isinstance(high, Number)
    return low, high


def _refuse_complex(numbers: tuple[Number, ...], args: Arguments) -> None:
    """Python does not order its own complex numbers; NumPy orders its."""
    if all(item.weak for item in numbers) and any(item.dtype.is_complex for item in numbers):
        refuse("PO0146", "Python does not order complex numbers", args.loc, "sort abs() of them")


def _refuse_nan(b: Builder, value: Expr, args: Arguments) -> None:
    if not value.dtype.is_integer and not isinstance(value, Const):
        _fail(b, _differs(value), args)


def _of_many(b: Builder, value: Value, down: bool, args: Arguments) -> Value:
    """Return what NumPy's stable sort makes of the items in memory."""
    array = _in_memory(b, value, args)
    if array.rank != 1:
        refuse("PO0142", f"`sorted` of an array of rank {array.rank}", args.loc, "use np.sort")
    weak = array.view is not None and array.view.buffer.weak
    _refuse_complex((Number(array.at((ZERO,)), weak),), args)
    if not array.dtype.is_integer:
        flags = Tensor(array.shape, DType.BOOL, lambda i: _differs(array.at(i)))
        found = reduced(b, "any", flags, None, False, args.loc)
        _fail(b, number(b, found, "the test for NaN", args.loc).expr, args)
    source = flipped(array, (0,)) if down else array
    rule = callbacks.rule_of(np.sort)
    assert rule is not None
    options = {"kind": Known("stable")}
    result = as_tensor(
        operand(rule(b, Arguments("np.sort", (source,), options, args.loc)), args.loc)
    )
    ordered = stored(b, flipped(forced(b, result), (0,)) if down else forced(b, result), "items")
    assert ordered.view is not None
    ordered.view.buffer.weak = weak
    return lists.as_list(ordered)


def _differs(value: Expr) -> Expr:
    return Compare(CompareOp.NE, value, value)


def _fail(b: Builder, condition: Expr, args: Arguments) -> None:
    if not b.scout:
        fault = b.fault("PO0147", _NAN, args.loc, "take NaN out before")
        b.fail_where(condition, fault, guarded=True)


def _in_memory(b: Builder, value: Value, args: Arguments) -> Tensor:
    """Return the items as an array; `weak` where they are Python's own."""
    match value:
        case Sequence(items=items):
            found = nested(b, value, None, args.loc)
            assert found.view is not None
            numbers = [number(b, item, "an item of `sorted`", args.loc) for item in items]
            found.view.buffer.weak = all(item.weak for item in numbers)
            return found
        case Range():
            ends = (Number(value.start, True), Number(value.stop, True), Known(value.step))
            steps = tensor(b, arange(b, Arguments(args.name, ends, {}, args.loc)), args.loc)
            listed = stored(b, forced(b, steps), "items")
            assert listed.view is not None
            listed.view.buffer.weak = True
            return listed
        case Iterated():
            return collected(b, value, None, args.loc)
        case Tensor():
            return forced(b, value)
        case _:
            refuse("PO0147", f"`sorted` of {describe(value)}", args.loc, "sort a list or an array")


BUILTINS: dict[str, Rule] = {"sorted": sorted_}
