"""Running sums and products, and the place of an extreme: statements along one axis.

In: arguments of cumsum, cumprod, argmax, argmin.  Out: new arrays.
Refuses: axes outside the array (PO0153).
"""

from __future__ import annotations

from collections.abc import Sequence

from polyopt.dataclass import replace
from polyopt.frontend.integers.affine_integers import ONE, ZERO, at_least, plus, times
from polyopt.frontend.numpy import regrouping
from polyopt.frontend.numpy.axis_reductions import (
    REDUCERS,
    at_least_vector,
    normal_axes,
    one_axis,
    reduced,
    summation_dtype,
    with_unit_axes,
)
from polyopt.frontend.numpy.call_arguments import (
    Arguments,
    dtype,
    is_none,
    known_bool,
    known_int,
    tensor,
)
from polyopt.frontend.numpy.callbacks import ordering
from polyopt.frontend.numpy.products import folded
from polyopt.frontend.numpy.reductions import with_out
from polyopt.frontend.numpy.table_rules import Rule
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.memory import EXPENSIVE, forced, stored
from polyopt.frontend.program.statement_domains import Loop
from polyopt.frontend.values.merged_dimensions import without
from polyopt.frontend.values.promote import call, cast
from polyopt.frontend.values.values import Fold, Index, Tensor, Value, as_tensor, as_value, view_of
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Expr,
    Iter,
    Load,
    MathFunc,
    Select,
    integer,
)
from polyopt.ir.types import DType


def running(name: str, reducer: str) -> Rule:
    """Return the rule of np.cumsum or np.cumprod."""

    def rule(b: Builder, args: Arguments) -> Value:
        array, axis, kind, out = args.take("a", "axis dtype out")
        value = forced(b, tensor(b, array, args.loc))
        value = at_least_vector(value)
        if is_none(axis):
            value = regrouping.flat_vector(b, value, args.loc)
        along = one_axis(b, axis, value.rank, args.loc, 0)
        found = dtype(kind, args.loc) or summation_dtype(reducer, value.dtype)
        return with_out(b, running_along(b, value, along, reducer, found), out, args)

    return rule


def running_along(b: Builder, value: Tensor, axis: int, reducer: str, kind: DType) -> Tensor:
    """Return the reductions of all beginnings along `axis`."""
    op = REDUCERS[reducer].op
    if kind is DType.BOOL:
        op = {BinaryOp.MAX: BinaryOp.OR, BinaryOp.MIN: BinaryOp.AND}.get(op, op)
    buffer = b.new_buffer("running", kind, value.shape)
    first = tuple(ONE if d == axis else extent for d, extent in enumerate(value.shape))
    loops, index = b.fresh_loops(first)
    with b.under((at_least(value.shape[axis], ONE),)):
        b.emit(loops, Load(buffer.name, index, kind), cast(value.at(index), kind))
    loops, index = _loops_from_one(b, value, axis)
    if value.shape[axis] == ONE:
        return Tensor(value.shape, kind, view_of(buffer).at, view_of(buffer).view)
    before = tuple(plus(part, -1) if d == axis else part for d, part in enumerate(index))
    total = Binary(op, Load(buffer.name, before, kind), cast(value.at(index), kind), kind)
    b.emit(loops, Load(buffer.name, index, kind), total)
    return Tensor(value.shape, kind, view_of(buffer).at, view_of(buffer).view)


def _loops_from_one(b: Builder, value: Tensor, axis: int) -> tuple[tuple[Loop, ...], Index]:
    """Loops over all elements whose position along `axis` is at least one."""
    loops, index = b.fresh_loops(value.shape)
    if index[axis] == ZERO:  # a dimension of one: nothing follows its first element
        return (), index
    name = index[axis]
    assert isinstance(name, Iter)
    later = (replace(loop, lower=ONE) if loop.iter == name.name else loop for loop in loops)
    return tuple(later), index


def arg_extreme(name: str, order: CompareOp) -> Rule:
    """Return the rule of np.argmax or np.argmin: the first of equals, the first NaN if any."""

    def rule(b: Builder, args: Arguments) -> Value:
        array, axis, out, keepdims = args.take("a", "axis out keepdims")
        value = forced(b, tensor(b, array, args.loc))
        if value.cost >= EXPENSIVE:
            value = stored(b, value)
        axes = None if is_none(axis) else (known_int(b, axis, "an axis", args.loc),)
        gone = normal_axes(axes, value.rank, args.loc)
        for d in gone:
            message = f"`{name}` of an empty array has no value"
            b.demand(at_least(value.shape[d], ONE), "PO0172", message, args.loc)
        result = _place_of_extreme(b, value, gone, order)
        if known_bool(keepdims, "keepdims", args.loc):
            result = with_unit_axes(result, gone)
        return with_out(b, as_value(result), out, args)

    return rule


def _place_of_extreme(b: Builder, value: Tensor, gone: Sequence[int], order: CompareOp) -> Tensor:
    """Return the least position of an element that equals the extreme, or is NaN as it is."""
    if value.merged is not None:
        return without(value, gone, lambda x, axes: _place_of_extreme(b, x, axes, order))
    name = "max" if order is CompareOp.GT else "min"
    best = stored(b, as_tensor(reduced(b, name, value, gone, False, b.loc)), "best")
    kept = [d for d in range(value.rank) if d not in gone]
    extents = tuple(value.shape[d] for d in gone)
    nowhere = integer(1 << 62)

    def term(outer: Index, inner: Index) -> Expr:
        element, held = value.at(_merge(kept, outer, gone, list(inner))), best.at(outer)
        same: Expr = Compare(CompareOp.EQ, element, held)
        if value.dtype.is_float:
            is_nan = call(MathFunc.ISNAN, element, dtype=DType.BOOL)
            same = Binary(BinaryOp.OR, same, is_nan, DType.BOOL)
        flat: Expr = integer(0)
        for extent, part in zip(extents, inner, strict=True):
            flat = plus(times(flat, b.extent(extent)), part)
        return Select(same, flat, nowhere, DType.INT64)

    fold = Fold(BinaryOp.MIN, DType.INT64, best.shape, extents, term, nowhere)
    return forced(b, folded(fold), "place")


def _merge(
    kept: Sequence[int], outer: Sequence[Expr], gone: Sequence[int], inner: Sequence[Expr]
) -> tuple[Expr, ...]:
    place = dict(zip((*kept, *gone), (*outer, *inner), strict=True))
    return tuple(place[d] for d in range(len(place)))


cumsum = running("np.cumsum", "sum")
cumprod = running("np.cumprod", "prod")
argmax = ordering("argmax", arg_extreme("np.argmax", CompareOp.GT))
argmin = ordering("argmin", arg_extreme("np.argmin", CompareOp.LT))
