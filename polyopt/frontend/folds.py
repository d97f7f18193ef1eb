"""Reductions over axes: sum, prod, min, max, any, all, mean, var, std.

In: an array and which axes go away.  Out: a `Fold`, or an elementwise expression over folds.
Refuses: axes outside the array (PO0153).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from polyopt.errors import Loc
from polyopt.frontend.builder import Builder
from polyopt.frontend.codes import refuse
from polyopt.frontend.elementwise import apply, combine
from polyopt.frontend.integers import ONE, ZERO, at_least, maximum, minus, times
from polyopt.frontend.memory import EXPENSIVE, forced, stored
from polyopt.frontend.products import folded
from polyopt.frontend.promote import cast, real_dtype
from polyopt.frontend.ufuncs import UFUNCS
from polyopt.frontend.values import Fold, Index, Number, Operandish, Tensor, as_value, remapped
from polyopt.ir.expr import BinaryOp, Const, Expr, integer
from polyopt.ir.types import DType, Kind


@dataclass(frozen=True, slots=True)
class Reducer:
    """`op` over elements; `identity` None for minimum and maximum."""

    op: BinaryOp
    identity: int | None


REDUCERS = {
    "sum": Reducer(BinaryOp.ADD, 0),
    "prod": Reducer(BinaryOp.MUL, 1),
    "max": Reducer(BinaryOp.MAX, None),
    "min": Reducer(BinaryOp.MIN, None),
    "any": Reducer(BinaryOp.OR, 0),
    "all": Reducer(BinaryOp.AND, 1),
}


def normal_axes(axes: Sequence[int] | None, rank: int, loc: Loc | None) -> tuple[int, ...]:
    """Return the axes counted from the front, ascending; None means all."""
    if axes is None:
        return tuple(range(rank))
    found: set[int] = set()
    for axis in axes:
        if not -rank <= axis < rank:
            refuse("PO0153", f"axis {axis} of an array with {rank} dimensions", loc)
        found.add(axis % rank)
    if len(found) != len(axes):
        refuse("PO0153", f"an axis is named twice in {tuple(axes)}", loc)
    return tuple(sorted(found))


def summation_dtype(name: str, dtype: DType) -> DType:
    """Return the dtype NumPy accumulates in: small integers are summed as 64-bit ones."""
    if name in ("any", "all"):
        return DType.BOOL
    if name in ("max", "min"):
        return dtype
    match dtype.kind:
        case Kind.BOOL | Kind.SIGNED:
            return DType.INT64
        case Kind.UNSIGNED:
            return DType.UINT64
        case Kind.FLOAT | Kind.COMPLEX:
            return dtype


def reduced(
    b: Builder,
    name: str,
    value: Tensor,
    axes: Sequence[int] | None,
    keepdims: bool,
    loc: Loc | None,
    dtype: DType | None = None,
) -> Operandish:
    """Return the reduction `name` of `value` over `axes`."""
    value = forced(b, value)
    gone = normal_axes(axes, value.rank, loc)
    reducer = REDUCERS[name]
    kind = dtype or summation_dtype(name, value.dtype)
    op = _on_bool(reducer.op) if kind is DType.BOOL else reducer.op
    extents = tuple(value.shape[axis] for axis in gone)
    kept = tuple(axis for axis in range(value.rank) if axis not in gone)
    shape = tuple(value.shape[axis] for axis in kept)
    if reducer.identity is None:
        _require_nonempty(b, name, extents, loc)
        if value.dtype.is_complex:
            refuse("PO0146", f"`{name}` of complex numbers", loc, "reduce `np.abs(x)` instead")
    if not gone:
        return as_value(Tensor(shape, kind, lambda i: cast(value.at(i), kind), cost=value.cost))

    def term(index: Index, inner: Index) -> Expr:
        place = dict(zip((*kept, *gone), (*index, *inner), strict=True))
        return cast(value.at(tuple(place[axis] for axis in range(value.rank))), kind, loc)

    identity: Const | None = None
    if reducer.identity is not None:
        start = cast(Const(reducer.identity, DType.INT64), kind)
        assert isinstance(start, Const)
        identity = start
    result = folded(Fold(op, kind, shape, extents, term, identity))
    if keepdims:
        return with_unit_axes(forced(b, result), gone)
    return result


def _on_bool(op: BinaryOp) -> BinaryOp:
    logical = {BinaryOp.MAX: BinaryOp.OR, BinaryOp.MIN: BinaryOp.AND}
    return logical.get(op, op)


def _require_nonempty(b: Builder, name: str, extents: Index, loc: Loc | None) -> None:
    for extent in extents:
        message = f"`{name}` of an empty array has no value"
        hint = "NumPy refuses it too: pass a non-empty array"
        b.demand(at_least(extent, ONE), "PO0172", message, loc, hint)


def with_unit_axes(tensor: Tensor, axes: Sequence[int]) -> Tensor:
    """Return `tensor` with dimensions of extent one at the positions `axes` of the result."""
    rank = tensor.rank + len(axes)
    kept = [d for d in range(rank) if d not in axes]
    extents = dict(zip(kept, tensor.shape, strict=True))
    shape = tuple(extents.get(d, ONE) for d in range(rank))
    return remapped(tensor, shape, lambda index: tuple(index[d] for d in kept))


def count_of(b: Builder, value: Tensor, axes: Sequence[int] | None, loc: Loc | None) -> Expr:
    """Return how many elements are reduced into one."""
    total: Expr = integer(1)
    for axis in normal_axes(axes, value.rank, loc):
        total = times(total, b.extent(value.shape[axis]))
    return total


def mean(
    b: Builder,
    value: Tensor,
    axes: Sequence[int] | None,
    keepdims: bool,
    loc: Loc | None,
    dtype: DType | None = None,
) -> Operandish:
    """Return the sum divided by the count, in float64 for integers."""
    kind = dtype or _mean_dtype(value.dtype)
    total = reduced(b, "sum", value, axes, keepdims, loc, kind)
    return _divided(b, total, count_of(b, value, axes, loc), loc)


def _mean_dtype(dtype: DType) -> DType:
    return dtype if dtype.is_float or dtype.is_complex else DType.FLOAT64


def _divided(b: Builder, total: Operandish, count: Expr, loc: Loc | None) -> Operandish:
    kind = total.dtype
    divisor = Number(cast(count, real_dtype(kind), loc), True)
    return combine(b, "mean", (total, divisor), (kind, kind), kind, UFUNCS["divide"].rule, loc)


def variance(
    b: Builder,
    value: Tensor,
    axes: Sequence[int] | None,
    keepdims: bool,
    ddof: int,
    loc: Loc | None,
) -> Operandish:
    """Return the mean squared distance from the mean, divided by the count less `ddof`."""
    value = forced(b, value)
    if value.cost >= EXPENSIVE:
        value = stored(b, value)
    centre = mean(b, value, axes, True, loc)
    if isinstance(centre, Tensor):
        centre = stored(b, centre, "mean")
    distance = apply(b, UFUNCS["subtract"], (value, centre), loc)
    assert isinstance(distance, Tensor)
    squared = _squared(b, distance, loc)
    total = reduced(b, "sum", squared, axes, keepdims, loc, squared.dtype)
    count = count_of(b, value, axes, loc)
    divisor = count if ddof == 0 else maximum(minus(count, ddof), ZERO)
    return _divided(b, total, divisor, loc)


def _squared(b: Builder, value: Tensor, loc: Loc | None) -> Tensor:
    if value.dtype.is_complex:
        refuse("PO0146", "the variance of complex numbers", loc, "treat both parts on their own")
    square = UFUNCS["square"].rule
    return replace(
        value,
        at=lambda index: square((value.at(index),), value.dtype),
        view=None,
        cost=2 * value.cost + 1,
    )
