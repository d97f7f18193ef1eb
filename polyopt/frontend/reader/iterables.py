"""What `for` runs over: ranges, arrays, enumerate, zip, reversed.

In: values.  Out: how many items there are, and each of them.
Refuses: everything else (PO0130).
"""

from __future__ import annotations

from polyopt.frontend.arithmetic.operators import describe
from polyopt.frontend.integers.affine_integers import (
    constant,
    floordiv,
    minimum,
    minus,
    plus,
    times,
)
from polyopt.frontend.numpy.call_arguments import Arguments, is_none, size
from polyopt.frontend.numpy.table_rules import Rule
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.memory import forced, stored
from polyopt.frontend.subscripts.basic import At, select_parts
from polyopt.frontend.subscripts.masks import plain
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.constants import as_sequence
from polyopt.frontend.values.values import (
    Iterated,
    Known,
    Number,
    Range,
    Sequence,
    Tensor,
    Value,
    as_value,
    item_of,
)
from polyopt.ir.expr import Expr, integer


def iterated(b: Builder, value: Value, args: Arguments) -> Iterated:
    """Return what `for` runs over: a range or the first dimension of an array."""
    match plain(b, value):
        case Range() as value:
            distance = (
                minus(value.stop, value.start) if value.step > 0 else minus(value.start, value.stop)
            )
            count = floordiv(plus(distance, abs(value.step) - 1), integer(abs(value.step)))
            start, step = value.start, value.step
            return Iterated(count, lambda i: Number(plus(start, times(i, step)), True))
        case Iterated() as value:
            return value
        case Tensor() as value if value.rank:
            array = forced(b, value)
            if array.view is None:  # the items are what they are before the body writes
                array = stored(b, array, "items")
            return Iterated(array.shape[0], lambda i: _item(b, array, i, args))
        case _:
            hint = "loop over a range: `for i in range(n)`"
            refuse("PO0130", f"a loop over {describe(value)}", args.loc, hint)


def _item(b: Builder, value: Tensor, index: Expr, args: Arguments) -> Value:
    found = as_value(select_parts(b, value, (At(index, "item"),), "the array", args.loc))
    return item_of(value, found)


def enumerate_(b: Builder, args: Arguments) -> Value:
    """enumerate"""
    value, start = args.take("iterable", "start")
    first = integer(0) if is_none(start) else size(b, start, "the start of enumerate", args.loc)
    items = as_sequence(value)
    if isinstance(items, Sequence):
        known = constant(first)
        if known is None:
            refuse("PO0151", "the start of enumerate of a tuple is not known", args.loc)
        pairs = (Sequence((Known(known + n), item)) for n, item in enumerate(items.items))
        return Sequence(tuple(pairs))
    inner = iterated(b, value, args)
    return Iterated(inner.count, lambda i: Sequence((Number(plus(first, i), True), inner.item(i))))


def zip_(b: Builder, args: Arguments) -> Value:
    """zip: as long as the shortest"""
    if not args.values or set(args.keywords) - {"strict"}:
        refuse("PO0151", "zip with these arguments", args.loc)
    known = [as_sequence(value) for value in args.values]
    if any(isinstance(part, Sequence) for part in known):
        return _zipped(b, known, args)
    parts = [iterated(b, value, args) for value in args.values]
    count = parts[0].count
    for part in parts[1:]:
        count = minimum(count, part.count)
    return Iterated(count, lambda i: Sequence(tuple(part.item(i) for part in parts)))


def _zipped(b: Builder, parts: list[Value], args: Arguments) -> Value:
    """A tuple among the arguments makes all items known by their number."""
    count = min(len(part.items) for part in parts if isinstance(part, Sequence))
    columns: list[tuple[Value, ...]] = []
    for part in parts:
        if isinstance(part, Sequence):
            columns.append(part.items[:count])
            continue
        each = iterated(b, part, args)
        length = constant(each.count)
        if length is None:
            hint = "loop over a range and use subscripts"
            refuse("PO0130", "zip of a tuple and of something of unknown length", args.loc, hint)
        count = min(count, length)
        columns.append(tuple(each.item(integer(number)) for number in range(count)))
    return Sequence(tuple(Sequence(row) for row in zip(*(c[:count] for c in columns), strict=True)))


def reversed_(b: Builder, args: Arguments) -> Value:
    """reversed of a tuple, a list, a range or an array"""
    (value,) = args.take("sequence")
    items = as_sequence(value)
    if isinstance(items, Sequence):
        return Sequence(items.items[::-1])
    is_sequence = isinstance(value, Range | Tensor) or (
        isinstance(value, Iterated) and value.as_array is not None
    )
    if not is_sequence:
        refuse("PO0130", f"reversed of {describe(value)}", args.loc, "loop over a range")
    inner = iterated(b, value, args)
    if isinstance(value, Range) and value.step in (1, -1):
        return Range(plus(value.stop, -value.step), plus(value.start, -value.step), -value.step)
    length = constant(inner.count)
    if isinstance(value, Range) and length is not None:
        last = plus(value.start, (length - 1) * value.step)
        return Range(last, plus(value.start, -value.step), -value.step)
    return Iterated(inner.count, lambda i: inner.item(minus(plus(inner.count, -1), i)))


BUILTINS: dict[str, Rule] = {"enumerate": enumerate_, "zip": zip_, "reversed": reversed_}
