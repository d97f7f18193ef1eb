"""Subscripts that are found while the kernel runs, or that only a condition on data keeps inside.

In: an INT64 subscript and the extent of its dimension.  Out: the position, counted from the front
and never outside; a fault where the source's subscript is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from polyopt.dataclass import dataclass, field
from polyopt.errors import Loc
from polyopt.frontend.integers.affine_integers import (
    FALSE,
    ONE,
    TRUE,
    ZERO,
    at_least,
    both,
    either,
    is_affine,
    less,
    minus,
    negated,
    plus,
    select,
)
from polyopt.frontend.integers.intervals import ANY, Interval, interval_of, interval_where
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.endpoint_checks import note_subscript
from polyopt.frontend.program.memory import stored_number, stored_subscript
from polyopt.frontend.program.statement_domains import Loop
from polyopt.frontend.values.promote import cast
from polyopt.frontend.values.values import Number, Tensor, cost_of
from polyopt.ir.expr import Binary, BinaryOp, Cast, Compare, CompareOp, Expr, Load, integer, loads
from polyopt.ir.showing import show
from polyopt.ir.source import Subscripts
from polyopt.ir.types import DType

CODE = "PO0231"
HINT = "check the subscripts before the call, or take them modulo the extent"


@dataclass
class Pending:
    """Conditions under which the subscripts of a target are inside: the writer stands under them.

    A writer needs no position that is safe everywhere, only one that is right where it writes.
    """

    conditions: list[Expr] = field(default_factory=list)

    @contextmanager
    def met(self, b: Builder) -> Iterator[None]:
        """Everything inside happens only where the subscripts are inside."""
        affine = [condition for condition in self.conditions if is_affine(condition)]
        guard: Expr = TRUE
        for condition in self.conditions:
            guard = guard if is_affine(condition) else both(guard, condition)
        with b.under(affine, guard):
            yield


@dataclass(frozen=True, slots=True)
class SubscriptSite:
    """Where a subscript stands: what the array and the subscript are called in the source.

    `hollow` gets what must hold of the array's extents for the element to be read at all; None:
    the call is refused where a subscript meets an empty array.
    """

    name: str
    text: str
    loc: Loc | None
    hollow: list[Expr] | None = None


def found_position(
    b: Builder,
    index: Expr,
    extent: Expr,
    place: SubscriptSite,
    pending: Pending | None,
    held: bool,
    loops: Sequence[Loop] = (),
) -> Expr:
    """Return the position of a number that is not affine; `held`: in a variable of its own."""
    wraps = b.facts.counts_from_end and (bool(loops) or _is_signed(index))
    stated = interval_where(b.scope.guard, index)
    read = loads(index)
    is_guarded = any(load.array in b.guarded for load in read)
    origin = index
    if not loops and (cost_of(index) > 1 or len(read) > 1 or is_guarded):
        index = _variable(b, index, place, pending)
    found = checked(
        b, index, extent, place, pending, loops, wraps=wraps, stated=stated, origin=origin
    )
    return _variable(b, found, place, pending) if held else found


def _is_signed(index: Expr) -> bool:
    """A NumPy scalar of an unsigned type is never negative, even where its cast is."""
    inner = index
    while hasattr(inner, "operand") and inner.dtype is DType.INT64:
        inner = inner.operand
    return inner.dtype is not DType.UINT64


def _variable(b: Builder, value: Expr, place: SubscriptSite, pending: Pending | None) -> Expr:
    """Return a variable with the subscript; only a writer knows that it has been evaluated."""
    name = place.text if place.text.isidentifier() else "at"
    if pending is not None:
        return stored_number(b, Number(value, False), name).expr
    return stored_subscript(b, value, name)


def checked(
    b: Builder,
    index: Expr,
    extent: Expr,
    place: SubscriptSite,
    pending: Pending | None = None,
    loops: Sequence[Loop] = (),
    *,
    wraps: bool = True,
    stated: Interval = ANY,
    origin: Expr | None = None,
) -> Expr:
    """Return the position in iterations of `loops`: checked, and inside whatever the subscript.

    `stated` are bounds that hold where the subscript is evaluated: none is checked again.
    `origin`: the expression whose value the variable `index` has.
    """
    with b.within(loops):
        below, above = _leaves(b, stated, extent)
        full = _nonempty(b, extent, place, pending) if below or above else None
        found, low, high = _wrapped(b, index, extent, wraps and below)
    inside = limited(found, extent, below=low is not None, above=high is not None)
    needed = (full, low if below else None, high if above else None)
    conditions = [condition for condition in needed if condition is not None]
    if conditions:
        message = f"`{place.text}` is out of bounds of `{place.name}`, whose extent there is "
        read = index
        while isinstance(read, Cast):
            read = read.operand
        asked = Subscripts(read.array if isinstance(read, Load) else "", extent, wraps)
        number = b.fault(CODE, message + show(extent), place.loc, HINT, asked)
        both_ends = pending is None and below and above and None not in (low, high)
        if both_ends:  # one comparison in place of two, of values that the access needs
            moved = Compare(CompareOp.NE, inside, found)
            outside = moved if full is None else either(negated(full), moved)
        else:
            outside = FALSE
            for condition in conditions:
                outside = either(outside, negated(condition))
        if loops:
            b.fail_where(outside, number, loops)
        else:
            first = minus(ZERO, extent) if wraps else ZERO
            note_subscript(b, outside, number, index if origin is None else origin, first, extent)
    if pending is not None:
        pending.conditions += conditions
        return found
    return inside


def limited(found: Expr, extent: Expr, *, below: bool = True, above: bool = True) -> Expr:
    """Return a position inside, the first or last element where `found` leaves at that end."""
    if below:
        found = Binary(BinaryOp.MAX, found, ZERO, DType.INT64)
    if above:
        found = Binary(BinaryOp.MIN, found, plus(extent, -1), DType.INT64)
    return found


def _leaves(b: Builder, stated: Interval, extent: Expr) -> tuple[bool, bool]:
    """Tell whether bounds let a subscript lie before, and behind, the elements of a dimension."""
    below = stated.low is None or not b.never(less(stated.low, ZERO))
    return below, stated.high is None or not b.never(at_least(stated.high, extent))


def _nonempty(
    b: Builder, extent: Expr, place: SubscriptSite, pending: Pending | None
) -> Expr | None:
    """Return the condition that there are elements, if the kernel has to see to it.

    For code that is for all sizes it is no matter of the call where data decides whether the
    subscript is evaluated.
    """
    condition = at_least(extent, ONE)
    if b.always(condition):
        return None
    is_guarded = b.scope.guard != TRUE and b.facts.any_sizes
    if is_guarded and pending is not None:
        return condition
    if is_guarded and place.hollow is not None:
        place.hollow.append(condition)
        return condition
    message = f"`{place.text}` would leave `{place.name}`, which is empty there"
    b.demand(condition, "PO0170", message, place.loc, "pass an array that is not empty")
    return None


def require_below(b: Builder, values: Tensor, count: int, message: str, loc: Loc | None) -> None:
    """Require integers to be in `range(count)`; none counts from the end."""
    loops, index = b.fresh_loops(values.shape)
    element = cast(values.at(index), DType.INT64)
    with b.within(loops):
        bounds = interval_of(element, b.intervals, b.span_of)
        below = bounds.low is None or not b.never(less(bounds.low, ZERO))
        above = bounds.high is None or not b.never(at_least(bounds.high, integer(count)))
    outside = either(
        less(element, ZERO) if below else FALSE,
        at_least(element, integer(count)) if above else FALSE,
    )
    if outside != FALSE:
        b.fail_where(outside, b.fault("PO0232", message, loc, HINT), loops)


def _wrapped(
    b: Builder, index: Expr, extent: Expr, wraps: bool
) -> tuple[Expr, Expr | None, Expr | None]:
    """Return the subscript counted from the front, and the conditions that it needs to be inside.

    None: it is known to hold, given that the array is not empty.
    """
    bounds = interval_of(index, b.intervals, b.span_of)
    below = bounds.low is None or not _never(b, less(bounds.low, ZERO), extent)
    above = bounds.high is None or not _never(b, at_least(bounds.high, extent), extent)
    found = index
    if below and wraps:
        found = select(less(index, ZERO), _sum(index, extent), index)
        below = bounds.low is None or not _never(b, less(_sum(bounds.low, extent), ZERO), extent)
    high = less(found, extent) if above else None
    return found, at_least(found, ZERO) if below else None, high


def _sum(index: Expr, extent: Expr) -> Expr:
    return Binary(BinaryOp.ADD, index, extent, DType.INT64)


def _never(b: Builder, condition: Expr, extent: Expr) -> bool:
    """Whether the condition never holds for an array that is not empty."""
    return b.never(condition, (at_least(extent, ONE),))
