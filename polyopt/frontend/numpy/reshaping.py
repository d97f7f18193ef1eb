"""Functions that only rename elements: transpose, swapaxes, expand_dims, squeeze, flip, diagonal.

In: an array value.  Out: a view of it; no element is copied.
Sliding windows are views, too.
"""

from __future__ import annotations

from collections.abc import Sequence

from polyopt.errors import Loc
from polyopt.frontend.integers.affine_integers import ONE, ZERO, at_least, compare, minus, plus
from polyopt.frontend.numpy.axis_reductions import normal_axes, one_axis, with_unit_axes
from polyopt.frontend.numpy.call_arguments import Arguments, extents, known_axes, known_bool, tensor
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.memory import forced
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.merged_dimensions import picked
from polyopt.frontend.values.shapes import broadcast, equate, stretched
from polyopt.frontend.values.values import Index, Number, Tensor, Value, fixed, remapped
from polyopt.frontend.values.values import Sequence as Items
from polyopt.ir.expr import CompareOp, Expr
from polyopt.ir.showing import show


def permuted(value: Tensor, axes: Sequence[int]) -> Tensor:
    """Return `value` with dimension `d` being its dimension `axes[d]`."""
    return picked(value, axes)


def transposed(value: Tensor) -> Tensor:
    """Return `value.T`."""
    return permuted(value, tuple(reversed(range(value.rank))))


def transpose(b: Builder, args: Arguments) -> Value:
    """np.transpose, ndarray.transpose"""
    if len(args.values) > 2:
        args = Arguments(args.name, (args.values[0], Items(args.values[1:])), {}, args.loc)
    array, order = args.take("a", "axes")
    value = forced(b, tensor(b, array, args.loc))
    axes = known_axes(b, order, args.loc)
    if isinstance(array, Number):
        return array
    if axes is None:
        return transposed(value)
    counted = tuple(axis % value.rank if value.rank else axis for axis in axes)
    if sorted(counted) != list(range(value.rank)):
        refuse("PO0153", f"axes {axes} of an array with {value.rank} dimensions", args.loc)
    return permuted(value, counted)


def swapaxes(b: Builder, args: Arguments) -> Value:
    """np.swapaxes"""
    array, first, second = args.take("a axis1 axis2")
    value = forced(b, tensor(b, array, args.loc))
    one, two = (one_axis(b, axis, value.rank, args.loc) for axis in (first, second))
    axes = list(range(value.rank))
    axes[one], axes[two] = axes[two], axes[one]
    return permuted(value, axes)


def expand_dims(b: Builder, args: Arguments) -> Value:
    """np.expand_dims"""
    array, axis = args.take("a axis")
    value = forced(b, tensor(b, array, args.loc))
    axes = known_axes(b, axis, args.loc) or ()
    return with_unit_axes(value, normal_axes(axes, value.rank + len(axes), args.loc))


def squeeze(b: Builder, args: Arguments) -> Value:
    """np.squeeze: dimensions known to be one"""
    array, axis = args.take("a", "axis")
    if isinstance(array, Number):
        return array
    value = forced(b, tensor(b, array, args.loc))
    axes = known_axes(b, axis, args.loc)
    if axes is None:
        gone = tuple(d for d, extent in enumerate(value.shape) if extent == ONE)
        for extent in value.shape:
            _require_not_one(b, extent, args.loc)
    else:
        gone = normal_axes(axes, value.rank, args.loc)
    if any(value.shape[d] != ONE for d in gone):
        refuse("PO0140", "np.squeeze of a dimension that is not known to be 1", args.loc)
    return without_axes(value, gone)


def _require_not_one(b: Builder, extent: Expr, loc: Loc | None) -> None:
    if extent == ONE:
        return
    message = f"np.squeeze would drop the dimension of extent {show(extent)} when it is 1"
    condition = compare(CompareOp.NE, extent, ONE)
    b.demand(condition, "PO0173", message, loc, "name the axis: np.squeeze(x, axis=0)")


def without_axes(value: Tensor, gone: Sequence[int]) -> Tensor:
    """Return element 0 along the dimensions in `gone`."""
    return picked(value, [d for d in range(value.rank) if d not in gone])


def flip(b: Builder, args: Arguments) -> Value:
    """np.flip"""
    array, axis = args.take("m", "axis")
    value = forced(b, tensor(b, array, args.loc))
    return flipped(value, normal_axes(known_axes(b, axis, args.loc), value.rank, args.loc))


def flipped(value: Tensor, axes: Sequence[int]) -> Tensor:
    """Return `value` backwards along `axes`."""

    def index(new: Index) -> Index:
        return tuple(
            minus(plus(value.shape[d], -1), part) if d in axes else part
            for d, part in enumerate(new)
        )

    return remapped(value, value.shape, index)


def broadcast_to(b: Builder, args: Arguments) -> Value:
    """np.broadcast_to"""
    array, shape = args.take("array shape")
    value = forced(b, tensor(b, array, args.loc))
    target = extents(b, shape, args.loc)
    if len(target) < value.rank:
        refuse("PO0140", "np.broadcast_to a shape of lower rank", args.loc)
    joint = broadcast(b, (value.shape, target), "np.broadcast_to", args.loc)
    for found, wanted in zip(joint, target, strict=True):
        equate(b, found, wanted, "np.broadcast_to", args.loc)
    return fixed(stretched(value, target))


def sliding_window_view(b: Builder, args: Arguments) -> Value:
    """np.lib.stride_tricks.sliding_window_view: a new last dimension for each window"""
    array, window, axis, _, writeable = args.take("x window_shape", "axis subok writeable")
    value = forced(b, tensor(b, array, args.loc))
    lengths = extents(b, window, args.loc)
    given = known_axes(b, axis, args.loc)
    axes = tuple(range(value.rank)) if given is None else given
    axes = tuple(axis for one in axes for axis in normal_axes((one,), value.rank, args.loc))
    if len(axes) != len(lengths):
        message = f"{len(lengths)} window lengths for {len(axes)} dimensions"
        refuse("PO0153", message, args.loc, "give one length for each dimension, or `axis=`")
    shape = list(value.shape)
    for d, length in zip(axes, lengths, strict=True):
        left = plus(minus(shape[d], length), ONE)
        if not b.always(at_least(left, ZERO)):
            message = f"a window of {show(length)} is longer than the array"
            hint = "pass a longer array or a shorter window"
            b.demand(at_least(left, ONE), "PO0174", message, args.loc, hint)
        shape[d] = left
    rank = value.rank

    def index(place: Index) -> Index:
        found = list(place[:rank])
        for d, offset in zip(axes, place[rank:], strict=True):
            found[d] = plus(found[d], offset)
        return tuple(found)

    found = remapped(value, (*shape, *lengths), index)
    return found if known_bool(writeable, "writeable", args.loc) else fixed(found)
