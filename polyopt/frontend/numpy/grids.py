"""Evenly spaced numbers and the subscripts of grids: arange, linspace, meshgrid, mgrid, indices.

In: arguments of the call.  Out: lazy arrays made from subscripts.
Refuses: bounds that are not integers and not known while compiling, for arange (PO0137).
"""

from __future__ import annotations

import math

import numpy as np

from polyopt.dataclass import dataclass
from polyopt.errors import Loc
from polyopt.frontend.arithmetic.operators import operand
from polyopt.frontend.integers.affine_integers import (
    ONE,
    compare,
    constant,
    floordiv,
    maximum,
    minus,
    plus,
    select,
    times,
)
from polyopt.frontend.numpy.call_arguments import (
    Arguments,
    dtype,
    extents,
    is_none,
    known_bool,
    known_int,
    number,
    size,
    tensor,
)
from polyopt.frontend.numpy.creation import in_type
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.memory import cheap_number, forced
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.promote import call, cast, common_dtype
from polyopt.frontend.values.values import Index, Known, Number, Sequence, Tensor, Value
from polyopt.ir.expr import Binary, BinaryOp, CompareOp, Const, Expr, MathFunc, Select, integer
from polyopt.ir.types import DType

F64 = DType.FLOAT64


def arange(b: Builder, args: Arguments) -> Value:
    """np.arange over integers, or over real numbers known while compiling"""
    first, stop, step, kind, *_ = args.take("start", "stop step dtype device like")
    found = dtype(kind, args.loc)
    if is_none(stop):
        first, stop = Known(0), first
    known = [_known_number(value) for value in (first, stop, step)]
    if any(isinstance(k, float) for k in known):
        return _real_range(b, first, stop, step, found, args.loc)
    return stepped(b, first, stop, step, found or _integer_kind(first, stop, step, args), args.loc)


def _integer_kind(first: Value, stop: Value, step: Value, args: Arguments) -> DType:
    """NumPy's integers keep their type, Python's are int64."""
    kinds = [operand(value, args.loc) for value in (first, stop, step) if not is_none(value)]
    found = common_dtype(tuple((k.dtype, k.weak) for k in kinds), args.loc)
    return found if found.is_integer else DType.INT64


def _known_number(value: Value) -> object:
    match value:
        case Known(value=found):
            return float(found) if isinstance(found, np.floating) else found
        case Number(expr=Const(value=found)):
            return found
        case _:
            return None


def stepped(
    b: Builder, first: Value, stop: Value, step: Value, kind: DType, loc: Loc | None
) -> Tensor:
    """Return the integers of a range."""
    start = size(b, first, "np.arange's start", loc)
    by = 1 if is_none(step) else known_int(b, step, "np.arange's step", loc)
    if by == 0:
        refuse("PO0147", "np.arange with step zero", loc)
    end = size(b, stop, "np.arange's stop", loc)
    distance = minus(end, start) if by > 0 else minus(start, end)
    extent = floordiv(plus(distance, abs(by) - 1), integer(abs(by)))
    return Tensor((extent,), kind, lambda i: cast(plus(start, times(i[0], by)), kind))


def _real_range(
    b: Builder, first: Value, stop: Value, step: Value, kind: DType | None, loc: Loc | None
) -> Tensor:
    bounds = [_known_number(value) for value in (first, stop, Known(1) if is_none(step) else step)]
    if not all(isinstance(n, int | float) for n in bounds):
        hint = "use np.linspace, or np.arange of integers times the step"
        refuse("PO0137", "np.arange over real numbers that are not all known", loc, hint)
    start, end, by = (float(n) for n in bounds)  # type: ignore[arg-type]
    if by == 0:
        refuse("PO0147", "np.arange with step zero", loc)
    count = max(math.ceil((end - start) / by), 0)
    gap = (start + by) - start
    found = kind or F64

    def at(index: Index) -> Expr:
        moved = Binary(BinaryOp.MUL, cast(index[0], F64), Const(gap, F64), F64)
        return cast(Binary(BinaryOp.ADD, moved, Const(start, F64), F64), found)

    return Tensor((integer(count),), found, at, cost=2)


def linspace(b: Builder, args: Arguments) -> Value:
    """np.linspace between numbers"""
    first, last, count, end, step_too, kind, axis, *_ = args.take(
        "start stop", "num endpoint retstep dtype axis device"
    )
    if not is_none(axis) and known_int(b, axis, "axis", args.loc) not in (0, -1):
        refuse("PO0151", "np.linspace with another axis", args.loc)
    start, stop = (_real(b, value, args.loc) for value in (first, last))
    extent = integer(50) if is_none(count) else extents(b, count, args.loc)[0]
    has_end = is_none(end) or known_bool(end, "endpoint", args.loc)
    found = dtype(kind, args.loc) or F64
    parts = plus(extent, -1) if has_end else extent
    gaps = cast(maximum(parts, ONE), F64)
    gap = Binary(BinaryOp.DIV, Binary(BinaryOp.SUB, stop, start, F64), gaps, F64)
    step = cheap_number(b, Number(gap, True)).expr

    def at(index: Index) -> Expr:
        """The last element is `stop` itself."""
        steps = Binary(BinaryOp.MUL, cast(index[0], F64), step, F64)
        value: Expr = Binary(BinaryOp.ADD, steps, start, F64)
        if has_end:
            is_last = compare(CompareOp.EQ, index[0], plus(extent, -1))
            only = compare(CompareOp.EQ, extent, ONE)
            value = Select(is_last, select(only, start, stop), value, F64)
        if found.is_integer:
            value = call(MathFunc.FLOOR, value)
        return cast(value, found)

    result = Tensor((extent,), found, at, cost=6)
    if known_bool(step_too, "retstep", args.loc):
        return Sequence((result, Number(step, False)))
    return result


