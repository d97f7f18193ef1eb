"""Running sums and products, and the place of an extreme: statements along one axis.

In: arguments of cumsum, cumprod, argmax, argmin.  Out: new arrays.
Refuses: running sums over several axes at once (PO0151).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polyopt.frontend.arguments import Arguments, dtype, is_none, known_bool, known_int, tensor
from polyopt.frontend.builder import Builder
from polyopt.frontend.codes import refuse
from polyopt.frontend.domains import Loop
from polyopt.frontend.folds import REDUCERS, normal_axes, summation_dtype, with_unit_axes
from polyopt.frontend.integers import ONE, ZERO, at_least, plus, times
from polyopt.frontend.memory import EXPENSIVE, forced, stored
from polyopt.frontend.promote import call, cast
from polyopt.frontend.reductions import Rule, with_out
from polyopt.frontend.values import Index, Tensor, Value, as_value, view_of
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
    Unary,
    UnaryOp,
    integer,
)
from polyopt.ir.types import DType


def running(name: str, reducer: str) -> Rule:
    """Return the rule of np.cumsum or np.cumprod."""

    def rule(b: Builder, args: Arguments) -> Value:
        array, axis, kind, out = args.take("a", "axis dtype out")
        value = forced(b, tensor(b, array, args.loc))
        if value.rank == 0:
            value = with_unit_axes(value, (0,))
        if is_none(axis) and value.rank > 1:
            hint = "give the axis, or flatten with `.ravel()` first"
            refuse("PO0151", f"`{name}` over more than one dimension at once", args.loc, hint)
        along = 0 if is_none(axis) else known_int(b, axis, "an axis", args.loc)
        (along,) = normal_axes((along,), value.rank, args.loc)
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
    kept = [d for d in range(value.rank) if d not in gone]
    shape = tuple(value.shape[d] for d in kept)
    best = b.new_buffer("best", value.dtype, shape)
    where = b.new_buffer("place", DType.INT64, shape)
    loops, outer = b.fresh_loops(shape)
    start = _merge(kept, outer, gone, [ZERO] * len(gone))
    b.emit(loops, Load(best.name, outer, value.dtype), value.at(start))
    b.emit(loops, Load(where.name, outer, DType.INT64), ZERO)
    loops, index = b.fresh_loops((*shape, *(value.shape[d] for d in gone)))
    outer, inner = index[: len(shape)], index[len(shape) :]
    element = value.at(_merge(kept, outer, gone, list(inner)))
    held, place = Load(best.name, outer, value.dtype), Load(where.name, outer, DType.INT64)
    flat: Expr = integer(0)
    for d, part in zip(gone, inner, strict=True):
        flat = plus(times(flat, b.extent(value.shape[d])), part)
    better = _is_better(element, held, order)
    b.emit(loops, place, Select(better, flat, place, DType.INT64), slot=0)
    b.emit(loops, held, Select(better, element, held, value.dtype), slot=1)
    b.advance()
    view = view_of(where)
    return Tensor(shape, DType.INT64, view.at, view.view)


def _merge(
    kept: Sequence[int], outer: Sequence[Expr], gone: Sequence[int], inner: Sequence[Expr]
) -> tuple[Expr, ...]:
    place = dict(zip((*kept, *gone), (*outer, *inner), strict=True))
    return tuple(place[d] for d in range(len(place)))


def _is_better(element: Expr, held: Expr, order: CompareOp) -> Expr:
    better = Compare(order, element, held)
    if not element.dtype.is_float:
        return better
    is_nan = call(MathFunc.ISNAN, element, dtype=DType.BOOL)
    held_is_nan = call(MathFunc.ISNAN, held, dtype=DType.BOOL)
    first = Binary(BinaryOp.AND, is_nan, Unary(UnaryOp.INVERT, held_is_nan, DType.BOOL), DType.BOOL)
    return Binary(BinaryOp.OR, better, first, DType.BOOL)
