"""Arrays made from nothing: zeros, ones, full, empty, eye, copies and conversions.

In: arguments of the NumPy call.  Out: lazy arrays; they get memory when they get a name.
"""

from __future__ import annotations

from polyopt.dataclass import replace
from polyopt.errors import Loc
from polyopt.frontend.arithmetic.narrowing import demand_fit, demand_stored
from polyopt.frontend.integers.affine_integers import compare, plus
from polyopt.frontend.numpy.call_arguments import (
    Arguments,
    dtype,
    extents,
    is_none,
    number,
    size,
    tensor,
)
from polyopt.frontend.numpy.complexes import real
from polyopt.frontend.numpy.table_rules import Rule
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.memory import forced, is_stable, store, stored_number
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.merged_dimensions import like
from polyopt.frontend.values.promote import cast, is_castable, real_dtype, wrapped
from polyopt.frontend.values.values import Index, Known, Number, Tensor, Value, as_value, cost_of
from polyopt.ir.expr import CompareOp, Const, Expr, Select, integer
from polyopt.ir.types import DType


def filled(shape: Index, value: Expr) -> Tensor:
    """Return an array of equal elements."""
    return Tensor(shape, value.dtype, lambda _: value, cost=cost_of(value))


def _constant(value: int, kind: DType) -> Expr:
    return cast(Const(value, DType.INT64), kind)


_OPTIONS = "dtype order device like"


def _constants(value: int) -> Rule:
    """Return the rule of np.zeros or np.ones."""

    def rule(b: Builder, args: Arguments) -> Value:
        shape, kind, *_ = args.take("shape", _OPTIONS)
        found = dtype(kind, args.loc) or DType.FLOAT64
        return filled(extents(b, shape, args.loc), _constant(value, found))

    return rule


zeros = _constants(0)
ones = _constants(1)


def empty(b: Builder, args: Arguments) -> Value:
    """np.empty"""
    shape, kind, *_ = args.take("shape", _OPTIONS)
    found = dtype(kind, args.loc) or DType.FLOAT64
    return undefined(extents(b, shape, args.loc), found)


def ndarray(b: Builder, args: Arguments) -> Value:
    """np.ndarray with a shape, as np.empty"""
    shape, kind, buffer, offset, strides, order = args.take(
        "shape", "dtype buffer offset strides order"
    )
    for name, value in (("buffer", buffer), ("offset", offset), ("strides", strides)):
        if not is_none(value):
            refuse("PO0151", f"np.ndarray with `{name}=`", args.loc, "use slices of an array")
    return empty(b, Arguments(args.name, (shape,), {"dtype": kind, "order": order}, args.loc))


def undefined(shape: Index, kind: DType) -> Tensor:
    """Return an array whose elements nobody has set."""
    zero = _constant(0, kind)
    return Tensor(shape, kind, lambda _: zero, undefined=True)


def full(b: Builder, args: Arguments) -> Value:
    """np.full"""
    shape, value, kind, *_ = args.take("shape fill_value", _OPTIONS)
    return _full(b, extents(b, shape, args.loc), value, dtype(kind, args.loc), args.loc)


def _full(b: Builder, shape: Index, value: Value, kind: DType | None, loc: Loc | None) -> Tensor:
    fill = number(b, value, "fill_value", loc)
    if not is_stable(fill) and shape:
        fill = stored_number(b, fill, "fill")
    demand_fit(b, fill, kind or fill.dtype, loc)
    return filled(shape, cast(fill.expr, kind or fill.dtype, loc))


_LIKE = "dtype order subok shape device"


def _constants_like(value: int) -> Rule:
    """Return the rule of np.zeros_like or np.ones_like."""

    def rule(b: Builder, args: Arguments) -> Value:
        array, kind, _, _, shape, _ = args.take("a", _LIKE)
        extents_, found = _shape_like(b, array, kind, shape, args)
        return filled(extents_, _constant(value, found))

    return rule


zeros_like = _constants_like(0)
ones_like = _constants_like(1)


def empty_like(b: Builder, args: Arguments) -> Value:
    """np.empty_like"""
    array, kind, _, _, shape, _ = args.take("a", _LIKE)
    return undefined(*_shape_like(b, array, kind, shape, args))


def _shape_like(
    b: Builder, array: Value, kind: Value, shape: Value, args: Arguments
) -> tuple[Index, DType]:
    value = tensor(b, array, args.loc)
    found = dtype(kind, args.loc) or value.dtype
    return value.shape if is_none(shape) else extents(b, shape, args.loc), found


def full_like(b: Builder, args: Arguments) -> Value:
    """np.full_like"""
    array, fill, kind, _, _, given, _ = args.take("a fill_value", _LIKE)
    shape, found = _shape_like(b, array, kind, given, args)
    return _full(b, shape, fill, found, args.loc)


