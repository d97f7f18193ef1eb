"""Arrays put together from arrays: concatenate, stack, pad, roll, repeat, meshgrid, diag.

In: arguments of the call.  Out: new arrays, or lazy ones where a subscript map is enough.
"""

from __future__ import annotations

from collections.abc import Sequence as Items

from polyopt.errors import Loc
from polyopt.frontend.arguments import Arguments, is_none, known_axes, known_int, size, tensor
from polyopt.frontend.builder import Builder
from polyopt.frontend.codes import refuse
from polyopt.frontend.constants import as_sequence
from polyopt.frontend.elementwise import apply, operand_kinds
from polyopt.frontend.folds import normal_axes, with_unit_axes
from polyopt.frontend.integers import (
    ZERO,
    at_least,
    compare,
    floordiv,
    less,
    minimum,
    minus,
    plus,
    select,
    times,
)
from polyopt.frontend.memory import forced, store
from polyopt.frontend.promote import cast, common_dtype
from polyopt.frontend.reductions import Rule
from polyopt.frontend.shapes import equate
from polyopt.frontend.subscripts import Cut, select_parts
from polyopt.frontend.ufuncs import UFUNCS
from polyopt.frontend.values import (
    Index,
    Known,
    Sequence,
    Tensor,
    Value,
    remapped,
    view_of,
)
from polyopt.ir.expr import CompareOp, Const, Expr, Select, integer
from polyopt.ir.types import DType


def _arrays(b: Builder, value: Value, args: Arguments) -> list[Tensor]:
    found = as_sequence(value)
    if not isinstance(found, Sequence) or not found.items:
        hint = f"write {args.name}((a, b))"
        refuse("PO0151", f"`{args.name}` needs a tuple or list of arrays", args.loc, hint)
    return [forced(b, tensor(b, item, args.loc)) for item in found.items]


def concatenate(b: Builder, args: Arguments) -> Value:
    """np.concatenate"""
    arrays, axis = args.take("arrays", "axis")
    along = 0 if is_none(axis) else known_int(b, axis, "an axis", args.loc)
    return joined(b, _arrays(b, arrays, args), along, args)


def joined(b: Builder, parts: Items[Tensor], axis: int, args: Arguments) -> Tensor:
    """Return the arrays one after the other along `axis`."""
    rank = parts[0].rank
    if rank == 0 or any(part.rank != rank for part in parts):
        refuse("PO0140", f"`{args.name}` of arrays of different ranks", args.loc)
    (axis,) = normal_axes((axis,), rank, args.loc)
    shape = list(parts[0].shape)
    for part in parts[1:]:
        for d in range(rank):
            if d != axis:
                shape[d] = equate(b, shape[d], part.shape[d], args.name, args.loc)
    starts: list[Expr] = [ZERO]
    for part in parts:
        starts.append(plus(starts[-1], b.extent(part.shape[axis])))
    shape[axis] = starts[-1]
    kinds = operand_kinds(parts)
    buffer = b.new_buffer("joined", common_dtype(kinds, args.loc), tuple(shape))
    whole = view_of(buffer)
    for part, start in zip(parts, starts, strict=False):
        place = _shifted(whole, axis, start, part.shape)
        store(b, place, part, args.loc)
    return Tensor(tuple(shape), buffer.dtype, whole.at, whole.view)


def _shifted(whole: Tensor, axis: int, start: Expr, shape: Index) -> Tensor:
    def index(inner: Index) -> Index:
        return tuple(plus(start, part) if d == axis else part for d, part in enumerate(inner))

    return remapped(whole, shape, index)


def stack(b: Builder, args: Arguments) -> Value:
    """np.stack"""
    arrays, axis = args.take("arrays", "axis")
    parts = _arrays(b, arrays, args)
    along = 0 if is_none(axis) else known_int(b, axis, "an axis", args.loc)
    (along,) = normal_axes((along,), parts[0].rank + 1, args.loc)
    return joined(b, [with_unit_axes(part, (along,)) for part in parts], along, args)


def vstack(b: Builder, args: Arguments) -> Value:
    """np.vstack"""
    (arrays,) = args.take("tup")
    parts = [with_unit_axes(p, (0,)) if p.rank == 1 else p for p in _arrays(b, arrays, args)]
    return joined(b, parts, 0, args)


def hstack(b: Builder, args: Arguments) -> Value:
    """np.hstack"""
    (arrays,) = args.take("tup")
    parts = _arrays(b, arrays, args)
    return joined(b, parts, 0 if parts[0].rank == 1 else 1, args)


def column_stack(b: Builder, args: Arguments) -> Value:
    """np.column_stack"""
    (arrays,) = args.take("tup")
    parts = [with_unit_axes(p, (1,)) if p.rank == 1 else p for p in _arrays(b, arrays, args)]
    return joined(b, parts, 1, args)


# -- borders ----------------------------------------------------------------------------------


