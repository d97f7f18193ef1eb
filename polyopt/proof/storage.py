"""Check values kept in other storage than the source's: every read still finds its producer's.

In: the accesses in both storages, the loops.  Out: claims, one for each array that moved, and the
arrays whose accesses need no further order.
Checked in the source's order, in which the new elements must serve as well as the old ones;
`order` then checks that the loops keep the order of accesses to each new element.  Where they
serve only in the loops' own order, the dataflow is checked in that order.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

import islpy as isl

from polyopt.dataclass import dataclass
from polyopt.ir.expr import Expr, integer
from polyopt.ir.scop import AccessKind
from polyopt.proof.accesses import InstanceAccess, Tagged
from polyopt.proof.affine import NotAffine
from polyopt.proof.certificate import Claim, ClaimKind, Verdict
from polyopt.proof.coordinates import over_instance
from polyopt.proof.reading import RunTree, runs_with_times
from polyopt.proof.source import SourcePart, producers, producers_in


@dataclass(frozen=True, eq=False)
class Storage:
    """The claims about arrays that moved; `settled` are those whose dataflow the loops keep."""

    claims: tuple[Claim, ...]
    settled: frozenset[str]


def check_storage(
    part: SourcePart, nest: RunTree, runs: tuple[Tagged, ...], found: tuple[InstanceAccess, ...]
) -> Storage:
    """Return whether each array that moved keeps its dataflow."""
    claims: list[Claim] = []
    settled: set[str] = set()
    moved = _moved_arrays(found)
    by_array: dict[str, list[int]] = {}
    for number, touch in enumerate(found):
        by_array.setdefault(touch.access.array, []).append(number)
    for arrays in _sharing(found):
        touches = [found[n] for n in sorted(n for array in arrays for n in by_array[array])]
        name = ", ".join(arrays)
        if not all(map(part.is_temporary, arrays)):
            claims.append(_open(name, "its elements are seen after the part"))
        elif any(t.access.array in moved and not t.is_moved for t in touches):
            claims.append(_open(name, "only some of its accesses moved"))
        else:
            sources = _flows(part, touches, moved=False, times=None)
            source = reduce(isl.UnionMap.union, sources)
            if not _are_equal(_flows(part, touches, moved=True, times=None), sources):
                times = _times(part, nest, runs, {t.statement.name for t in touches})
                if not _are_equal(_flows(part, touches, moved=True, times=times), sources):
                    reason = "a value is overwritten before it is read"
                    claim = Claim(ClaimKind.STORAGE, name, Verdict.REFUTED, str(source), reason)
                    claims.append(claim)
                    continue
                settled.update(arrays)
            claims.append(Claim(ClaimKind.STORAGE, name, Verdict.PROVEN, str(source)))
    return Storage(tuple(claims), frozenset(settled))


def _moved_arrays(found: tuple[InstanceAccess, ...]) -> dict[str, None]:
    """Return the arrays with accesses to other storage, in order."""
    return dict.fromkeys(touch.access.array for touch in found if touch.is_moved)


def _sharing(found: tuple[InstanceAccess, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the arrays that moved, grouped by the storage that they share."""
    arrays: dict[str, set[str]] = {}  # storage -> the source's arrays in it
    for touch in found:
        home = touch.relation.get_tuple_name(isl.dim_type.out)
        arrays.setdefault(str(home), set()).add(touch.access.array)
    left = list(_moved_arrays(found))
    while left:
        group = {left[0]}
        while True:
            more = group.union(*(held for held in arrays.values() if held & group))
            if more == group:
                break
            group = more
        yield tuple(sorted(group))
        left = [array for array in left if array not in group]


def _open(array: str, reason: str) -> Claim:
    return Claim(ClaimKind.STORAGE, array, Verdict.OPEN, "", reason)


def _are_equal(one: list[isl.UnionMap], two: list[isl.UnionMap]) -> bool:
    return all(mine.is_equal(other) for mine, other in zip(one, two, strict=True))


def _flows(
    part: SourcePart, touches: list[InstanceAccess], *, moved: bool, times: isl.UnionMap | None
) -> list[isl.UnionMap]:
    """Return last write -> read, each read of a statement in a map of its own."""
    context = part.scop.context
    empty = isl.UnionMap.empty(context.get_space())
    must, may, reads, seen = empty, empty, [empty], dict[str, int]()
    for touch in touches:
        relation = touch.relation if moved else touch.access.relation
        one = isl.UnionMap.from_map(relation.intersect_params(context))
        match touch.access.kind:
            case AccessKind.MUST_WRITE:
                must = must.union(one)
            case AccessKind.MAY_WRITE:
                may = may.union(one)
            case AccessKind.READ:
                number = seen.setdefault(touch.statement.name, 0)
                seen[touch.statement.name] += 1
                reads += [empty] * (number + 1 - len(reads))
                reads[number] = reads[number].union(one)
    if times is None:
        return [producers(part.scop, sink, must, may) for sink in reads]
    return [producers_in(times, sink, must, may) for sink in reads]


def _times(
    part: SourcePart, nest: RunTree, runs: tuple[Tagged, ...], names: set[str]
) -> isl.UnionMap:
    """Return instance -> its time in the loops, for the statements called `names`."""
    placed = {id(tagged.run): tagged for tagged in runs}
    timed = [(run, time) for run, time in runs_with_times(nest.body) if run.statement in names]
    length = max((len(time) for _, time in timed), default=1)
    result = isl.UnionMap.empty(part.scop.context.get_space())
    for run, time in timed:
        padded = (*time, *[integer(0)] * (length - len(time)))
        one = _of_instance(placed[id(run)], padded)
        if one is None:
            one = run.back.apply_range(run.path.frame.map_to("", padded))
        else:
            one = one.intersect_domain(run.executed)
        result = result.union(isl.UnionMap.from_map(one))
    return result.intersect_params(part.scop.context)


def _of_instance(tagged: Tagged, time: tuple[Expr, ...]) -> isl.Map | None:
    names = set(tagged.run.path.frame.dims)
    values = [over_instance(part, tagged.placed.known, names) for part in time]
    if any(value is None for value in values):
        return None
    try:
        return tagged.placed.quotients.element("", tuple(v for v in values if v is not None))
    except NotAffine:
        return None