def copy(b: Builder, args: Arguments) -> Value:
    """np.copy and ndarray.copy"""
    array, *_ = args.take("a", "order subok")
    return copied(forced(b, tensor(b, array, args.loc)))


def copy_in_order(b: Builder, args: Arguments) -> Value:
    """ndarray.copy, whose elements are in C order; np.copy leaves them in that of memory"""
    _, order, *_ = args.take("a", "order subok")
    found = copy(b, args)
    is_default = is_none(order) or (isinstance(order, Known) and order.value == "C")
    return replace(found, in_order=is_default) if isinstance(found, Tensor) else found


def copied(value: Tensor) -> Tensor:
    """Return the same elements, in memory of their own once they get a name."""
    return like(value, lambda x: Tensor(x.shape, x.dtype, x.at, cost=x.cost))


def astype(b: Builder, args: Arguments) -> Value:
    """ndarray.astype"""
    array, kind, _, casting, *_ = args.take("a dtype", "order casting subok copy device")
    value, found = forced(b, tensor(b, array, args.loc)), dtype(kind, args.loc)
    if found is None:
        found = DType.FLOAT64
    rule = casting.value if isinstance(casting, Known) and casting.value else "unsafe"
    if not is_castable(value.dtype, found, str(rule)):
        refuse("PO0144", f"{value.dtype} does not become {found} with casting {rule!r}", args.loc)
    if value.dtype.is_complex and not (found.is_complex or found is DType.BOOL):
        value = like(value, _real)
    result = converted(value, found, args.loc, wraps=True)
    return as_value(result) if isinstance(array, Number) else result


def _real(x: Tensor) -> Tensor:
    """Return the real parts, which NumPy keeps of complex numbers, with a warning."""
    return Tensor(x.shape, real_dtype(x.dtype), lambda i: real(x.at(i)), cost=x.cost)


def in_type(value: Tensor, kind: DType, loc: Loc | None) -> Tensor:
    """Return `value`, or a copy of its elements where it has another type."""
    return value if value.dtype is kind else converted(value, kind, loc)


def converted(value: Tensor, kind: DType, loc: Loc | None, *, wraps: bool = False) -> Tensor:
    """Return a copy of the elements in another type; with `wraps` constants need not fit it."""
    if value.dtype.is_complex and not (kind.is_complex or kind is DType.BOOL):
        refuse("PO0144", "complex values cannot become real ones", loc, "take `.real`")

    def element(expr: Expr) -> Expr:
        if wraps and kind.is_integer and isinstance(expr, Const) and expr.dtype.is_integer:
            return Const(wrapped(int(expr.value.real), kind), kind)
        return cast(expr, kind, loc)

    def each(x: Tensor) -> Tensor:
        return Tensor(x.shape, kind, lambda i: element(x.at(i)), cost=x.cost)

    return like(value, each)


def eye(b: Builder, args: Arguments) -> Value:
    """np.eye and np.identity"""
    rows, columns, diagonal, kind = args.take("N", "M k dtype order device like")[:4]
    height = _one_extent(b, rows, args)
    width = height if is_none(columns) else _one_extent(b, columns, args)
    shift = integer(0) if is_none(diagonal) else size(b, diagonal, "np.eye's k", args.loc)
    found = dtype(kind, args.loc) or DType.FLOAT64
    zero, one = _constant(0, found), _constant(1, found)

    def at(index: Index) -> Expr:
        on_it = compare(CompareOp.EQ, index[1], plus(index[0], shift))
        return Select(on_it, one, zero, found)

    return Tensor((height, width), found, at, cost=2)


def _one_extent(b: Builder, value: Value, args: Arguments) -> Expr:
    found = extents(b, value, args.loc)
    if len(found) != 1:
        refuse("PO0151", f"`{args.name}` of {len(found)} sizes", args.loc, "give one integer")
    return found[0]


def identity(b: Builder, args: Arguments) -> Value:
    """np.identity"""
    rows, kind, _ = args.take("n", "dtype like")
    return eye(b, Arguments(args.name, (rows,), {"dtype": kind}, args.loc))


def fill(b: Builder, args: Arguments) -> Value:
    """ndarray.fill"""
    array, value = args.take("a value")
    target = tensor(b, array, args.loc)
    fill_value = number(b, value, "the fill value", args.loc)
    demand_fit(b, fill_value, target.dtype, args.loc)
    demand_stored(b, fill_value, target.dtype, args.loc)
    store(b, target, filled(target.shape, cast(fill_value.expr, target.dtype, args.loc)), args.loc)
    return Known(None)


def item(b: Builder, args: Arguments) -> Value:
    """ndarray.item of a single element: a Python number"""
    (array,) = args.take("a")
    return Number(number(b, array, "the array", args.loc).expr, True)
