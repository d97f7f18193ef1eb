"""np.pad: borders of constants, of the edge, wrapped around or mirrored.

In: arguments of the call.  Out: a new array, or a lazy one that maps subscripts.
Refuses: modes that compute statistics or ramps (PO0151).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from polyopt.errors import Loc
from polyopt.frontend.integers.affine_integers import (
    ZERO,
    at_least,
    constant,
    less,
    minus,
    plus,
    select,
)
from polyopt.frontend.numpy.call_arguments import Arguments, is_none, size, tensor
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.memory import forced, store
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.constants import as_sequence
from polyopt.frontend.values.promote import cast
from polyopt.frontend.values.shapes import shifted
from polyopt.frontend.values.values import Index, Known, Tensor, Value, remapped, view_of
from polyopt.frontend.values.values import Sequence as Items
from polyopt.ir.expr import Const, Expr, integer
from polyopt.ir.showing import show
from polyopt.ir.types import DType

Side: TypeAlias = tuple[Expr, Expr]
Reindexing: TypeAlias = Callable[[Expr, Expr], Expr]


def _edge(part: Expr, extent: Expr) -> Expr:
    last = plus(extent, -1)
    above = select(less(last, part), last, part)
    return select(less(part, ZERO), ZERO, above)


def _wrap(part: Expr, extent: Expr) -> Expr:
    above = select(less(part, extent), part, minus(part, extent))
    return select(less(part, ZERO), plus(part, extent), above)


def _reflect(part: Expr, extent: Expr) -> Expr:
    last = plus(extent, -1)
    above = select(less(last, part), minus(plus(last, last), part), part)
    return select(less(part, ZERO), minus(ZERO, part), above)


def _symmetric(part: Expr, extent: Expr) -> Expr:
    last = plus(extent, -1)
    above = select(less(last, part), minus(plus(plus(last, last), 1), part), part)
    return select(less(part, ZERO), minus(integer(-1), part), above)


_PLACES: dict[str, tuple[Reindexing, int]] = {
    "edge": (_edge, 0),
    "wrap": (_wrap, 0),
    "reflect": (_reflect, 1),
    "symmetric": (_symmetric, 0),
}
"""Where an element outside comes from, and how much longer than its border an array must be."""


def pad(b: Builder, args: Arguments) -> Value:
    """np.pad"""
    array, widths, mode, fill, kind_of = args.take(
        "array pad_width", "mode constant_values reflect_type"
    )
    value = forced(b, tensor(b, array, args.loc))
    sides = _sides(b, widths, value.rank, args)
    kind = mode.value if isinstance(mode, Known) else mode
    if not is_none(kind_of) and not (isinstance(kind_of, Known) and kind_of.value == "even"):
        refuse("PO0151", "np.pad with `reflect_type=`", args.loc)
    shape = tuple(
        plus(plus(b.extent(extent), before), after)
        for extent, (before, after) in zip(value.shape, sides, strict=True)
    )
    if kind in (None, "constant"):
        return _with_constants(b, value, sides, shape, _fills(b, fill, value, args), args.loc)
    if not isinstance(kind, str) or kind not in _PLACES:
        modes = ", ".join(f'"{name}"' for name in ("constant", *_PLACES))
        refuse("PO0151", f"np.pad with mode {kind!r}", args.loc, f"use one of {modes}")
    return _mapped(b, value, sides, shape, str(kind), args.loc)


def _mapped(
    b: Builder, value: Tensor, sides: Sequence[Side], shape: Index, mode: str, loc: Loc | None
) -> Tensor:
    place, more = _PLACES[mode]
    for extent, side in zip(value.shape, sides, strict=True):
        for width in side:
            if width == ZERO:
                continue
            least = integer(1) if mode == "edge" else plus(width, more)
            message = f'np.pad with mode "{mode}" needs at least {show(least)} elements'
            b.demand(at_least(extent, least), "PO0173", message, loc, "pad less")

    def at(index: Index) -> Expr:
        parts = (
            place(minus(part, before), extent) if (before, after) != (ZERO, ZERO) else part
            for part, extent, (before, after) in zip(index, value.shape, sides, strict=True)
        )
        return value.at(tuple(parts))

    return Tensor(shape, value.dtype, at, cost=value.cost)


def _with_constants(
    b: Builder,
    value: Tensor,
    sides: Sequence[Side],
    shape: Index,
    fills: Sequence[Side],
    loc: Loc | None,
) -> Tensor:
    """Fill the new array, then the borders of later dimensions, then the middle."""
    buffer = b.new_buffer("padded", value.dtype, shape)
    whole = view_of(buffer)
    first = fills[0][0] if fills else cast(Const(0, DType.INT64), value.dtype)
    is_uniform = all(fill == first for side in fills for fill in side)
    store(b, whole, Tensor(shape, value.dtype, lambda _: first), loc)
    for d, ((before, after), (low, high)) in enumerate(zip(sides, fills, strict=True)):
        for start, width, fill in (
            (ZERO, before, low),
            (minus(shape[d], after), after, high),
        ):
            if not is_uniform and width != ZERO:
                border = strip(whole, d, start, width)
                _fill(b, border, fill, loc)
    starts = tuple(before for before, _ in sides)

    def index(inner: Index) -> Index:
        return tuple(plus(part, start) for part, start in zip(inner, starts, strict=True))

    store(b, remapped(whole, value.shape, index), value, loc)
    return Tensor(shape, value.dtype, whole.at, whole.view)


def strip(whole: Tensor, d: int, start: Expr, width: Expr) -> Tensor:
    """Return `width` layers of dimension `d` from `start` on."""
    shape = tuple(width if n == d else e for n, e in enumerate(whole.shape))
    return shifted(whole, d, start, shape)


def _fill(b: Builder, target: Tensor, fill: Expr, loc: Loc | None) -> None:
    store(b, target, Tensor(target.shape, target.dtype, lambda _: fill), loc)


def _fills(b: Builder, fill: Value, value: Tensor, args: Arguments) -> list[Side]:
    """Return what fills both sides of every dimension."""
    zero = Known(0) if is_none(fill) else fill

    def one(item: Value) -> Expr:
        found = tensor(b, item, args.loc)
        if found.rank:
            refuse("PO0151", "np.pad with an array of fill values", args.loc, "give numbers")
        return cast(found.at(()), value.dtype, args.loc)

    return _pairs(zero, value.rank, one, args)


def _sides(b: Builder, widths: Value, rank: int, args: Arguments) -> list[Side]:
    """Return the width of the border before and after each dimension."""

    def one(item: Value) -> Expr:
        width = size(b, item, "pad_width", args.loc)
        known = constant(width)
        if known is not None and known < 0:
            refuse("PO0151", "np.pad with a negative width", args.loc)
        if known is None and not b.nonnegative(width):
            message = f"the width {show(width)} of np.pad must not be negative"
            b.demand(at_least(width, ZERO), "PO0174", message, args.loc)
        return width

    return _pairs(widths, rank, one, args)


def _pairs(value: Value, rank: int, one: Callable[[Value], Expr], args: Arguments) -> list[Side]:
    """Read a number, a pair, or a pair for each dimension."""
    found = as_sequence(value)
    if not isinstance(found, Items):
        single = one(found)
        return [(single, single)] * rank
    items = [as_sequence(item) for item in found.items]
    if all(isinstance(item, Items) for item in items):
        pairs = [_pair(item, one, args) for item in items]
        if len(pairs) not in (1, rank):
            refuse("PO0151", f"np.pad of {rank} dimensions with {len(pairs)} pairs", args.loc)
        return pairs * rank if len(pairs) == 1 else pairs
    return [_pair(found, one, args)] * rank


def _pair(value: Value, one: Callable[[Value], Expr], args: Arguments) -> Side:
    assert isinstance(value, Items)
    sides = [one(item) for item in value.items]
    if len(sides) == 1:
        sides *= 2
    if len(sides) != 2:
        refuse("PO0151", "np.pad with such widths", args.loc, "give (before, after)")
    return sides[0], sides[1]
