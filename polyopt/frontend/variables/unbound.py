"""Names that only some paths set: a variable, and a flag that tells whether it is set.

In: names set in one branch and read later.  Out: their values, checked where they are read.
What Python raises as `UnboundLocalError` is a fault (PO0125).
"""

from __future__ import annotations

from polyopt.errors import Loc
from polyopt.frontend.integers.affine_integers import FALSE, negated
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.facts import Occurrence
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.promote import cast, joined, number_of
from polyopt.frontend.values.values import Gone, Known, Number, Perhaps, Value
from polyopt.frontend.variables.dynamic_types import number_in
from polyopt.ir.types import DType

HINT = "assign it before the `if` too"


def unset(name: str, place: Occurrence | None, *values: Value | None) -> Gone | Perhaps:
    """Return what a name stands for that one branch at `place` does not set."""
    for value in values:
        if isinstance(value, Perhaps) and all(v is None or v is value for v in values):
            return value
    places: tuple[Occurrence, ...] = () if place is None else (place,)
    kind: tuple[DType, bool] | None = None
    for value in values:
        found = _kind(value)
        if found is None and value is not None and not isinstance(value, Gone):
            places, kind = (), None
            break
        if found is not None:
            kind = found if kind is None else joined(kind, found, None)
        if isinstance(value, Gone):
            places += value.partial
    return Gone("PO0125", f"`{name}` is set in one branch only", HINT, places, kind)


def _kind(value: Value | None) -> tuple[DType, bool] | None:
    match value:
        case Number():
            return value.dtype, value.weak
        case Known(value=known) if (number := number_of(known, None)) is not None:
            return number.dtype, number.weak
        case Perhaps():
            return value.buffer.dtype, value.weak
        case Gone():
            return value.kind
        case _:
            return None


def learn(b: Builder, gone: Gone, loc: Loc | None) -> Number:
    """A name that may have no value is read: the next reading has a variable and a flag for it."""
    if gone.kind is None or not gone.partial or set(gone.partial) <= b.facts.partial:
        refuse(gone.code, gone.reason, loc, gone.hint)
    dtype, weak = gone.kind
    for place in gone.partial:
        b.facts.set_width(place, dtype, weak, loc)
        b.facts.add(b.facts.merged, place)
        b.facts.add(b.facts.partial, place)
    return Number(cast(FALSE, dtype), weak)


def value_of(b: Builder, name: str, value: Perhaps, loc: Loc | None) -> Number:
    """Return the value, which must be there."""
    reason = f"`{name}` has no value here: no branch that was taken sets it"
    number = b.fault("PO0125", reason, loc, HINT)
    b.fail_where(negated(value.flag), number)
    return number_in(value.buffer, value.weak)
