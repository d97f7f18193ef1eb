"""Lists whose length only the running kernel knows: a buffer with room for all, and a count.

In: items that are appended under conditions or in several loops.  Out: stores at the count.
Refuses: items that are arrays, and loops that do not say how often they run (PO0152).
"""

from __future__ import annotations

from polyopt.errors import Loc
from polyopt.frontend.integers.affine_integers import (
    ONE,
    ZERO,
    at_least,
    both,
    negated,
    plus,
    times,
)
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.drafts import Binding, dynamic_params
from polyopt.frontend.program.facts import Occurrence
from polyopt.frontend.program.statement_domains import ENDLESS, Scope
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.computed_sizes import as_affine, is_over_params
from polyopt.frontend.values.promote import cast
from polyopt.frontend.values.values import Growing, Number, Tensor, viewed
from polyopt.frontend.variables.name_rotation import trips
from polyopt.ir.expr import Binary, BinaryOp, Expr, Load, integer
from polyopt.ir.types import DType

HINT = "fill an array by subscripts: out = np.zeros(n), out[i] = value"


def made(b: Builder, name: str, place: Occurrence, items: tuple[Number, ...]) -> Growing:
    """Return a list that an earlier reading saw growing, with its first items."""
    for item in items:
        b.facts.set_width(place, item.dtype, item.weak, b.loc)
    dtype, weak = b.facts.widths[place]
    room: Expr = integer(len(items))
    for more in b.facts.grown[place].values():
        room = plus(room, more)
    room = b.facts.resolve(room)
    bound = {mark.what.param for mark in b.marks if isinstance(mark.what, Binding)}
    if dynamic_params(room) - bound:
        refuse("PO0152", f"how many items `{name}` gets is found after it is made", b.loc, HINT)
    room = b.dynamic(as_affine(b.facts, room) if is_over_params(room) else room, "room")
    buffer = b.new_buffer(name, dtype, (room,))
    buffer.is_list = True
    buffer.weak = weak
    count = b.unconditional(f"{name}_count", integer(len(items)), ZERO)
    for n, item in enumerate(items):
        b.emit((), Load(buffer.name, (integer(n),), dtype), cast(item.expr, dtype, b.loc))
    return Growing(buffer, count, weak)


def grow(
    b: Builder,
    name: str,
    places: tuple[Occurrence, Occurrence],
    home: Scope,
    item: Number,
    found: object,
) -> None:
    """Append `item`, once an earlier reading has seen the list grow here."""
    place, site = places
    if site in b.facts.grown.get(place, {}) and not isinstance(found, Growing):
        refuse("PO0152", f"`{name}` cannot grow here", b.loc, HINT)
    b.facts.set_width(place, item.dtype, item.weak, b.loc)
    b.facts.set_room(place, site, _room(b, name, home))
    if not isinstance(found, Growing):
        return
    dtype = found.buffer.dtype
    b.emit((), Load(found.buffer.name, (found.count,), dtype), cast(item.expr, dtype, b.loc))
    b.emit((), found.count, Binary(BinaryOp.ADD, found.count, ONE, DType.INT64))


def shrink(
    b: Builder,
    name: str,
    places: tuple[Occurrence, Occurrence],
    found: Growing | None,
    last: Number | None,
) -> Number:
    """Take the last item, once an earlier reading has seen the list shrink here.

    `last` is that item where it is known, for the readings before.
    """
    place, site = places
    if found is None and (last is None or site in b.facts.grown.get(place, {})):
        refuse("PO0152", f"`{name}` cannot shrink here", b.loc, HINT)
    b.facts.set_room(place, site, ZERO)
    if found is None:
        assert last is not None
        b.facts.set_width(place, last.dtype, last.weak, b.loc)
        return last
    is_some = at_least(found.count, ONE)
    b.fail_where(negated(is_some), b.fault("PO0231", f"`{name}` is empty", b.loc, HINT))
    dtype, fewer = found.buffer.dtype, Binary(BinaryOp.SUB, found.count, ONE, DType.INT64)
    item = Load(b.new_buffer("popped", dtype, ()).name, (), dtype)
    with b.under((), is_some):
        b.emit((), item, Load(found.buffer.name, (fewer,), dtype))
        b.emit((), found.count, fewer)
    return Number(item, found.weak)


def _room(b: Builder, name: str, home: Scope) -> Expr:
    """Return how many items the loops around may append."""
    room: Expr = ONE
    for loop in b.scope.loops[len(home.loops) :]:
        if loop.upper == ENDLESS:
            refuse("PO0152", f"how many items `{name}` gets is not known", b.loc, HINT)
        room = times(room, b.bounded(trips(b, loop)))
    return room


def as_array(b: Builder, value: Growing, loc: Loc | None) -> Tensor:
    """Return the items that the list has here."""
    room = value.buffer.shape[0]
    count = b.bound_here(value.count, "count")
    inside = both(at_least(count, ZERO), at_least(room, count))
    b.demand(inside, "PO0152", "a list has no more items than were appended", loc)
    b.bounds[count] = room
    return viewed(value.buffer, (count,), lambda index: index)
