"""Arrays put together from arrays: concatenate, stack, roll, diff, repeat.

In: arguments of the call.  Out: new arrays, or lazy ones where a subscript map is enough.
np.r_ and np.c_ join what is between their brackets.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Items

from polyopt.errors import Loc
from polyopt.frontend.arithmetic.elementwise import apply, operand_kinds
from polyopt.frontend.integers.affine_integers import (
    ONE,
    ZERO,
    at_least,
    constant,
    floordiv,
    is_affine,
    less,
    minus,
    plus,
    select,
    times,
)
from polyopt.frontend.numpy import regrouping
from polyopt.frontend.numpy.axis_reductions import (
    at_least_vector,
    normal_axes,
    one_axis,
    with_unit_axes,
)
from polyopt.frontend.numpy.call_arguments import (
    Arguments,
    dtype,
    extents,
    is_none,
    known_axes,
    known_int,
    size,
    tensor,
)
from polyopt.frontend.numpy.grids import GridPart, grid
from polyopt.frontend.numpy.reductions import with_out
from polyopt.frontend.numpy.reshaping import permuted
from polyopt.frontend.numpy.ufuncs import UFUNCS
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.memory import forced, store
from polyopt.frontend.reader.comprehensions import Generated, collected
from polyopt.frontend.subscripts.basic import Cut, select_parts
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.computed_sizes import as_affine
from polyopt.frontend.values.constants import as_sequence
from polyopt.frontend.values.merged_dimensions import merge
from polyopt.frontend.values.promote import common_dtype
from polyopt.frontend.values.shapes import equate, is_single, shifted, stretched
from polyopt.frontend.values.values import (
    Index,
    Known,
    Sequence,
    Tensor,
    Value,
    as_tensor,
    remapped,
    view_of,
)
from polyopt.ir.expr import Expr, integer
from polyopt.ir.showing import show
from polyopt.ir.types import DType

MOST_TURNS = 3
"""By how much np.roll goes round an array that may be shorter."""


def arrays_of(b: Builder, value: Value, args: Arguments) -> list[Tensor]:
    """Return the arrays of a tuple or list, or the rows of an array of known length."""
    found = as_sequence(value)
    if not isinstance(found, Sequence) or not found.items:
        hint = f"write {args.name}((a, b))"
        refuse("PO0151", f"`{args.name}` needs a tuple or list of arrays", args.loc, hint)
    return [forced(b, tensor(b, item, args.loc)) for item in found.items]


def concatenate(b: Builder, args: Arguments) -> Value:
    """np.concatenate"""
    arrays, axis, out, kind, _ = args.take("arrays", "axis out dtype casting")
    is_flat = is_none(axis) and ("axis" in args.keywords or len(args.values) > 1)
    along = 0 if is_none(axis) else known_int(b, axis, "an axis", args.loc)
    if isinstance(arrays, Generated | Tensor):
        whole = _stacked(b, arrays, 0, dtype(kind, args.loc), args)
        if is_flat:
            return with_out(b, regrouping.flat_vector(b, whole, args.loc), out, args)
        return with_out(b, _joined_layers(b, whole, along, args), out, args)
    parts = arrays_of(b, arrays, args)
    if is_flat:
        parts = [regrouping.flat_vector(b, part, args.loc) for part in parts]
    found = joined(b, parts, along, args, dtype(kind, args.loc))
    return with_out(b, found, out, args)


def joined(
    b: Builder, parts: Items[Tensor], axis: int, args: Arguments, dtype: DType | None = None
) -> Tensor:
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
    buffer = b.new_buffer("joined", dtype or common_dtype(kinds, args.loc), tuple(shape))
    whole = view_of(buffer)
    for part, start in zip(parts, starts, strict=False):
        place = shifted(whole, axis, start, part.shape)
        store(b, place, part, args.loc)
    return Tensor(tuple(shape), buffer.dtype, whole.at, whole.view)


def _joined_layers(b: Builder, whole: Tensor, axis: int, args: Arguments) -> Tensor:
    """Return the layers of an array, or the items of a list, one after the other along `axis`."""
    if whole.rank < 2:
        hint = "write np.array of a list of numbers"
        refuse("PO0140", f"`{args.name}` of numbers", args.loc, hint)
    (axis,) = normal_axes((axis,), whole.rank - 1, args.loc)
    order = [*range(1, axis + 1), 0, *range(axis + 1, whole.rank)]
    return regrouping.one_after_the_other(b, permuted(whole, order), axis, args.loc)


def stack(b: Builder, args: Arguments) -> Value:
    """np.stack"""
    arrays, axis, out, kind, _ = args.take("arrays", "axis out dtype casting")
    along = 0 if is_none(axis) else known_int(b, axis, "an axis", args.loc)
    if isinstance(arrays, Generated | Tensor):
        return with_out(b, _stacked(b, arrays, along, dtype(kind, args.loc), args), out, args)
    parts = arrays_of(b, arrays, args)
    (along,) = normal_axes((along,), parts[0].rank + 1, args.loc)
    if any(part.rank != parts[0].rank for part in parts):
        refuse("PO0140", "`np.stack` of arrays of different ranks", args.loc)
    wide = [with_unit_axes(part, (along,)) for part in parts]
    return with_out(b, joined(b, wide, along, args, dtype(kind, args.loc)), out, args)


def _stacked(
    b: Builder, arrays: Generated | Tensor, along: int, kind: DType | None, args: Arguments
) -> Tensor:
    """Return the items of a comprehension, or the layers of an array, along a dimension."""
    if isinstance(arrays, Generated):
        whole = collected(b, arrays, kind, args.loc)
    else:
        found = forced(b, arrays)
        whole = Tensor(found.shape, found.dtype, found.at, cost=found.cost)
    (along,) = normal_axes((along,), whole.rank, args.loc)
    order = [*range(1, along + 1), 0, *range(along + 1, whole.rank)]
    return permuted(whole, order)


def vstack(b: Builder, args: Arguments) -> Value:
    """np.vstack"""
    arrays, kind, _ = args.take("tup", "dtype casting")
    if isinstance(arrays, Generated):
        rows = collected(b, arrays, dtype(kind, args.loc), args.loc)
        if rows.rank > 2:
            hint = "use np.stack and reshape"
            refuse("PO0151", "np.vstack of a comprehension of matrices", args.loc, hint)
        return with_unit_axes(rows, (1,)) if rows.rank == 1 else rows
    if isinstance(arrays, Tensor) and arrays.rank in (1, 2):
        found = forced(b, arrays)
        rows = Tensor(found.shape, found.dtype, found.at, cost=found.cost)
        return with_unit_axes(rows, (1,)) if rows.rank == 1 else rows
    parts = [at_least_vector(part) for part in arrays_of(b, arrays, args)]
    parts = [with_unit_axes(p, (0,)) if p.rank == 1 else p for p in parts]
    return joined(b, parts, 0, args, dtype(kind, args.loc))


def hstack(b: Builder, args: Arguments) -> Value:
    """np.hstack"""
    arrays, kind, _ = args.take("tup", "dtype casting")
    if isinstance(arrays, Generated | Tensor):
        whole = _stacked(b, arrays, 0, dtype(kind, args.loc), args)
        return whole if whole.rank == 1 else _joined_layers(b, whole, whole.rank > 2, args)
    parts = [at_least_vector(part) for part in arrays_of(b, arrays, args)]
    return joined(b, parts, 0 if parts[0].rank == 1 else 1, args, dtype(kind, args.loc))


def column_stack(b: Builder, args: Arguments) -> Value:
    """np.column_stack"""
    (arrays,) = args.take("tup")
    if isinstance(arrays, Generated):
        arrays = collected(b, arrays, None, args.loc)
    if isinstance(arrays, Tensor) and arrays.rank == 2:
        found = forced(b, arrays)
        copied = Tensor(found.shape, found.dtype, found.at, cost=found.cost)
        return permuted(copied, (1, 0))
    parts = [at_least_vector(part) for part in arrays_of(b, arrays, args)]
    parts = [with_unit_axes(p, (1,)) if p.rank == 1 else p for p in parts]
    return joined(b, parts, 1, args)


def roll(b: Builder, args: Arguments) -> Value:
    """np.roll by constants, or along one dimension by a size"""
    array, shift, axis = args.take("a shift", "axis")
    value = forced(b, tensor(b, array, args.loc))
    axes = known_axes(b, axis, args.loc)
    if axes is None:
        if value.rank != 1:
            flat = regrouping.flat_vector(b, value, args.loc)
            rolled = roll(b, Arguments(args.name, (flat, shift), {}, args.loc))
            return regrouping.reshaped(b, tensor(b, rolled, args.loc), value.shape, args.loc)
        axes = (0,)
    given = as_sequence(shift)
    many = given.items if isinstance(given, Sequence) else (given,)
    shifts = [size(b, part, "a shift of np.roll", args.loc) for part in many]
    shifts = shifts * len(axes) if len(shifts) == 1 else shifts
    axes = axes * len(shifts) if len(axes) == 1 else axes
    if len(shifts) != len(axes):
        refuse("PO0151", "np.roll with as many shifts as axes only", args.loc)
    for by, axis_given in zip(shifts, axes, strict=True):
        (along,) = normal_axes((axis_given,), value.rank, args.loc)
        value = _rolled(b, value, by, along, args.loc)
    return Tensor(value.shape, value.dtype, value.at, cost=value.cost)


def _rolled(b: Builder, value: Tensor, by: Expr, axis: int, loc: Loc | None) -> Tensor:
    extent = value.shape[axis]
    if by == ZERO:
        return value
    most = constant(by)
    turns = 1
    if most is not None and abs(most) <= MOST_TURNS:
        turns = 1 if b.always(at_least(extent, integer(abs(most)))) else abs(most)
    else:
        message = f"np.roll by {show(by)} needs an array at least as long"
        for least in (by, minus(ZERO, by)):
            enough = at_least(extent, least)
            b.demand(enough, "PO0173", message, loc, "roll by less than the size")

    def index(new: Index) -> Index:
        part = minus(new[axis], by)
        found = part
        if most is None or most < 0:
            found = _turned(part, minus(ZERO, extent), turns, lambda p: less(p, extent))
        if most is None:
            found = select(less(part, ZERO), plus(part, extent), found)
        elif most > 0:
            found = _turned(part, extent, turns, lambda p: at_least(p, ZERO))
        return tuple(found if d == axis else p for d, p in enumerate(new))

    return remapped(value, value.shape, index)


def _turned(part: Expr, extent: Expr, turns: int, inside: Callable[[Expr], Expr]) -> Expr:
    """Return `part`, with `extent` added as often as it takes to be inside; `turns` at most."""
    if turns == 0:
        return part
    further = _turned(plus(part, extent), extent, turns - 1, inside)
    return select(inside(part), part, further)


# -- subscript maps ---------------------------------------------------------------------------


def diff(b: Builder, args: Arguments) -> Value:
    """np.diff"""
    array, order, axis, before, after = args.take("a", "n axis prepend append")
    value = forced(b, tensor(b, array, args.loc))
    times_ = 1 if is_none(order) else known_int(b, order, "n", args.loc)
    if times_ < 0 or value.rank == 0:
        refuse("PO0151", "np.diff with these arguments", args.loc, "give an array and n >= 0")
    along = one_axis(b, axis, value.rank, args.loc, -1)
    ends = [_end(b, end, value, along, args) for end in (before, after)]
    parts = [part for part in (ends[0], value, ends[1]) if part is not None]
    if len(parts) > 1:
        value = joined(b, parts, along, args)
    name = "not_equal" if value.dtype is DType.BOOL else "subtract"
    for _ in range(times_):
        first, second = (
            _cut(b, value, along, cut, args.loc) for cut in (_ALL_BUT_LAST, _ALL_BUT_FIRST)
        )
        found = apply(b, UFUNCS[name], (second, first), args.loc)
        value = as_tensor(found)
    return value


def _end(b: Builder, end: Value, value: Tensor, axis: int, args: Arguments) -> Tensor | None:
    """Return what is put before or after: an array, or a number as a layer of one."""
    if is_none(end):
        return None
    found = forced(b, tensor(b, end, args.loc))
    if found.rank:
        return found
    shape = tuple(ONE if d == axis else e for d, e in enumerate(value.shape))
    return stretched(found, shape)


_ALL_BUT_LAST = Cut(None, integer(-1), 1)
_ALL_BUT_FIRST = Cut(integer(1), None, 1)


def _cut(b: Builder, value: Tensor, axis: int, cut: Cut, loc: Loc | None) -> Tensor:
    parts = [cut if d == axis else Cut(None, None, 1) for d in range(value.rank)]
    return select_parts(b, value, parts, "the array", loc)


def repeated(b: Builder, args: Arguments) -> Value:
    """The library's `repeated`: np.repeat by a number, or by a known one for each layer"""
    array, repeats, axis = args.take("a repeats", "axis")
    value = at_least_vector(forced(b, tensor(b, array, args.loc)))
    counts = extents(b, as_sequence(repeats), args.loc)
    if is_none(axis):
        value = regrouping.flat_vector(b, value, args.loc)
    along = one_axis(b, axis, value.rank, args.loc, 0)
    if len(counts) > 1:
        equate(b, value.shape[along], integer(len(counts)), args.name, args.loc)
        starts = (_cut(b, value, along, Cut(integer(n), integer(n + 1), 1), args.loc)
                  for n in range(len(counts)))  # fmt: skip
        layers = [_repeated(b, one, along, c) for one, c in zip(starts, counts, strict=True)]
        return joined(b, layers, along, args)
    (count,) = counts
    found = _repeated(b, value, along, count)
    return Tensor(found.shape, value.dtype, found.at, cost=value.cost, merged=found.merged)


