"""Dimensions asked for, added and moved: ndim, shape, atleast_2d, rollaxis, unstack, block.

In: arguments of the call.  Out: views, Python numbers and tuples.
"""

from __future__ import annotations

from collections.abc import Callable

from polyopt.frontend.integers.affine_integers import times
from polyopt.frontend.numpy.axis_reductions import (
    at_least_vector,
    normal_axes,
    one_axis,
    with_unit_axes,
)
from polyopt.frontend.numpy.call_arguments import Arguments, is_none, known_axes, known_int, tensor
from polyopt.frontend.numpy.reshaping import permuted
from polyopt.frontend.numpy.table_rules import Rule
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.memory import forced
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.constants import as_sequence
from polyopt.frontend.values.shapes import broadcast, equate, stretched
from polyopt.frontend.values.values import (
    Known,
    Number,
    Sequence,
    Tensor,
    Value,
    fixed,
    remapped,
)
from polyopt.ir.expr import Expr, integer


def require_extent(b: Builder, args: Arguments) -> Value:
    """The library's `require_extent`: a check of the call"""
    array, axis, extent = args.take("a axis extent")
    value = forced(b, tensor(b, array, args.loc))
    along = one_axis(b, axis, value.rank, args.loc)
    wanted = integer(known_int(b, extent, "an extent", args.loc))
    equate(b, value.shape[along], wanted, "this function", args.loc)
    shape = tuple(wanted if d == along else e for d, e in enumerate(value.shape))
    return remapped(value, shape, lambda index: index)


def refused(b: Builder, args: Arguments) -> Value:
    """The library's `refused`: a refusal at the user's call"""
    reason, hint = args.take("reason hint")
    assert isinstance(reason, Known)
    assert isinstance(hint, Known)
    refuse("PO0151", str(reason.value), args.loc, str(hint.value))


# -- asked for --------------------------------------------------------------------------------


def ndim(b: Builder, args: Arguments) -> Value:
    """np.ndim"""
    (value,) = args.take("a")
    return Known(_rank(b, value, args))


def _rank(b: Builder, value: Value, args: Arguments) -> int:
    found = as_sequence(value)
    if isinstance(found, Sequence):
        return 1 + (_rank(b, found.items[0], args) if found.items else 0)
    if is_none(found):
        return 0
    return tensor(b, found, args.loc).rank


def shape(b: Builder, args: Arguments) -> Value:
    """np.shape"""
    (value,) = args.take("a")
    array = tensor(b, value, args.loc)
    return Sequence(tuple(Number(b.extent(e), True) for e in array.shape))


def size(b: Builder, args: Arguments) -> Value:
    """np.size"""
    value, axis = args.take("a", "axis")
    array = tensor(b, value, args.loc)
    total: Expr = integer(1)
    for d in normal_axes(known_axes(b, axis, args.loc), array.rank, args.loc):
        total = times(total, b.extent(array.shape[d]))
    return Number(total, True)


def isscalar(b: Builder, args: Arguments) -> Value:
    """np.isscalar"""
    (value,) = args.take("element")
    if isinstance(value, Known):
        return Known(isinstance(value.value, int | float | complex | str))
    return Known(isinstance(value, Number))


# -- added and moved --------------------------------------------------------------------------


def _each(function: Callable[[Tensor], Tensor]) -> Rule:
    """Return the rule of a function of one array, or of several for a tuple of results."""

    def rule(b: Builder, args: Arguments) -> Value:
        if args.keywords:
            refuse("PO0151", f"`{args.name}` with `{min(args.keywords)}=`", args.loc)
        found = [function(forced(b, tensor(b, value, args.loc))) for value in args.values]
        return found[0] if len(found) == 1 else Sequence(tuple(found))

    return rule


def _matrix(value: Tensor) -> Tensor:
    value = at_least_vector(value)
    return with_unit_axes(value, (0,)) if value.rank == 1 else value


def _cube(value: Tensor) -> Tensor:
    if value.rank == 1:
        return with_unit_axes(value, (0, 2))
    value = _matrix(value)
    return with_unit_axes(value, (2,)) if value.rank == 2 else value


atleast_1d = _each(at_least_vector)
atleast_2d = _each(_matrix)
atleast_3d = _each(_cube)


def broadcast_arrays(b: Builder, args: Arguments) -> Value:
    """np.broadcast_arrays: arrays that are not to be written"""
    if args.keywords:
        refuse("PO0151", f"`{args.name}` with `{min(args.keywords)}=`", args.loc)
    parts = [forced(b, tensor(b, value, args.loc)) for value in args.values]
    common = broadcast(b, [part.shape for part in parts], args.name, args.loc)
    wide = (stretched(part, common) for part in parts)
    return Sequence(tuple(fixed(part) for part in wide))


def moveaxis(b: Builder, args: Arguments) -> Value:
    """np.moveaxis for one axis or several"""
    array, source, destination = args.take("a source destination")
    value = forced(b, tensor(b, array, args.loc))
    sources, targets = (
        [normal_axes((axis,), value.rank, args.loc)[0] for axis in axes]
        for axes in (
            known_axes(b, source, args.loc) or (),
            known_axes(b, destination, args.loc) or (),
        )
    )
    if len(sources) != len(targets) or len(set(sources)) != len(sources):
        refuse("PO0153", "np.moveaxis with axes that do not pair up", args.loc)
    axes = [d for d in range(value.rank) if d not in sources]
    for target, axis in sorted(zip(targets, sources, strict=True)):
        axes.insert(target, axis)
    return permuted(value, axes)
