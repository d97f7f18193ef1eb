"""Values kept in other storage than the source's: every read still finds its producer's.

In: the accesses in both storages.  Out: claims, one an array that moved.
Decided in the source's order, in which the new elements must serve as well as the old ones; that
the loops keep the order of accesses to each new element is for `order` to decide.
"""

from __future__ import annotations

import islpy as isl

from polyopt.ir.scop import AccessKind
from polyopt.proof.accesses import Touch
from polyopt.proof.certificate import Claim, ClaimKind, Verdict
from polyopt.proof.source import SourcePart, producers


def check_storage(part: SourcePart, found: tuple[Touch, ...]) -> tuple[Claim, ...]:
    """Return whether each array that moved keeps its dataflow."""
    moved = dict.fromkeys(t.access.array for t in found if t.is_moved)
    return tuple(_check(part, array, [t for t in found if t.access.array == array]) for array in moved)


def _check(part: SourcePart, array: str, touches: list[Touch]) -> Claim:
    if not part.is_temporary(array):
        return _open(array, "its elements are seen after the part")
    if not all(t.is_moved for t in touches):
        return _open(array, "only some of its accesses moved")
    source = _flow(part, touches, moved=False)
    now = _flow(part, touches, moved=True)
    if not now.is_equal(source):
        return Claim(
            ClaimKind.STORAGE, array, Verdict.REFUTED, str(source), "a value is overwritten before it is read"
        )
    return Claim(ClaimKind.STORAGE, array, Verdict.PROVEN, str(source))


def _open(array: str, reason: str) -> Claim:
    return Claim(ClaimKind.STORAGE, array, Verdict.OPEN, "", reason)


def _flow(part: SourcePart, touches: list[Touch], *, moved: bool) -> isl.UnionMap:
    context = part.scop.context
    unions = {kind: isl.UnionMap.empty(context.get_space()) for kind in AccessKind}
    for touch in touches:
        relation = touch.relation if moved else touch.access.relation
        kind = touch.access.kind
        one = isl.UnionMap.from_map(relation.intersect_params(context))
        unions[kind] = unions[kind].union(one)
    must, may = unions[AccessKind.MUST_WRITE], unions[AccessKind.MAY_WRITE]
    return producers(part.scop, unions[AccessKind.READ], must, may)