def pad(b: Builder, args: Arguments) -> Value:
    """np.pad with constants or with the edge elements"""
    array, widths, mode, fill = args.take("array pad_width", "mode constant_values")
    value = forced(b, tensor(b, array, args.loc))
    sides = _sides(b, widths, value.rank, args)
    kind = mode.value if isinstance(mode, Known) else mode
    if kind not in (None, "constant", "edge"):
        refuse("PO0151", f"np.pad with mode {kind!r}", args.loc, 'use "constant" or "edge"')
    shape = tuple(
        plus(b.extent(extent), before + after)
        for extent, (before, after) in zip(value.shape, sides, strict=True)
    )
    if kind == "edge":
        return Tensor(shape, value.dtype, lambda i: value.at(_nearest(value, i, sides)))
    filler: Expr = cast(Const(0, DType.INT64), value.dtype)
    if not is_none(fill):
        filler = cast(_number(b, fill, args), value.dtype, args.loc)
    buffer = b.new_buffer("padded", value.dtype, shape)
    whole = view_of(buffer)
    store(b, whole, Tensor(shape, value.dtype, lambda _: filler), args.loc)

    def index(inner: Index) -> Index:
        return tuple(plus(part, before) for part, (before, _) in zip(inner, sides, strict=True))

    store(b, remapped(whole, value.shape, index), value, args.loc)
    return Tensor(shape, value.dtype, whole.at, whole.view)


def _nearest(value: Tensor, index: Index, sides: Items[tuple[int, int]]) -> Index:
    """Return the subscript of the nearest element of the array inside the border."""
    result: list[Expr] = []
    for part, extent, (before, _) in zip(index, value.shape, sides, strict=True):
        inner, last = minus(part, before), plus(extent, -1)
        above = select(less(last, inner), last, inner)
        result.append(select(less(inner, ZERO), ZERO, above) if before else above)
    return tuple(result)


def _number(b: Builder, value: Value, args: Arguments) -> Expr:
    found = tensor(b, value, args.loc)
    if found.rank:
        refuse("PO0151", "np.pad with one fill value per side", args.loc, "give one number")
    return found.at(())


def _sides(b: Builder, widths: Value, rank: int, args: Arguments) -> list[tuple[int, int]]:
    """Return the border before and after each dimension."""
    found = as_sequence(widths)
    if not isinstance(found, Sequence):
        width = known_int(b, found, "pad_width", args.loc)
        return [(width, width)] * rank
    if all(isinstance(item, Sequence) for item in found.items):
        pairs = [_pair(b, item, args) for item in found.items]
        if len(pairs) not in (1, rank):
            refuse("PO0151", f"np.pad of {rank} dimensions with {len(pairs)} pairs", args.loc)
        return pairs * rank if len(pairs) == 1 else pairs
    return [_pair(b, found, args)] * rank


def _pair(b: Builder, value: Value, args: Arguments) -> tuple[int, int]:
    assert isinstance(value, Sequence)
    sides = [known_int(b, item, "pad_width", args.loc) for item in value.items]
    if len(sides) == 1:
        sides *= 2
    if len(sides) != 2 or min(sides) < 0:
        refuse("PO0151", "np.pad with such widths", args.loc, "give (before, after)")
    return sides[0], sides[1]


def roll(b: Builder, args: Arguments) -> Value:
    """np.roll by constants"""
    array, shift, axis = args.take("a shift", "axis")
    value = forced(b, tensor(b, array, args.loc))
    axes = known_axes(b, axis, args.loc)
    if axes is None:
        if value.rank != 1:
            refuse("PO0151", "np.roll without an axis", args.loc, "give the axis")
        axes = (0,)
    shifts = known_axes(b, shift, args.loc) or ()
    shifts = shifts * len(axes) if len(shifts) == 1 else shifts
    if len(shifts) != len(axes):
        refuse("PO0151", "np.roll with as many shifts as axes only", args.loc)
    for by, axis_given in zip(shifts, axes, strict=True):
        (along,) = normal_axes((axis_given,), value.rank, args.loc)
        value = _rolled(b, value, by, along, args.loc)
    return Tensor(value.shape, value.dtype, value.at, cost=value.cost)


def _rolled(b: Builder, value: Tensor, by: int, axis: int, loc: Loc | None) -> Tensor:
    extent = value.shape[axis]
    if by == 0:
        return value
    enough = at_least(extent, integer(abs(by)))
    message = f"np.roll by {by} needs at least {abs(by)} elements"
    b.demand(enough, "PO0173", message, loc, "roll by less than the size")

    def index(new: Index) -> Index:
        part = minus(new[axis], by)
        if by > 0:
            found = select(less(part, ZERO), plus(part, extent), part)
        else:
            found = select(less(part, extent), part, minus(part, extent))
        return tuple(found if d == axis else p for d, p in enumerate(new))

    return remapped(value, value.shape, index)


# -- subscript maps ---------------------------------------------------------------------------


