"""Elements under a mask, one after the other: their number is found while the kernel runs.

In: a BOOL array, an array of its shape.  Out: arrays of one dimension whose extent is a dynamic
size; statements that write under a mask in its order.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

from polyopt.errors import Loc
from polyopt.frontend.integers.affine_integers import (
    ONE,
    ZERO,
    at_least,
    is_affine,
    minus,
    plus,
    times,
)
from polyopt.frontend.integers.intervals import Interval
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.memory import buffers_read, forced, stored
from polyopt.frontend.values.computed_sizes import as_affine
from polyopt.frontend.values.promote import cast
from polyopt.frontend.values.shapes import equate
from polyopt.frontend.values.values import Index, Masked, Tensor, viewed
from polyopt.ir.expr import Binary, BinaryOp, Cast, Compare, CompareOp, Expr, Load
from polyopt.ir.names import reads
from polyopt.ir.showing import show
from polyopt.ir.types import DType

COUNT_CODE = "PO0232"


def total(b: Builder, shape: Index) -> Expr:
    """Return the number of elements of an array."""
    result: Expr = ONE
    for extent in shape:
        result = times(result, b.extent(extent))
    return as_affine(b.facts, result)


def compacted(b: Builder, value: Masked, name: str = "picked") -> Tensor:
    """Return `tensor[mask]` as an array of its own."""
    if value.bound is not None:
        b.facts.add(b.facts.compacted, value.bound)
    tensor = forced(b, value.tensor)
    (found,) = collected(b, value.mask, name, [tensor])
    return found


def positions(b: Builder, mask: Tensor, *, kept: bool) -> list[Tensor]:
    """Return where a mask holds: one array of positions for each of its dimensions.

    `kept`: nobody else sees the arrays, so that their elements stay inside the mask.
    """
    own = [Tensor(mask.shape, DType.INT64, itemgetter(d)) for d in range(mask.rank)]
    found = collected(b, mask, "where", own)
    for tensor, extent in zip(found, mask.shape, strict=True):
        assert tensor.view is not None
        if kept:
            b.intervals[tensor.view.buffer.name] = Interval(ZERO, plus(extent, -1))
    return found


def collected(b: Builder, mask: Tensor, name: str, values: Sequence[Tensor]) -> list[Tensor]:
    """Fill new arrays with the elements of `values` where the mask holds; their count is bound."""
    flags = forced(b, mask)
    bound = total(b, flags.shape)
    buffers = [b.new_buffer(name, value.dtype, (bound,)) for value in values]
    count = _start(b)
    loops, index = b.fresh_loops(flags.shape)
    flag = flags.at(index)
    affine = is_affine(flag)
    with b.under((flag,) if affine else ()):
        for slot, (buffer, value) in enumerate(zip(buffers, values, strict=True)):
            # no guard: what is not picked is overwritten by the next; it always fits
            target = Load(buffer.name, (count,), buffer.dtype)
            b.emit(loops, target, cast(value.at(index), buffer.dtype), slot=slot)
        step = ONE if affine else Cast(flag, DType.INT64)
        b.emit(loops, count, _sum(count, step), slot=len(buffers))
        b.advance()
    extent = b.dynamic(count, "count")
    if len(flags.shape) > 1:  # the proof counts the iterations of one loop alone
        message = "a mask picks more elements than there are"
        b.demand(at_least(bound, extent), "PO0234", message, b.loc, "pass smaller arrays")
    if extent not in b.sizes:
        b.sizes += [extent, minus(bound, extent)]
    b.bounds[extent] = bound
    return [viewed(buffer, (extent,), lambda index: index) for buffer in buffers]


def _start(b: Builder) -> Load:
    counter = b.new_buffer("k", DType.INT64, ())
    count = Load(counter.name, (), DType.INT64)
    b.emit((), count, ZERO)
    return count


def _sum(count: Load, step: Expr) -> Expr:
    return Binary(BinaryOp.ADD, count, step, DType.INT64)


def write_where(b: Builder, view: Tensor, mask: Tensor, value: Tensor, loc: Loc | None) -> None:
    """`view[mask] = value`, an array of one dimension: its elements go where the mask holds."""
    assert view.view is not None
    value = forced(b, value)
    if view.view.buffer.name in buffers_read(value):
        value = stored(b, value, "new")
    flags = forced(b, mask)
    probe = b.fresh_loops(flags.shape)[1]
    if view.view.buffer.name in reads(flags.at(probe)):
        flags = stored(b, flags, "mask")
    shape = tuple(
        equate(b, e, f, "mask", loc) for e, f in zip(view.shape, flags.shape, strict=True)
    )
    count = _start(b)
    loops, index = b.fresh_loops(shape)
    extent = b.extent(value.shape[0])
    flag = flags.at(index)
    target = view.at(index)
    assert isinstance(target, Load)
    with b.under((), flag):
        with b.under((at_least(extent, ONE),), Compare(CompareOp.LT, count, extent)):
            b.emit(loops, target, cast(value.at((count,)), view.dtype, loc), slot=0)
        b.emit(loops, count, _sum(count, ONE), slot=1)
        b.advance()
    message = f"the mask picks another number of elements than the `{show(extent)}` given"
    number = b.fault(COUNT_CODE, message, loc, "give as many elements as the mask picks")
    b.fail_where(Compare(CompareOp.NE, count, extent), number)