def _repeated(b: Builder, value: Tensor, along: int, count: Expr) -> Tensor:
    """Return `value` with each layer along a dimension `count` times."""
    shape = list(value.shape)
    if is_single(b, shape[along], "np.repeat", b.loc):
        shape[along] = count
        return remapped(
            value, tuple(shape), lambda i: tuple(ZERO if d == along else p for d, p in enumerate(i))
        )
    whole = times(b.extent(shape[along]), count)
    affine = as_affine(b.facts, whole)
    shape[along] = affine if is_affine(affine) else b.dynamic(whole, "size")
    if constant(count) is not None:
        by = integer(max(constant(count) or 0, 1))
        return remapped(
            value,
            tuple(shape),
            lambda i: tuple(floordiv(p, by) if d == along else p for d, p in enumerate(i)),
        )
    apart = list(value.shape)
    apart.insert(along + 1, count)
    layers = remapped(value, tuple(apart), lambda i: (*i[: along + 1], *i[along + 2 :]))
    counts = [2 if d == along else 1 for d in range(value.rank)]
    return merge(layers, counts, tuple(shape))


def rows_or_columns(
    b: Builder, parts: list[Value | GridPart], columns: bool, loc: Loc | None
) -> Tensor:
    """Return `np.c_[parts]` with `columns`, else `np.r_[parts]`."""
    name = "np.c_" if columns else "np.r_"
    found: list[Tensor] = []
    for part in parts:
        if isinstance(part, GridPart):
            made = grid(b, [part], False, loc)
            assert isinstance(made, Tensor)
            found.append(made)
            continue
        if isinstance(part, Known) and isinstance(part.value, str):
            refuse("PO0151", f"{name} with a text", loc, "use np.concatenate with an axis")
        found.append(forced(b, tensor(b, part, loc)))
    wide = [_column(part) if columns else at_least_vector(part) for part in found]
    return joined(b, wide, wide[0].rank - 1 if columns else 0, Arguments(name, (), {}, loc))


def _column(value: Tensor) -> Tensor:
    value = at_least_vector(value)
    return with_unit_axes(value, (1,)) if value.rank == 1 else value
