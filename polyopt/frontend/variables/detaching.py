"""Other names of an array that is about to be replaced keep its elements."""

from __future__ import annotations

from collections.abc import Iterable

from polyopt.errors import Loc
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.memory import stored
from polyopt.frontend.program.snapshots import stand_for_named
from polyopt.frontend.program.statement_domains import is_same_place
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.values import Buffer, Sequence, Tensor, Value
from polyopt.frontend.variables.call_frames import Frame

HINT = "write into the array with `name[:] = ...`, or start from a `.copy()`"


def detach(
    b: Builder, frame: Frame, name: str, buffer: Buffer, live: frozenset[str] | None
) -> None:
    """Other names for the array that is about to be replaced keep its elements in a copy.

    `live`: the names that may be read later, None where that is not known.  A copy is made where
    the name was bound, so that it is not made anew, or left out, in a loop or branch inside.
    """
    for other, value in list(frame.env.items()):
        if other == name or not sees(value, buffer):
            continue
        pin = frame.pins.get(other)
        if pin is not None and pin.buffer is buffer:
            continue
        if live is not None and other not in live:
            continue
        reason = f"`{name}` is bound again while `{other}` stands for the array it was"
        scope = frame.scopes.get(other, frame.home)
        if scope is None or not is_same_place(scope, b.scope):
            refuse("PO0160", f"{reason}, in a loop or branch", b.loc, HINT)
        if not isinstance(value, Tensor):
            refuse("PO0160", f"a tuple holds the array `{name}`, which is bound again", b.loc, HINT)
        copy = stored(b, Tensor(value.shape, value.dtype, value.at), other)
        frame.env[other] = copy
        for found in b.copied:
            if found.copy == buffer.name and copy.view is not None:
                stand_for_named(b, copy.view.buffer.name, found.source, reason, b.loc)
        if copy.view is not None:
            b.copies[copy.view.buffer.name] = reason


def unpin(b: Builder, frame: Frame, names: Iterable[str], loc: Loc | None) -> None:
    """End the pins of `names`: the next assignment makes a new variable."""
    for name in names:
        pin = frame.pins.pop(name)
        if pin.source is None or pin.back is not None:
            continue
        if any(draft.target.array == pin.source.name for draft in b.drafts[pin.start :]):
            message = f"`{name}` is bound again while the array it started as is written"
            refuse("PO0160", message, loc, HINT)


def sees(value: Value, buffer: Buffer) -> bool:
    match value:
        case Tensor(view=view):
            return view is not None and view.buffer is buffer
        case Sequence(items=items):
            return any(sees(item, buffer) for item in items)
        case _:
            return False
