"""Arrays made from nothing: zeros, ones, full, empty, arange, eye, copies and conversions.

In: arguments of the NumPy call.  Out: lazy arrays; they get memory when they get a name.
"""

from __future__ import annotations

from polyopt.errors import Loc
from polyopt.frontend.arguments import (
    Arguments,
    dtype,
    extents,
    is_none,
    known_int,
    number,
    size,
    tensor,
)
from polyopt.frontend.builder import Builder
from polyopt.frontend.codes import refuse
from polyopt.frontend.integers import compare, floordiv, minus, plus, times
from polyopt.frontend.memory import cheap_number, forced, is_stable, store, stored_number
from polyopt.frontend.promote import cast
from polyopt.frontend.values import Index, Known, Number, Tensor, Value, cost_of
from polyopt.ir.expr import Binary, BinaryOp, CompareOp, Const, Expr, Select, integer
from polyopt.ir.types import DType


def filled(shape: Index, value: Expr) -> Tensor:
    """Return an array of equal elements."""
    return Tensor(shape, value.dtype, lambda _: value, cost=cost_of(value))


def _constant(value: int, kind: DType) -> Expr:
    return cast(Const(value, DType.INT64), kind)


def zeros(b: Builder, args: Arguments) -> Value:
    """np.zeros"""
    shape, kind = args.take("shape", "dtype")
    found = dtype(kind, args.loc) or DType.FLOAT64
    return filled(extents(b, shape, args.loc), _constant(0, found))


def ones(b: Builder, args: Arguments) -> Value:
    """np.ones"""
    shape, kind = args.take("shape", "dtype")
    found = dtype(kind, args.loc) or DType.FLOAT64
    return filled(extents(b, shape, args.loc), _constant(1, found))


def empty(b: Builder, args: Arguments) -> Value:
    """np.empty"""
    shape, kind = args.take("shape", "dtype")
    found = dtype(kind, args.loc) or DType.FLOAT64
    return undefined(extents(b, shape, args.loc), found)


def undefined(shape: Index, kind: DType) -> Tensor:
    """Return an array whose elements nobody has set."""
    zero = _constant(0, kind)
    return Tensor(shape, kind, lambda _: zero, undefined=True)


def full(b: Builder, args: Arguments) -> Value:
    """np.full"""
    shape, value, kind = args.take("shape fill_value", "dtype")
    return _full(b, extents(b, shape, args.loc), value, dtype(kind, args.loc), args.loc)


def _full(b: Builder, shape: Index, value: Value, kind: DType | None, loc: Loc | None) -> Tensor:
    fill = number(b, value, "fill_value", loc)
    if not is_stable(fill) and shape:
        fill = stored_number(b, fill, "fill")
    return filled(shape, cast(fill.expr, kind or fill.dtype, loc))


def zeros_like(b: Builder, args: Arguments) -> Value:
    """np.zeros_like"""
    shape, kind = _like(b, args)
    return filled(shape, _constant(0, kind))


def ones_like(b: Builder, args: Arguments) -> Value:
    """np.ones_like"""
    shape, kind = _like(b, args)
    return filled(shape, _constant(1, kind))


def empty_like(b: Builder, args: Arguments) -> Value:
    """np.empty_like"""
    shape, kind = _like(b, args)
    return undefined(shape, kind)


def _like(b: Builder, args: Arguments) -> tuple[Index, DType]:
    array, kind = args.take("a", "dtype")
    value = tensor(b, array, args.loc)
    return value.shape, dtype(kind, args.loc) or value.dtype


def full_like(b: Builder, args: Arguments) -> Value:
    """np.full_like"""
    array, fill, kind = args.take("a fill_value", "dtype")
    value = tensor(b, array, args.loc)
    return _full(b, value.shape, fill, dtype(kind, args.loc) or value.dtype, args.loc)


def copy(b: Builder, args: Arguments) -> Value:
    """np.copy, np.array and np.ascontiguousarray of an array"""
    (array,) = args.take("a")
    return copied(forced(b, tensor(b, array, args.loc)))


def copied(value: Tensor) -> Tensor:
    """Return the same elements, in memory of their own once they get a name."""
    return Tensor(value.shape, value.dtype, value.at, cost=value.cost)


