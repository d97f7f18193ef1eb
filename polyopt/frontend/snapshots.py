"""Copies that stand for one of several arrays, where Python has another name of the array itself.

In: a copy and the arrays it may stand for.  Out: nothing; refuses what tells it from the original:
writes into the copy (`pins.refuse_write`), writes into the arrays while it is read (PO0160).
"""

from __future__ import annotations

from collections.abc import Sequence

from polyopt.errors import Loc
from polyopt.frontend.builder import Builder, Draft, Snapshot, arrays_of
from polyopt.frontend.codes import refuse
from polyopt.frontend.domains import scope_exprs
from polyopt.frontend.memory import stored
from polyopt.frontend.values import Buffer, Tensor, is_same_view

HINT = "take a `.copy()` where a copy is meant, or write the cases out in an `if`"


def picked_side(b: Builder, value: Tensor, sides: tuple[Tensor, Tensor], loc: Loc | None) -> Tensor:
    """Return `sides[0] if condition else sides[1]`, whose elements are those of `value`."""
    if is_same_view(*sides):
        return sides[0]
    if all(side.view is None for side in sides):
        return value
    copy = stored(b, value, "picked")
    assert copy.view is not None
    stand_for(b, copy.view.buffer, sides, "a conditional expression picks one of two arrays", loc)
    return copy


def stand_for(
    b: Builder, copy: Buffer, sides: Sequence[Tensor], reason: str, loc: Loc | None
) -> None:
    """Note that `copy` stands for one of `sides`, of which those in memory count."""
    sources = frozenset(side.view.buffer.name for side in sides if side.view is not None)
    if sources:
        b.copies[copy.name] = reason
        b.snapshots.append(Snapshot(copy.name, sources, len(b.drafts), reason, loc))


def stand_for_named(b: Builder, copy: str, source: str, reason: str, loc: Loc | None) -> None:
    """Note that `copy` may stand for the array `source`."""
    b.copies[copy] = reason
    b.snapshots.append(Snapshot(copy, frozenset([source]), len(b.drafts), reason, loc))


def refuse_stale(b: Builder) -> None:
    """Refuse programs that read a copy after one of the arrays it may stand for was written."""
    for found in b.snapshots:
        is_written = False
        for number, draft in enumerate(b.drafts[found.start :], found.start):
            if is_written and draft.target.array != found.copy and found.copy in read_by(draft):
                message = f"{found.reason}; an array that it may be is written while it is used"
                refuse("PO0160", message, draft.loc or found.loc, HINT)
            is_a_write = draft.target.array in found.sources and number not in b.rebinding
            is_written = is_written or is_a_write


def read_by(draft: Draft) -> frozenset[str]:
    """Return the arrays that a draft reads."""
    exprs = (draft.value, *draft.target.index, draft.scope.guard, *scope_exprs(draft.scope))
    return frozenset[str]().union(*map(arrays_of, exprs))