def diff(b: Builder, args: Arguments) -> Value:
    """np.diff of first order"""
    array, order, axis = args.take("a", "n axis")
    value = forced(b, tensor(b, array, args.loc))
    if not is_none(order) and known_int(b, order, "n", args.loc) != 1:
        refuse("PO0151", "np.diff of higher order", args.loc, "apply np.diff repeatedly")
    along = -1 if is_none(axis) else known_int(b, axis, "an axis", args.loc)
    (along,) = normal_axes((along,), value.rank, args.loc)
    before, after = (
        _cut(b, value, along, cut, args.loc) for cut in (_ALL_BUT_LAST, _ALL_BUT_FIRST)
    )
    name = "not_equal" if value.dtype is DType.BOOL else "subtract"
    return apply(b, UFUNCS[name], (after, before), args.loc)


_ALL_BUT_LAST = Cut(None, integer(-1), 1)
_ALL_BUT_FIRST = Cut(integer(1), None, 1)


def _cut(b: Builder, value: Tensor, axis: int, cut: Cut, loc: Loc | None) -> Tensor:
    parts = [cut if d == axis else Cut(None, None, 1) for d in range(value.rank)]
    return select_parts(b, value, parts, "the array", loc)


def repeat(b: Builder, args: Arguments) -> Value:
    """np.repeat by a constant"""
    array, repeats, axis = args.take("a repeats", "axis")
    value = forced(b, tensor(b, array, args.loc))
    count = known_int(b, repeats, "repeats", args.loc)
    if count < 1 or (is_none(axis) and value.rank != 1):
        refuse("PO0151", "np.repeat with these arguments", args.loc, "give a count and an axis")
    along = 0 if is_none(axis) else known_int(b, axis, "an axis", args.loc)
    (along,) = normal_axes((along,), value.rank, args.loc)
    shape = tuple(times(e, count) if d == along else e for d, e in enumerate(value.shape))

    def at(index: Index) -> Expr:
        parts = (floordiv(p, integer(count)) if d == along else p for d, p in enumerate(index))
        return value.at(tuple(parts))

    return Tensor(shape, value.dtype, at, cost=value.cost)


def meshgrid(b: Builder, args: Arguments) -> Value:
    """np.meshgrid of two vectors"""
    indexing = args.keywords.get("indexing")
    rows_first = isinstance(indexing, Known) and indexing.value == "ij"
    parts = [forced(b, tensor(b, value, args.loc)) for value in args.values]
    if len(parts) != 2 or any(part.rank != 1 for part in parts):
        refuse("PO0151", "np.meshgrid of other than two vectors", args.loc, "use newaxis")
    x, y = parts
    first, second = (x, y) if rows_first else (y, x)
    shape = (first.shape[0], second.shape[0])
    rows = Tensor(shape, first.dtype, lambda i: first.at(i[:1]), cost=first.cost)
    columns = Tensor(shape, second.dtype, lambda i: second.at(i[1:]), cost=second.cost)
    return Sequence((rows, columns) if rows_first else (columns, rows))


def diagonal(b: Builder, args: Arguments) -> Value:
    """np.diagonal of a matrix"""
    (array,) = args.take("a")
    value = forced(b, tensor(b, array, args.loc))
    if value.rank != 2:
        refuse("PO0151", "np.diagonal of anything but a matrix", args.loc)
    return _diagonal_of(value)


def _diagonal_of(value: Tensor) -> Tensor:
    length = minimum(*value.shape)
    return remapped(value, (length,), lambda index: (index[0], index[0]))


def diag(b: Builder, args: Arguments) -> Value:
    """np.diag: the diagonal of a matrix, or a matrix with this diagonal"""
    (array,) = args.take("v")
    value = forced(b, tensor(b, array, args.loc))
    if value.rank == 2:
        return _diagonal_of(value)
    if value.rank != 1:
        refuse("PO0151", "np.diag of anything but a vector or matrix", args.loc)
    zero = cast(Const(0, DType.INT64), value.dtype)

    def at(index: Index) -> Expr:
        on_it = compare(CompareOp.EQ, index[0], index[1])
        return Select(on_it, value.at(index[:1]), zero, value.dtype)

    return Tensor((value.shape[0], value.shape[0]), value.dtype, at, cost=value.cost + 2)


def triangle(name: str) -> Rule:
    """Return the rule of np.tril or np.triu."""

    def rule(b: Builder, args: Arguments) -> Value:
        array, diagonal_ = args.take("m", "k")
        value = forced(b, tensor(b, array, args.loc))
        if value.rank < 2:
            refuse("PO0151", f"np.{name} of anything but matrices", args.loc)
        shift = ZERO if is_none(diagonal_) else size(b, diagonal_, "k", args.loc)
        zero = cast(Const(0, DType.INT64), value.dtype)

        def at(index: Index) -> Expr:
            edge = plus(index[-2], shift)
            kept = at_least(edge, index[-1]) if name == "tril" else at_least(index[-1], edge)
            return Select(kept, value.at(index), zero, value.dtype)

        return Tensor(value.shape, value.dtype, at, cost=value.cost + 2)

    return rule