def astype(b: Builder, args: Arguments) -> Value:
    """ndarray.astype"""
    array, kind, _ = args.take("a dtype", "copy")
    value, found = forced(b, tensor(b, array, args.loc)), dtype(kind, args.loc)
    assert found is not None
    if value.dtype.is_complex and not found.is_complex:
        refuse("PO0144", "complex values cannot become real ones", args.loc, "take `.real`")
    return Tensor(value.shape, found, lambda i: cast(value.at(i), found, args.loc), cost=value.cost)


def arange(b: Builder, args: Arguments) -> Value:
    """np.arange over integers"""
    first, stop, step, kind = args.take("start", "stop step dtype")
    start: Expr = integer(0)
    if is_none(stop):
        stop = first
    else:
        start = size(b, first, "np.arange's start", args.loc)
    by = 1 if is_none(step) else known_int(b, step, "np.arange's step", args.loc)
    if by == 0:
        refuse("PO0147", "np.arange with step zero", args.loc)
    end = size(b, stop, "np.arange's stop", args.loc)
    distance = minus(end, start) if by > 0 else minus(start, end)
    extent = floordiv(plus(distance, abs(by) - 1), integer(abs(by)))
    found = dtype(kind, args.loc) or DType.INT64
    return Tensor((extent,), found, lambda i: cast(plus(start, times(i[0], by)), found))


def linspace(b: Builder, args: Arguments) -> Value:
    """np.linspace"""
    first, last, count, kind = args.take("start stop", "num dtype")
    start = _float(b, first, args.loc)
    stop = _float(b, last, args.loc)
    extent = integer(50) if is_none(count) else extents(b, count, args.loc)[0]
    found = dtype(kind, args.loc) or DType.FLOAT64
    gaps = cast(plus(extent, -1), DType.FLOAT64)
    f64 = DType.FLOAT64
    step = Binary(BinaryOp.DIV, Binary(BinaryOp.SUB, stop, start, f64), gaps, f64)

    def at(index: Index) -> Expr:
        """The last element is `stop` itself."""
        steps = Binary(BinaryOp.MUL, cast(index[0], f64), step, f64)
        value = Binary(BinaryOp.ADD, steps, start, f64)
        is_last = compare(CompareOp.EQ, index[0], plus(extent, -1))
        only = compare(CompareOp.EQ, extent, integer(1))
        ends = Select(only, start, stop, f64)
        return cast(Select(is_last, ends, value, f64), found)

    return Tensor((extent,), found, at, cost=8)


def _float(b: Builder, value: Value, loc: Loc | None) -> Expr:
    found = cheap_number(b, number(b, value, "a bound of np.linspace", loc))
    return cast(found.expr, DType.FLOAT64, loc)


def eye(b: Builder, args: Arguments) -> Value:
    """np.eye and np.identity"""
    rows, columns, diagonal, kind = args.take("N", "M k dtype")
    height = extents(b, rows, args.loc)[0]
    width = height if is_none(columns) else extents(b, columns, args.loc)[0]
    shift = integer(0) if is_none(diagonal) else size(b, diagonal, "np.eye's k", args.loc)
    found = dtype(kind, args.loc) or DType.FLOAT64
    zero, one = _constant(0, found), _constant(1, found)

    def at(index: Index) -> Expr:
        on_it = compare(CompareOp.EQ, index[1], plus(index[0], shift))
        return Select(on_it, one, zero, found)

    return Tensor((height, width), found, at, cost=2)


def identity(b: Builder, args: Arguments) -> Value:
    """np.identity"""
    rows, kind = args.take("n", "dtype")
    return eye(b, Arguments(args.name, (rows,), {"dtype": kind}, args.loc))


def fill(b: Builder, args: Arguments) -> Value:
    """ndarray.fill"""
    array, value = args.take("a value")
    target = tensor(b, array, args.loc)
    fill_value = number(b, value, "the fill value", args.loc)
    store(b, target, filled(target.shape, cast(fill_value.expr, target.dtype, args.loc)), args.loc)
    return Known(None)


def item(b: Builder, args: Arguments) -> Value:
    """ndarray.item of a single element: a Python number"""
    (array,) = args.take("a")
    return Number(number(b, array, "the array", args.loc).expr, True)


def flatten(b: Builder, args: Arguments) -> Value:
    """ndarray.flatten of a vector"""
    (array,) = args.take("a")
    value = forced(b, tensor(b, array, args.loc))
    if value.rank != 1:
        hint = "keep the dimensions, or loop over them"
        refuse("PO0150", "flattening an array with more than one dimension", args.loc, hint)
    return copied(value)
