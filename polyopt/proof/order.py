"""Is every pair of conflicting instances run in the source's order, and none at the same time?

In: what the instances touch, the tree of runs.  Out: the first violation, or None.
Memory-based: any two instances that touch an element, one of them writing, conflict.  The tree is
walked once from the outside; a loop or a sequence orders pairs, those it leaves equal go on.
"""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from polyopt.ir.loops import LoopKind
from polyopt.proof.accesses import Touch
from polyopt.proof.reading import Loop, Piece, Run, all_runs, executed
from polyopt.proof.source import SourcePart


@dataclass(frozen=True, eq=False)
class Conflict:
    """Pairs that are broken; `where` names the loop or says that it is a sequence."""

    pairs: isl.UnionMap
    where: str
    is_concurrent: bool


@dataclass(frozen=True, eq=False)
class Pairs:
    """Conflicting pairs, the source's earlier instance first, that nothing outside has ordered.

    `kept` must keep their order; `sums` are updates of one accumulator by one reduction, array by
    array: any order, but not at the same time.
    """

    kept: isl.UnionMap
    sums: dict[str, isl.UnionMap]

    def inside(self, domain: isl.UnionSet) -> Pairs:
        """Return the pairs of which both lie in `domain`."""
        return Pairs(
            _within(self.kept, domain, domain),
            {a: _within(p, domain, domain) for a, p in self.sums.items()},
        )

    def equal(self, value: isl.MultiUnionPwAff) -> Pairs:
        """Return the pairs that `value` does not separate."""
        return Pairs(
            self.kept.eq_at_multi_union_pw_aff(value),
            {a: p.eq_at_multi_union_pw_aff(value) for a, p in self.sums.items()},
        )

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to order."""
        return bool(self.kept.is_empty()) and all(p.is_empty() for p in self.sums.values())


def conflicts(part: SourcePart, found: tuple[Touch, ...]) -> Pairs:
    """Return all conflicting pairs of a part."""
    space = part.scop.context.get_space()
    empty = isl.UnionMap.empty(space)
    groups: dict[str, list[Touch]] = {}
    for touch in found:
        group = touch.statement.name if touch.accumulates else ""
        groups.setdefault(group, []).append(touch)
    kept = empty
    sums: dict[str, isl.UnionMap] = {}
    unions = {name: _reads_and_writes(group, empty) for name, group in groups.items()}
    names = list(unions)
    for one in names:
        for two in names:
            pairs = _touching(unions[one], unions[two])
            if one and one == two:
                array = groups[one][0].statement.target.array
                ordered = pairs.lex_lt_at_multi_union_pw_aff(part.times)
                sums[array] = sums[array].union(ordered) if array in sums else ordered
            else:
                kept = kept.union(pairs)
    if kept.is_empty():
        return Pairs(kept, sums)
    return Pairs(kept.lex_lt_at_multi_union_pw_aff(part.times).coalesce(), sums)


def _reads_and_writes(
    touches: list[Touch], empty: isl.UnionMap
) -> tuple[isl.UnionMap, isl.UnionMap]:
    reads = writes = empty
    for touch in touches:
        one = isl.UnionMap.from_map(touch.relation)
        if touch.writes:
            writes = writes.union(one)
        else:
            reads = reads.union(one)
    return reads, writes


def _touching(
    one: tuple[isl.UnionMap, isl.UnionMap], two: tuple[isl.UnionMap, isl.UnionMap]
) -> isl.UnionMap:
    """Return instance -> instance that touch one element, at least one writing."""
    reads, writes = one
    others, written = two
    found = writes.apply_range(others.union(written).reverse())
    return found.union(reads.apply_range(written.reverse()))


def find_conflict(part: SourcePart, body: tuple[Piece, ...], pairs: Pairs) -> Conflict | None:
    """Return a conflict that the loops break, or None: then they keep every one."""
    return _body(body, pairs, part.scop.context.get_space())


def _body(body: tuple[Piece, ...], pairs: Pairs, space: isl.Space) -> Conflict | None:
    if pairs.is_empty:
        return None
    if len(body) == 1:
        return _piece(body[0], pairs, space)
    before: isl.UnionSet | None = None
    sets = [executed((piece,), space) for piece in body]
    for own in sets:
        if before is not None:
            backwards = _within(pairs.kept, own, before)
            if not backwards.is_empty():
                return Conflict(backwards, "the order of statements", False)
        before = own if before is None else before.union(own)
    for piece, own in zip(body, sets, strict=True):
        inner = pairs.inside(own)
        found = None if inner.is_empty else _piece(piece, inner, space)
        if found is not None:
            return found
    return None


def _piece(piece: Piece, pairs: Pairs, space: isl.Space) -> Conflict | None:
    match piece:
        case Run():
            if piece.statement and not pairs.kept.is_empty():
                return Conflict(pairs.kept, f"{piece.statement}", False)
            return None
        case Loop():
            return _loop(piece, pairs, space)


def _loop(loop: Loop, pairs: Pairs, space: isl.Space) -> Conflict | None:
    value = _iterator(loop, space)
    if value is None:
        return None
    backwards = pairs.kept.lex_gt_at_multi_union_pw_aff(value)
    if not backwards.is_empty():
        return Conflict(backwards, f"loop {loop.loop.iter}", False)
    equal = pairs.equal(value)
    if loop.loop.kind in (LoopKind.PARALLEL, LoopKind.VECTOR):
        private = {symbol.name for _, symbol in loop.loop.reductions}
        together = [(pairs.kept, equal.kept)]
        together += [(pairs.sums[a], equal.sums[a]) for a in pairs.sums if a not in private]
        for every, same in together:
            carried = every.subtract(same)
            if not carried.is_empty():
                return Conflict(carried, f"loop {loop.loop.iter}", True)
    return _body(loop.body, equal, space)


def _iterator(loop: Loop, space: isl.Space) -> isl.MultiUnionPwAff | None:
    """Return instance -> the loop's iterator, for the instances below it."""
    result = isl.UnionMap.empty(space)
    for run in all_runs(loop.body):
        if run.statement:
            count = run.back.dim(isl.dim_type.out)
            one = run.back.project_out(
                isl.dim_type.out, loop.depth + 1, count - loop.depth - 1
            ).project_out(isl.dim_type.out, 0, loop.depth)
            result = result.union(isl.UnionMap.from_map(one.coalesce()))
    if result.is_empty():
        return None
    return isl.MultiUnionPwAff.from_union_map(result.coalesce())


def _within(pairs: isl.UnionMap, first: isl.UnionSet, second: isl.UnionSet) -> isl.UnionMap:
    return pairs.intersect_domain(first).intersect_range(second)
