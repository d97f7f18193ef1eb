"""Reductions over axes: sum, prod, min, max, any, all, mean, var, std.

In: an array and which axes go away.  Out: a `Fold`, or an elementwise expression over folds.
Refuses: axes outside the array (PO0153).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from polyopt import frontend
from polyopt.dataclass import dataclass, replace
from polyopt.errors import Loc
from polyopt.frontend.arithmetic.elementwise import apply, combine
from polyopt.frontend.integers.affine_integers import (
    ONE,
    ZERO,
    at_least,
    maximum,
    minus,
    select,
    times,
)
from polyopt.frontend.numpy.call_arguments import is_none, known_int
from polyopt.frontend.numpy.complexes import imag, real
from polyopt.frontend.numpy.products import accumulator_dtype, folded, rounded
from polyopt.frontend.numpy.ufuncs import UFUNCS
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.memory import EXPENSIVE, cheap, forced, stored, stored_number
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.merged_dimensions import picked, without
from polyopt.frontend.values.promote import binary, cast, convert_constant, real_dtype
from polyopt.frontend.values.shapes import broadcast, stretched
from polyopt.frontend.values.values import (
    Fold,
    Index,
    Number,
    Operandish,
    Tensor,
    Value,
    as_tensor,
    as_value,
)
from polyopt.ir.expr import Binary, BinaryOp, Compare, CompareOp, Const, Expr, Load, integer
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
    "bitwise_and": Reducer(BinaryOp.AND, -1),
    "bitwise_or": Reducer(BinaryOp.OR, 0),
    "bitwise_xor": Reducer(BinaryOp.XOR, 0),
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


def one_axis(
    b: Builder, axis: Value, rank: int, loc: Loc | None, default: int | None = None
) -> int:
    """Return an `axis` argument counted from the front; `default` is what it is if not given."""
    if default is None or not is_none(axis):
        default = known_int(b, axis, "an axis", loc)
    return normal_axes((default,), rank, loc)[0]


def at_least_vector(value: Tensor) -> Tensor:
    """Return a number as a vector of one element, arrays as they are."""
    return with_unit_axes(value, (0,)) if value.rank == 0 else value


def summation_dtype(name: str, dtype: DType) -> DType:
    """Return the dtype NumPy accumulates in: small integers are summed as 64-bit ones."""
    if name in ("any", "all"):
        return DType.BOOL
    if name not in ("sum", "prod"):
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
    *,
    initial: Operandish | None = None,
    where: Tensor | None = None,
    narrow: DType | None = None,
) -> Operandish:
    """Return the reduction `name` of `value` over `axes`, of the elements where `where` holds.

    `narrow` is the type that NumPy may round partial results to.
    """
    value = forced(b, value)
    gone = normal_axes(axes, value.rank, loc)
    reducer = REDUCERS[name]
    kind = dtype or summation_dtype(name, value.dtype)
    if reducer.identity is None and value.dtype.is_complex:
        refuse("PO0146", f"`{name}` of complex numbers", loc, "reduce `np.abs(x)` instead")
    identity = _identity(reducer, kind, starts=initial is not None or where is not None)
    if where is not None:
        assert identity is not None
        if where.rank > value.rank:
            refuse("PO0140", f"`where=` of `{name}` has more dimensions than the array", loc)
        value = chosen_where(b, value, where, identity, loc)
    if value.merged is not None and initial is None and where is None:
        return _over_merged(b, name, value, gone, keepdims, loc, dtype)
    op = _on_bool(reducer.op) if kind is DType.BOOL else reducer.op
    extents = tuple(value.shape[axis] for axis in gone)
    kept = tuple(axis for axis in range(value.rank) if axis not in gone)
    shape = tuple(value.shape[axis] for axis in kept)
    if identity is None:
        _require_nonempty(b, name, extents, loc)

    def term(index: Index, inner: Index) -> Expr:
        place = dict(zip((*kept, *gone), (*index, *inner), strict=True))
        return cast(value.at(tuple(place[axis] for axis in range(value.rank))), kind, loc)

    result: Tensor
    if gone:
        result = _rounded_once(b, Fold(op, kind, shape, extents, term, identity, narrow), loc)
    else:
        result = Tensor(shape, kind, lambda i: cast(value.at(i), kind), cost=value.cost)
    if initial is not None:
        return _started(b, op, result, initial, keepdims, gone, loc)
    if keepdims:
        return with_unit_axes(forced(b, result), gone)
    return result if gone else as_value(result)


def _rounded_once(b: Builder, fold: Fold, loc: Loc | None) -> Tensor:
    """Return a reduction; sums and products of halves are made in float32."""
    kind, start = fold.dtype, fold.identity
    if not kind.is_half or fold.op not in (BinaryOp.ADD, BinaryOp.MUL):
        return folded(fold)
    wide = accumulator_dtype(kind)
    assert start is not None
    start = convert_constant(start, wide, loc)

    def term(index: Index, inner: Index) -> Expr:
        return cast(fold.term(index, inner), wide)

    total = replace(fold, dtype=wide, term=term, identity=start, narrow=kind)
    return rounded(b, folded(total), kind, loc)


def _over_merged(
    b: Builder,
    name: str,
    value: Tensor,
    gone: Sequence[int],
    keepdims: bool,
    loc: Loc | None,
    dtype: DType | None,
) -> Operandish:
    """Return the reduction of an array with merged dimensions, made over the array behind it."""

    def inner(source: Tensor, axes: Sequence[int]) -> Tensor:
        return forced(b, as_tensor(reduced(b, name, source, axes, False, loc, dtype)))

    result = without(value, gone, inner)
    return with_unit_axes(result, gone) if keepdims else as_value(result)


def _identity(reducer: Reducer, kind: DType, *, starts: bool) -> Const | None:
    """Return the value that changes nothing; maximum and minimum have one if something follows."""
    if reducer.identity is not None:
        if reducer.identity == -1 and kind.kind is Kind.UNSIGNED:
            return Const(int(np.iinfo(kind.value).max), kind)
        found = cast(Const(reducer.identity, DType.INT64), kind)
        assert isinstance(found, Const)
        return found
    if not starts:
        return None
    is_max = reducer.op is BinaryOp.MAX
    if kind is DType.BOOL:
        return Const(not is_max, kind)
    if kind.is_float:
        return Const(-math.inf if is_max else math.inf, kind)
    info = np.iinfo(kind.value)
    return Const(int(info.min if is_max else info.max), kind)


def _started(
    b: Builder,
    op: BinaryOp,
    result: Tensor,
    initial: Operandish,
    keepdims: bool,
    gone: Sequence[int],
    loc: Loc | None,
) -> Operandish:
    """Combine the reduction with the value given as `initial=`."""
    kind = result.dtype
    plain = with_unit_axes(forced(b, result), gone) if keepdims else forced(b, result)

    def rule(parts: tuple[Expr, ...], out: DType) -> Expr:
        return Binary(op, parts[1], parts[0], out)

    return combine(b, "initial", (as_value(plain), initial), (kind, kind), kind, rule, loc)


def chosen_where(
    b: Builder, value: Tensor, where: Tensor, otherwise: Const, loc: Loc | None
) -> Tensor:
    """Return `value` with `otherwise` where `where` does not hold."""
    kind = otherwise.dtype
    kinds = (DType.BOOL, kind, kind)
    parts = (where, value, Number(otherwise, False))
    found = combine(b, "where", parts, kinds, kind, lambda p, _: select(*p), loc)
    return as_tensor(found)


def _on_bool(op: BinaryOp) -> BinaryOp:
    logical = {BinaryOp.MAX: BinaryOp.OR, BinaryOp.MIN: BinaryOp.AND}
    return logical.get(op, op)


def _require_nonempty(b: Builder, name: str, extents: Index, loc: Loc | None) -> None:
    for extent in extents:
        message = f"`{name}` of an empty array has no value"
        hint = "NumPy refuses it too: pass a non-empty array"
        b.demand(at_least(extent, ONE), "PO0172", message, loc, hint)


def ordered_extreme(b: Builder, name: str, items: Tensor, loc: Loc | None) -> Operandish:
    """Return `min` or `max` of a vector as Python finds it, comparing one item after another.

    The first of equal ones counts (-0.0 and 0.0), a NaN only where it is the first item.
    """
    if not (items.dtype.is_float or items.dtype.is_half):
        return reduced(b, name, items, None, False, loc)
    items = cheap(b, forced(b, items))
    _require_nonempty(b, name, items.shape, loc)
    held = stored_number(b, Number(items.at((ZERO,)), False), name)
    loops, index = b.fresh_loops(items.shape, 1)
    order = CompareOp.LT if name == "min" else CompareOp.GT
    assert isinstance(held.expr, Load)
    element = items.at(index)
    b.emit(loops, held.expr, select(Compare(order, element, held.expr), element, held.expr))
    return held


def with_unit_axes(tensor: Tensor, axes: Sequence[int]) -> Tensor:
    """Return `tensor` with dimensions of extent one at the positions `axes` of the result."""
    rank = tensor.rank + len(axes)
    kept = iter(range(tensor.rank))
    return picked(tensor, [-1 if d in axes else next(kept) for d in range(rank)])


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
    where: Tensor | None = None,
) -> Operandish:
    """Return the sum divided by the count, in float64 for integers."""
    value = forced(b, value)
    kind = dtype or mean_dtype(value.dtype)
    wide = accumulator_dtype(kind)
    narrow = kind if kind is DType.BFLOAT16 else None
    total = _total(b, value, axes, keepdims, loc, wide, where, narrow)
    count = counted(b, value, axes, keepdims, where, loc)
    result = _divided(b, total, count, loc)
    if wide is kind:
        return result
    return combine(b, "mean", (result,), (wide,), kind, lambda p, out: cast(p[0], out), loc)


def _total(
    b: Builder,
    value: Tensor,
    axes: Sequence[int] | None,
    keepdims: bool,
    loc: Loc | None,
    kind: DType,
    where: Tensor | None,
    narrow: DType | None = None,
) -> Operandish:
    """Return the sum behind a mean, which another mean of the same elements may have made."""

    def make() -> Tensor:
        found = reduced(b, "sum", value, axes, False, loc, kind, where=where, narrow=narrow)
        return forced(b, as_tensor(found))

    sums = frontend.program.shared_sums.total(b, make)
    if not keepdims:
        return as_value(sums)
    return with_unit_axes(sums, normal_axes(axes, value.rank, loc))


def mean_dtype(dtype: DType) -> DType:
    """Return the dtype of a mean: integers have real ones."""
    return dtype if dtype.is_float or dtype.is_complex else DType.FLOAT64


def counted(
    b: Builder,
    value: Tensor,
    axes: Sequence[int] | None,
    keepdims: bool,
    where: Tensor | None,
    loc: Loc | None,
) -> Operandish:
    """Return how many elements are reduced into one: a number, or an array with `where`."""
    if where is None:
        return Number(count_of(b, value, axes, loc), True)
    broadcast(b, (value.shape, where.shape), "where", loc)
    flags = stretched(where, value.shape)
    return reduced(b, "sum", flags, axes, keepdims, loc, DType.INT64)


def _divided(b: Builder, total: Operandish, count: Operandish, loc: Loc | None) -> Operandish:
    kind = total.dtype

    def rule(parts: tuple[Expr, ...], out: DType) -> Expr:
        """The count is a real number also where the sum is complex."""
        return UFUNCS["divide"].rule((parts[0], cast(parts[1], out)), out)

    inputs = (kind, real_dtype(kind))
    return combine(b, "mean", (total, count), inputs, kind, rule, loc)


def variance(
    b: Builder,
    value: Tensor,
    axes: Sequence[int] | None,
    keepdims: bool,
    ddof: int,
    loc: Loc | None,
    dtype: DType | None = None,
    where: Tensor | None = None,
    centre: Operandish | None = None,
) -> Operandish:
    """Return the mean squared distance from the mean, divided by the count less `ddof`."""
    value = forced(b, value)
    if value.cost >= EXPENSIVE:
        value = stored(b, value)
    if centre is None:
        kind = dtype or mean_dtype(value.dtype)
        total = _total(b, value, axes, True, loc, kind, where)
        centre = _divided(b, total, counted(b, value, axes, True, where, loc), loc)
    if isinstance(centre, Tensor) and centre.view is None:
        centre = stored(b, centre, "mean")
    distance = apply(b, UFUNCS["subtract"], (value, centre), loc)
    squared = _squared(b, as_tensor(distance))
    kind = real_dtype(dtype or squared.dtype)
    total = reduced(b, "sum", squared, axes, keepdims, loc, kind, where=where)
    count = counted(b, value, axes, keepdims, where, loc)
    if ddof:
        count = _less(b, count, ddof, loc)
    return _divided(b, total, count, loc)


def _less(b: Builder, count: Operandish, ddof: int, loc: Loc | None) -> Operandish:
    if isinstance(count, Number):
        return Number(maximum(minus(count.expr, ddof), ZERO), True)
    fewer = apply(b, UFUNCS["subtract"], (count, Number(integer(ddof), True)), loc)
    return apply(b, UFUNCS["maximum"], (fewer, Number(ZERO, True)), loc)


def _squared(b: Builder, value: Tensor) -> Tensor:
    """Return the squared magnitudes; an expensive element would be computed twice."""
    value = cheap(b, value)
    kind = real_dtype(value.dtype)
    square = UFUNCS["square"].rule

    def at(index: Index) -> Expr:
        element = value.at(index)
        if not value.dtype.is_complex:
            return square((element,), kind)
        parts = (square((part,), kind) for part in (real(element), imag(element)))
        return binary(BinaryOp.ADD, *parts)

    return Tensor(value.shape, kind, at, cost=2 * value.cost + 1)
