"""Basic subscripts: integers, slices, newaxis, ellipsis; each becomes a subscript map.

In: an array value and the parts of a subscript.  Out: the selected array value.
Negative integers and slice bounds count from the end, slices clip to the array, as in Python.
Refuses: slice bounds that are not affine (PO0134), masks (PO0135).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from polyopt import frontend
from polyopt.dataclass import dataclass, replace
from polyopt.errors import Loc
from polyopt.frontend.integers.affine_integers import (
    ONE,
    TRUE,
    ZERO,
    at_least,
    both,
    compare,
    constant,
    either,
    floordiv,
    is_affine,
    is_size,
    less,
    maximum,
    minimum,
    minus,
    plus,
    select,
    times,
)
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.drafts import dynamic_params
from polyopt.frontend.program.statement_domains import Loop
from polyopt.frontend.subscripts.runtime_subscripts import (
    Pending,
    SubscriptSite,
    checked,
    found_position,
)
from polyopt.frontend.subscripts.strides import clipped
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.promote import cast
from polyopt.frontend.values.values import Index, Tensor, remapped
from polyopt.ir.expr import CompareOp, Expr, Param, integer, substitute, walk
from polyopt.ir.linear import linear
from polyopt.ir.names import iterators
from polyopt.ir.showing import show


@dataclass(frozen=True, slots=True)
class At:
    """One position; the dimension goes away."""

    index: Expr
    text: str


@dataclass(frozen=True, slots=True)
class Cut:
    """`start:stop:step`."""

    start: Expr | None
    stop: Expr | None
    step: int


@dataclass(frozen=True, slots=True)
class Stepped:
    """`start:stop:step` with a step that the running kernel knows."""

    start: Expr | None
    stop: Expr | None
    step: Expr


@dataclass(frozen=True, slots=True)
class NewAxis:
    """A new dimension of extent one."""


@dataclass(frozen=True, slots=True)
class Dots:
    """All dimensions not mentioned."""


@dataclass(frozen=True, eq=False)
class Mask:
    """The elements where a BOOL array holds; only assignment knows it."""

    flags: Tensor


@dataclass(frozen=True, eq=False)
class By:
    """The elements whose positions an integer array gives, those where `mask` holds."""

    index: Tensor
    text: str
    mask: Tensor | None = None


Part: TypeAlias = At | Cut | Stepped | NewAxis | Dots | Mask | By


@dataclass(frozen=True, slots=True)
class _Dim:
    """How one source dimension is found: `base + step * index[place]`, no place: `base`."""

    base: Expr
    step: int | Expr
    place: int | None


def select_parts(
    b: Builder,
    tensor: Tensor,
    parts: Sequence[Part],
    name: str,
    loc: Loc | None,
    pending: Pending | None = None,
) -> Tensor:
    """Return `tensor[parts]`; `name` is what the source calls the array.

    With `pending` it is a target, written where the conditions that it gets are met.
    """
    full = with_dots(tensor.rank, parts, name, loc)
    held = any(not isinstance(part, At) for part in full)
    hollow: list[Expr] | None = None if held else []
    dims: list[_Dim] = []
    shape: list[Expr] = []
    for part in full:
        extent = tensor.shape[len(dims)] if len(dims) < tensor.rank else ONE
        match part:
            case NewAxis():
                shape.append(ONE)
            case At(index=index, text=text):
                place = SubscriptSite(name, text, loc, hollow)
                inside = partial(position, b, place=place, pending=pending, held=held)
                dims.append(_Dim(_base(b, tensor, index, extent, inside), 0, None))
            case Cut():
                base, length = cut(b, part, extent, loc)
                dims.append(_Dim(base, part.step, len(shape)))
                shape.append(length)
            case Stepped():
                base, length = frontend.subscripts.strides.stepped_cut(
                    b, part.start, part.stop, part.step, extent
                )
                dims.append(_Dim(base, part.step, len(shape)))
                shape.append(length)
            case Mask():
                hint = "use np.where(mask, x, y), or assign under the mask"
                refuse("PO0135", f"`{name}` under a mask has an unknown size", loc, hint)
            case Dots() | By():
                raise AssertionError("expanded above, arrays are not for here")

    def index_map(index: Index) -> Index:
        return tuple(
            d.base if d.place is None else plus(d.base, times(index[d.place], d.step)) for d in dims
        )

    found = remapped(tensor, tuple(shape), index_map)
    _element(b, found)
    return _unless_empty(found, hollow) if hollow else found


def _base(
    b: Builder, tensor: Tensor, index: Expr, extent: Expr, inside: Callable[[Expr, Expr], Expr]
) -> Expr:
    """Return the position of a subscript; `inside(index, extent)` requires it to be one."""
    found = None
    if tensor.rank == 1:
        found = frontend.subscripts.flat_arrays.position_in_rows(b, tensor, index, inside)
    return inside(index, extent) if found is None else found


def _element(b: Builder, found: Tensor) -> None:
    """Take note of an element of a flat argument."""
    name = found.view.buffer.argument if found.view is not None else None
    if found.rank == 0 and name in b.given and b.given[name][1].rank == 1:
        frontend.subscripts.flat_arrays.element_in_rows(b, found)


def _unless_empty(element: Tensor, conditions: Sequence[Expr]) -> Tensor:
    """Return an element that is zero where its array has none."""

    def at(index: Index) -> Expr:
        found = element.at(index)
        for condition in conditions:
            found = select(condition, found, cast(ZERO, element.dtype))
        return found

    return Tensor((), element.dtype, at, cost=element.cost)


def with_dots(rank: int, parts: Sequence[Part], name: str, loc: Loc | None) -> list[Part]:
    """Return the parts with `...` and missing dimensions written as full slices."""
    used = sum(isinstance(part, At | Cut | Stepped | By) for part in parts)
    used += sum(part.flags.rank for part in parts if isinstance(part, Mask))
    dots = sum(isinstance(part, Dots) for part in parts)
    if used > rank:
        refuse("PO0135", f"`{name}` has {rank} dimensions, but {used} subscripts are given", loc)
    if dots > 1:
        refuse("PO0135", "a subscript can hold one `...` only", loc)
    missing = [Cut(None, None, 1)] * (rank - used)
    if not dots:
        return [*parts, *missing]
    result: list[Part] = []
    for part in parts:
        result += missing if isinstance(part, Dots) else [part]
    return result


def position(
    b: Builder,
    index: Expr,
    extent: Expr,
    place: SubscriptSite,
    pending: Pending | None,
    held: bool,
    loops: Sequence[Loop] = (),
) -> Expr:
    """Return an integer subscript counted from the front, and require that it is inside.

    In every iteration of `loops`; `held`: one found while the kernel runs gets a variable.
    """
    if not is_affine(index):
        return found_position(b, index, extent, place, pending, held, loops)
    with b.within(loops):
        found = _from_front(b, index, extent)
        if b.scope.guard == TRUE or b.scout or not b.facts.any_sizes:
            b.demand_index(found, extent, place.name, place.text, place.loc)
            return found
    return checked(b, found, extent, place, pending, loops, wraps=False)


def _from_front(b: Builder, index: Expr, extent: Expr) -> Expr:
    if not b.facts.counts_from_end:
        return index
    value = constant(index)
    if value is not None:
        return index if value >= 0 else plus(extent, value)
    if b.nonnegative(index):
        return index
    if b.never(at_least(index, ZERO)):
        return plus(extent, index)
    return select(less(index, ZERO), plus(index, extent), index)


def cut(b: Builder, part: Cut, extent: Expr, loc: Loc | None) -> tuple[Expr, Expr]:
    """Return first position and length of a slice of a dimension (a negative length is none)."""
    bounds = [bound for bound in (part.start, part.stop) if bound is not None]
    if part.step < 0 and dynamic_params(*bounds):
        return frontend.subscripts.strides.stepped_cut(
            b, part.start, part.stop, integer(part.step), extent
        )
    simple = _cut_from_front(part, extent)
    if simple is not None:
        start, distance = simple
    else:
        start, distance = _cut_clipped(b, part, b.extent(extent), loc)
    return start, _steps(distance, abs(part.step))


def _steps(distance: Expr, step: int) -> Expr:
    """Return how many multiples of `step` lie in `[0, distance)`."""
    return distance if step == 1 else floordiv(plus(distance, step - 1), integer(step))


def _cut_from_front(part: Cut, extent: Expr) -> tuple[Expr, Expr] | None:
    """`[c:]`, `[c:-d]` and `[::-s]`: clipping would only turn one empty length into another."""
    start = 0 if part.start is None else constant(part.start)
    stop = 0 if part.stop is None else constant(part.stop)
    if part.step < 0:
        whole = part.start is None and part.stop is None
        return (plus(extent, -1), extent) if whole else None
    if start is None or start < 0 or stop is None or (part.stop is not None and stop >= 0):
        return None
    return integer(start), plus(extent, stop - start)


def _cut_clipped(b: Builder, part: Cut, size: Expr, loc: Loc | None) -> tuple[Expr, Expr]:
    """Return start and distance of a slice; the simplest expressions that are right are chosen."""
    up = part.step > 0
    low, high = (ZERO, size) if up else (integer(-1), plus(size, -1))
    part = _found_bounds(b, part, size)
    bounds = [bound for bound in (part.start, part.stop) if bound is not None]
    assumed = [_required_sign(b, bound, loc) for bound in bounds]
    start = (low if up else high) if part.start is None else clipped(part.start, size, low, high)
    stop = (high if up else low) if part.stop is None else clipped(part.stop, size, low, high)
    exact = (start, minus(stop, start) if up else minus(start, stop))
    starts = [start] if part.start is None else _guesses(part.start, size)
    stops = [stop] if part.stop is None else _guesses(part.stop, size)
    found = _fitting(b, exact, starts, stops, up, assumed)
    if found is None:
        expected = [c for bound in bounds for c in _expected(bound, size)]
        found = _fitting(b, exact, starts, stops, up, [*assumed, *expected]) if expected else None
        if found is not None:
            _require(b, expected, size, loc)
    if found is None:
        for guess in stops if up else starts:  # the call may know that nothing is clipped
            frontend.program.decisions.decided(b, at_least(high, _largest(b, guess)))
        starts = starts if up else [minimum(guess, high) for guess in starts]
        stops = [minimum(guess, high) for guess in stops] if up else stops
        found = _fitting(b, exact, starts, stops, up, assumed)
    return found or exact


def _largest(b: Builder, bound: Expr) -> Expr:
    """Return the last value of a bound that grows with the loops around it."""
    for loop in reversed(b.scope.loops):
        bound = substitute(bound, {loop.iter: plus(loop.upper, -1)})
    return bound


def _found_bounds(b: Builder, part: Cut, size: Expr) -> Cut:
    """Return the slice with bounds found while the kernel runs counted from the front, clipped."""
    found = [
        bound
        if bound is None or not dynamic_params(bound) or b.nonnegative(bound)
        else _clipped_here(b, bound, size)
        for bound in (part.start, part.stop)
    ]
    return replace(part, start=found[0], stop=found[1])


def _clipped_here(b: Builder, bound: Expr, size: Expr) -> Expr:
    found = b.bound_here(clipped(bound, size, ZERO, size), "bound")
    inside = both(at_least(found, ZERO), at_least(size, found))
    b.demand(inside, "PO0171", "a slice bound is clipped", b.loc)
    b.bounds[found] = size
    return found


def _fitting(
    b: Builder,
    exact: tuple[Expr, Expr],
    starts: Sequence[Expr],
    stops: Sequence[Expr],
    up: bool,
    assumed: Sequence[Expr],
) -> tuple[Expr, Expr] | None:
    """Return the first start and distance that select the same positions as the exact ones."""
    for first in starts:
        for last in stops:
            guess = (first, minus(last, first) if up else minus(first, last))
            if _is_same_cut(b, exact, guess, assumed):
                return guess
    return None


def _expected(bound: Expr, size: Expr) -> list[Expr]:
    """What a bound made of sizes of other arrays is expected to satisfy: it lies in the array.

    A negative one may only arise where the slice is empty anyway (`A[: n - 1]` with n = 0).
    """
    params = [part for part in walk(bound) if isinstance(part, Param)]
    if iterators(bound) or not params or not all(is_size(param.name) for param in params):
        return []
    empty = at_least(ZERO, plus(bound, size))
    return [either(at_least(bound, ZERO), empty), at_least(size, bound)]


def _require(b: Builder, conditions: Sequence[Expr], size: Expr, loc: Loc | None) -> None:
    message = f"a slice would leave the dimension, whose extent is {show(size)}"
    hint = "pass arrays of fitting sizes: slices by other arrays' sizes are not clipped"
    for condition in conditions:
        if not b.always(condition):
            b.demand(condition, "PO0171", message, loc, hint)


def _required_sign(b: Builder, bound: Expr, loc: Loc | None) -> Expr:
    """Require a bound made of arguments to have the sign it looks like; return what is required."""
    if iterators(bound) or constant(bound) is not None:
        return TRUE
    if b.nonnegative(bound) or b.never(at_least(bound, ZERO), scouting=True):
        return TRUE
    if not any(isinstance(p, Param) and not is_size(p.name) for p in walk(bound)):
        return TRUE
    terms = linear(bound)
    below = all(factor < 0 for _, factor in terms.terms) and terms.constant <= 0
    condition = less(bound, ZERO) if below else at_least(bound, ZERO)
    sign = "negative" if below else "at least zero"
    hint = "pass another value, or compute the slice bound with max or min"
    b.demand(condition, "PO0171", f"the slice bound `{show(bound)}` must be {sign}", loc, hint)
    return condition


def _guesses(bound: Expr, size: Expr) -> list[Expr]:
    value = constant(bound)
    if value is not None:
        return [bound] if value >= 0 else [plus(size, bound)]
    return [bound, plus(size, bound)]


def _is_same_cut(
    b: Builder, exact: tuple[Expr, Expr], guess: tuple[Expr, Expr], assumed: Sequence[Expr]
) -> bool:
    """Whether both select the same positions: equal lengths, equal starts where there are any."""
    start, distance = exact
    first, length = guess
    other = compare(CompareOp.NE, maximum(distance, ZERO), maximum(length, ZERO))
    if not b.never(other, assumed, scouting=True):
        return False
    moved = both(less(ZERO, distance), compare(CompareOp.NE, start, first))
    return b.never(moved, assumed, scouting=True)