def _real(b: Builder, value: Value, loc: Loc | None) -> Expr:
    found = cheap_number(b, number(b, value, "a bound of np.linspace", loc))
    return cast(found.expr, F64, loc)


# -- grids ------------------------------------------------------------------------------------


def meshgrid(b: Builder, args: Arguments) -> Value:
    """np.meshgrid"""
    options = {"indexing", "sparse", "copy"}
    unknown = set(args.keywords) - options
    if unknown:
        refuse("PO0151", f"np.meshgrid with `{min(unknown)}=`", args.loc)
    given = args.keywords.get("indexing", Known("xy"))
    order = given.value if isinstance(given, Known) else None
    if order not in ("xy", "ij"):
        refuse("PO0151", "np.meshgrid with this indexing", args.loc, 'use "xy" or "ij"')
    sparse = known_bool(args.keywords.get("sparse", Known(False)), "sparse", args.loc)
    parts = [forced(b, tensor(b, value, args.loc)) for value in args.values]
    if any(part.rank > 1 for part in parts):
        refuse("PO0151", "np.meshgrid of arrays that are no vectors", args.loc)
    places = list(range(len(parts)))
    if order == "xy" and len(parts) > 1:
        places[:2] = [1, 0]
    return Sequence(tuple(spread(parts, places, sparse)))


def spread(parts: list[Tensor], places: list[int], sparse: bool) -> list[Tensor]:
    """Return vectors as arrays over a grid, vector `k` along dimension `places[k]`."""
    extent_at = {
        place: part.shape[0] if part.rank else ONE
        for part, place in zip(parts, places, strict=True)
    }
    whole = tuple(extent_at[d] for d in range(len(parts)))
    return [_along(part, place, whole, sparse) for part, place in zip(parts, places, strict=True)]


def _along(part: Tensor, place: int, whole: Index, sparse: bool) -> Tensor:
    shape = tuple(e if d == place or not sparse else ONE for d, e in enumerate(whole))

    def at(index: Index) -> Expr:
        return part.at((index[place],) if part.rank else ())

    return Tensor(shape, part.dtype, at, cost=part.cost)


def stacked(parts: list[Tensor]) -> Tensor:
    """Return arrays of one shape as one array; its first subscript chooses among them."""
    first = parts[0]

    def at(index: Index) -> Expr:
        known = constant(index[0])
        if known is not None:
            return parts[known].at(index[1:])
        value = parts[-1].at(index[1:])
        for place in reversed(range(len(parts) - 1)):
            here = compare(CompareOp.EQ, index[0], integer(place))
            value = select(here, parts[place].at(index[1:]), value)
        return value

    return Tensor((integer(len(parts)), *first.shape), first.dtype, at, cost=2 * len(parts))


def indices(b: Builder, args: Arguments) -> Value:
    """np.indices"""
    dimensions, kind, sparse = args.take("dimensions", "dtype sparse")
    found = dtype(kind, args.loc) or DType.INT64
    shape = extents(b, dimensions, args.loc)
    vectors = [Tensor((e,), found, lambda i: cast(i[0], found)) for e in shape]
    thin = known_bool(sparse, "sparse", args.loc)
    parts = spread(vectors, list(range(len(vectors))), thin)
    if thin:
        return Sequence(tuple(parts))
    if not parts:
        refuse("PO0151", "np.indices of no dimensions", args.loc)
    return stacked(parts)


@dataclass(frozen=True, slots=True)
class GridPart:
    """`start:stop:step` between the brackets of np.mgrid and np.ogrid."""

    start: Value
    stop: Value
    step: Value


def grid(b: Builder, parts: list[GridPart], sparse: bool, loc: Loc | None) -> Value:
    """Return `np.mgrid[...]`, or `np.ogrid[...]` with `sparse`."""
    vectors = [_grid_vector(b, part, loc) for part in parts]
    kind = common_dtype(tuple((v.dtype, False) for v in vectors), loc)
    vectors = [in_type(v, kind, loc) for v in vectors]
    if len(vectors) == 1:
        return vectors[0]
    spread_out = spread(vectors, list(range(len(vectors))), sparse)
    return Sequence(tuple(spread_out)) if sparse else stacked(spread_out)


def _grid_vector(b: Builder, part: GridPart, loc: Loc | None) -> Tensor:
    start = Known(0) if is_none(part.start) else part.start
    step = _known_number(part.step)
    if isinstance(step, complex):
        args = Arguments("np.mgrid", (start, part.stop, Known(int(abs(step)))), {}, loc)
        found = linspace(b, args)
    else:
        found = arange(b, Arguments("np.mgrid", (start, part.stop, part.step), {}, loc))
    assert isinstance(found, Tensor)
    return found
