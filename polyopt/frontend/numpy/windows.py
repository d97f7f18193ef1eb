"""Sliding windows: every stretch of an array as a view, elements shared.

In: arguments of the call.  Out: a view whose subscripts are sums.
"""

from __future__ import annotations

from polyopt.frontend.integers.affine_integers import ONE, ZERO, at_least, minus, plus
from polyopt.frontend.numpy.axis_reductions import normal_axes
from polyopt.frontend.numpy.call_arguments import Arguments, extents, known_axes, tensor
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.memory import forced
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.values import Index, Value, remapped
from polyopt.ir.showing import show


def sliding_window_view(b: Builder, args: Arguments) -> Value:
    """np.lib.stride_tricks.sliding_window_view: a new last dimension for each window"""
    array, window, axis, *_ = args.take("x window_shape", "axis subok writeable")
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

    return remapped(value, (*shape, *lengths), index)
