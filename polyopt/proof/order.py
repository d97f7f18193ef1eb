"""Check that conflicting instances run in the source's order, and none at the same time.

In: the accesses of instances, the tree of runs.  Out: claims.
Compares only instances whose order the text of the loops does not fix (`syntactic_order`).
Memory-based: any two instances that access an element, one of them writing, conflict.  The tree is
walked once from the outside in; a loop or a sequence orders pairs, those it leaves equal go on.
"""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from polyopt.dataclass import dataclass
from polyopt.ir.affine import coalesced
from polyopt.ir.expr import BinaryOp, Expr, Load, Symbol
from polyopt.ir.loops import CONCURRENT, LoopKind
from polyopt.ir.names import iterators
from polyopt.ir.parameters import joined
from polyopt.proof.accesses import InstanceAccess
from polyopt.proof.certificate import Claim, ClaimKind, Verdict
from polyopt.proof.instances import PlacedRun
from polyopt.proof.reading import Loop, Piece, Run, all_runs
from polyopt.proof.source import SourcePart
from polyopt.proof.syntactic_order import undecided_orders

SETTLED = "the text of the loops keeps the order of the source"
"""What is decided where no pairs that conflict had to be compared."""


@dataclass(frozen=True, eq=False)
class Conflict:
    """Violated pairs; `where` names the loop or says that it is a sequence."""

    pairs: isl.UnionMap
    where: str
    is_concurrent: bool


@dataclass(frozen=True, eq=False)
class Pairs:
    """Conflicting pairs, the source's earlier instance first, not ordered by the loops outside.

    `kept` must keep their order; `sums` are updates of one element by one reduction, or by exactly
    commutative operations, by array: any order, but not at the same time.
    """

    kept: isl.UnionMap
    sums: dict[str, isl.UnionMap]

    def inside(self, domain: isl.UnionSet) -> Pairs:
        """Return the pairs with both instances in `domain`."""
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
        """Whether no pair is left to order."""
        return bool(self.kept.is_empty()) and all(p.is_empty() for p in self.sums.values())


def check_order(
    part: SourcePart,
    body: tuple[Piece, ...],
    places: tuple[PlacedRun, ...],
    found: tuple[InstanceAccess, ...],
    settled: frozenset[str] = frozenset(),
) -> Iterator[Claim]:
    """Yield whether every pair of conflicting instances keeps the source's order.

    Accesses to arrays in `settled` may have any order: their dataflow was checked separately.
    """
    touched: dict[str, list[InstanceAccess]] = {}
    for touch in found:
        touched.setdefault(touch.statement.name, []).append(touch)
    kept: list[isl.UnionMap] = []
    for undecided in undecided_orders(body, places, touched):
        mine = [touch for name in sorted(undecided.statements) for touch in touched.get(name, ())]
        pairs = conflicts(part, tuple(mine), settled)
        kept.append(pairs.kept)
        broken = find_conflict(part, undecided.body, places, pairs)
        if broken is not None:
            kind = ClaimKind.CONCURRENCY if broken.is_concurrent else ClaimKind.ORDER
            yield Claim(kind, broken.where, Verdict.REFUTED, str(broken.pairs), "")
            return
    compared = joined(isl.UnionMap.empty(part.scop.context.get_space()), kept)
    formula = SETTLED if compared.is_empty() else str(compared)
    yield Claim(ClaimKind.ORDER, "all pairs", Verdict.PROVEN, formula)
    yield Claim(ClaimKind.CONCURRENCY, "all loops", Verdict.PROVEN, "")


def conflicts(
    part: SourcePart, found: tuple[InstanceAccess, ...], settled: frozenset[str] = frozenset()
) -> Pairs:
    """Return all conflicting pairs of a part.

    Accesses to arrays in `settled` may have any order: their dataflow was checked separately.
    """
    space = part.scop.context.get_space()
    empty = isl.UnionMap.empty(space)
    groups: dict[str, list[InstanceAccess]] = {}
    for touch in found:
        group = touch.accumulates
        if touch.access.array in settled:
            group = f"{touch.access.array}:"
        groups.setdefault(group, []).append(touch)
    kept = empty
    sums: dict[str, isl.UnionMap] = {}
    unions = {name: _reads_and_writes(group, empty) for name, group in groups.items()}
    names = list(unions)
    for one in names:
        for two in names:
            pairs = _touching(unions[one], unions[two])
            if one and one == two:
                array = groups[one][0].access.array
                ordered = part.in_order(pairs)
                sums[array] = sums[array].union(ordered) if array in sums else ordered
            else:
                kept = kept.union(pairs)
    if kept.is_empty():
        return Pairs(kept, sums)
    return Pairs(coalesced(part.in_order(kept)), sums)


def _reads_and_writes(
    touches: list[InstanceAccess], empty: isl.UnionMap
) -> tuple[isl.UnionMap, isl.UnionMap]:
    reads = [touch.relation for touch in touches if not touch.writes]
    writes = [touch.relation for touch in touches if touch.writes]
    return (
        joined(empty, map(isl.UnionMap.from_map, reads)),
        joined(empty, map(isl.UnionMap.from_map, writes)),
    )


def _touching(
    one: tuple[isl.UnionMap, isl.UnionMap], two: tuple[isl.UnionMap, isl.UnionMap]
) -> isl.UnionMap:
    """Return instance -> instance that access one element, at least one writing."""
    reads, writes = one
    others, written = two
    found = writes.apply_range(others.union(written).reverse())
    return found.union(reads.apply_range(written.reverse()))


def find_conflict(
    part: SourcePart, body: tuple[Piece, ...], places: tuple[PlacedRun, ...], pairs: Pairs
) -> Conflict | None:
    """Return a conflict whose order the loops violate, or None if they keep all."""
    by_run = {id(placed.run): placed for placed in places}
    return _Walk(part.scop.context.get_space(), by_run).body(body, pairs, ())


@dataclass(frozen=True, eq=False)
class _Walk:
    space: isl.Space
    places: dict[int, PlacedRun]

    def body(
        self, body: tuple[Piece, ...], pairs: Pairs, fixed: tuple[str, ...]
    ) -> Conflict | None:
        """Check a sequence of pieces; the iterators in `fixed` are sizes in `pairs`."""
        if pairs.is_empty or (pairs.kept.is_empty() and not _is_concurrent(body)):
            return None
        if len(body) == 1:
            return self.piece(body[0], pairs, fixed)
        if pairs.kept.is_empty():  # which piece runs a pair matters only if one is in conflict
            found = next((f for p in body if (f := self.piece(p, pairs, fixed))), None)
            if found is None:
                return None
        sets = self.parts(body, fixed)
        backwards = _backwards(pairs.kept, sets)
        if backwards is not None:
            return Conflict(backwards, "the order of statements", False)
        rough = self.parts(body, fixed, exact=False)
        for piece, own, more in zip(body, sets, rough, strict=True):
            # a superset of the piece's pairs that has a simple form most often suffices
            found = self.piece(piece, pairs.inside(more), fixed)
            if found is not None:
                inner = pairs.inside(own)
                exact = _Exact(self.space, self.places)
                found = None if inner.is_empty else exact.piece(piece, inner, fixed)
            if found is not None:
                return found
        return None

    def parts(
        self, body: tuple[Piece, ...], fixed: tuple[str, ...], *, exact: bool = True
    ) -> list[isl.UnionSet]:
        """Return for each piece a superset of its instances, the exact set if `exact`."""
        runs = [[run for run in all_runs((piece,)) if run.statement] for piece in body]
        homes: dict[str, set[int]] = {}
        for position, mine in enumerate(runs):
            for run in mine:
                homes.setdefault(run.statement, set()).add(position)
        found = []
        for mine in runs:
            own = isl.UnionSet.empty(self.space)
            for run in mine:
                if len(homes[run.statement]) == 1 or not exact:
                    here = isl.Set.universe(run.instances.range().get_space())
                else:
                    here = _at_fixed(run, fixed)
                own = own.union(isl.UnionSet.from_set(here))
            found.append(own)
        return found

    def piece(self, piece: Piece, pairs: Pairs, fixed: tuple[str, ...]) -> Conflict | None:
        """Check one piece."""
        match piece:
            case Run():
                if piece.statement and not pairs.kept.is_empty():
                    return Conflict(pairs.kept, f"{piece.statement}", False)
                return None
            case Loop():
                return self.loop(piece, pairs, fixed)

    def loop(self, loop: Loop, pairs: Pairs, fixed: tuple[str, ...]) -> Conflict | None:
        """Check a loop and its body."""
        value = self.iterator(loop)
        if value is None:
            return None
        backwards = pairs.kept.lex_gt_at_multi_union_pw_aff(value)
        if not backwards.is_empty():
            return Conflict(backwards, f"loop {loop.loop.iter}", False)
        inside = self.iteration(loop) if _has_split(loop.body) else None
        if inside is None or loop.loop.kind in CONCURRENT:
            equal = pairs.equal(value)
        if loop.loop.kind in CONCURRENT:
            private = self.private(loop)
            together = [(pairs.kept, equal.kept)]
            private |= self.at_once(loop)
            together += [(pairs.sums[a], equal.sums[a]) for a in pairs.sums if a not in private]
            for every, same in together:
                carried = every.subtract(same)
                if not carried.is_empty():
                    return Conflict(carried, f"loop {loop.loop.iter}", True)
        if inside is None:
            return self.body(loop.body, equal, fixed)
        return self.body(loop.body, pairs.inside(inside), (*fixed, loop.loop.iter))

    def private(self, loop: Loop) -> frozenset[str]:
        """Return the source's arrays of which every iteration privately reduces one element."""
        inner = {loop.loop.iter} | {p.loop.iter for p in all_loops(loop.body)}
        targets: dict[str, set[Load | Symbol]] = {}
        ops: dict[str, set[BinaryOp | None]] = {}
        for run in all_runs(loop.body):
            if run.statement:
                statement = self.places[id(run)].quotients.statement
                array, reduction = statement.target.array, statement.reduction
                targets.setdefault(array, set()).add(run.target)
                ops.setdefault(array, set()).add(None if reduction is None else reduction.op)
        combined = {(_name(symbol), op) for op, symbol in loop.loop.reductions}
        found = set()
        for array, elements in targets.items():
            names = iterators(*elements)
            if len(elements) == 1 and len(ops[array]) == 1 and not names & inner:
                (element,), (op,) = elements, ops[array]
                if (_name(element), op) in combined:
                    found.add(array)
        return frozenset(found)

    def at_once(self, loop: Loop) -> frozenset[str]:
        """Return the source's arrays that blocks or threads only update atomically."""
        if loop.loop.kind not in (LoopKind.BLOCK, LoopKind.THREAD):
            return frozenset()
        plain: set[str] = set()
        found: set[str] = set()
        for run in all_runs(loop.body):
            if run.statement:
                array = self.places[id(run)].quotients.statement.target.array
                is_here = run.is_atomic and _name(run.target) == array
                (found if is_here else plain).add(array)
        return frozenset(found - plain)

    def iteration(self, loop: Loop) -> isl.UnionSet | None:
        """Return the instances of one iteration, the iterator as a size; None if unknown."""
        result = isl.UnionSet.empty(self.space)
        for runs in _by_statement(loop).values():
            value = self.known(loop, runs)
            if value is None:
                return None
            quotients = self.places[id(runs[0])].quotients
            here = quotients.where(value, FIXED + loop.loop.iter)
            result = result.union(isl.UnionSet.from_set(here))
        return result

    def known(self, loop: Loop, runs: list[Run]) -> Expr | None:
        """Return the loop's iterator if it is one function in all `runs` of a statement."""
        told = {self.places[id(run)].known.get(loop.loop.iter) for run in runs}
        return told.pop() if len(told) == 1 else None

    def iterator(self, loop: Loop) -> isl.MultiUnionPwAff | None:
        """Return instance -> the loop's iterator, for the instances below it."""
        result = isl.UnionMap.empty(self.space)
        for runs in _by_statement(loop).values():
            result = result.union(self.values(loop, runs))
        if result.is_empty():
            return None
        return isl.MultiUnionPwAff.from_union_map(result)

    def values(self, loop: Loop, runs: list[Run]) -> isl.UnionMap:
        """Return the iterator's value for the instances of one statement's runs."""
        value = self.known(loop, runs)
        if value is not None:
            quotients = self.places[id(runs[0])].quotients
            return isl.UnionMap.from_map(quotients.function(value))
        result = isl.UnionMap.empty(self.space)
        for run in runs:
            count = run.back.dim(isl.dim_type.out)
            one = run.back.project_out(
                isl.dim_type.out, loop.depth + 1, count - loop.depth - 1
            ).project_out(isl.dim_type.out, 0, loop.depth)
            result = result.union(isl.UnionMap.from_map(coalesced(one)))
        return coalesced(result)


def all_loops(body: tuple[Piece, ...]) -> Iterator[Loop]:
    """Yield the loops of a tree."""
    for piece in body:
        if isinstance(piece, Loop):
            yield piece
            yield from all_loops(piece.body)


def _name(place: Load | Symbol) -> str:
    return place.array if isinstance(place, Load) else place.name


FIXED = "@"
"""Marks iterators that are sizes."""


def _at_fixed(run: Run, fixed: tuple[str, ...]) -> isl.Set:
    """Return the instances of `run` in one iteration of the loops in `fixed`."""
    result = run.instances
    dims = list(run.path.frame.dims)
    for name in fixed:
        if name in dims:
            end = result.dim(isl.dim_type.param)
            position = dims.index(name)
            result = result.move_dims(isl.dim_type.param, end, isl.dim_type.in_, position, 1)
            result = result.set_dim_name(isl.dim_type.param, end, FIXED + name)
            dims.remove(name)
    return coalesced(result.range())


def _by_statement(loop: Loop) -> dict[str, list[Run]]:
    found: dict[str, list[Run]] = {}
    for run in all_runs(loop.body):
        if run.statement:
            found.setdefault(run.statement, []).append(run)
    return found


def _has_split(body: tuple[Piece, ...]) -> bool:
    """Tell whether a statement has runs in several pieces of some sequence below."""
    names = [{run.statement for run in all_runs((piece,))} - {""} for piece in body]
    if sum(map(len, names)) > len(set().union(*names)):
        return True
    return any(isinstance(piece, Loop) and _has_split(piece.body) for piece in body)


class _Exact(_Walk):
    """A walk that restricts pairs to each piece exactly, from the start."""

    def parts(
        self, body: tuple[Piece, ...], fixed: tuple[str, ...], *, exact: bool = True
    ) -> list[isl.UnionSet]:
        """Return the exact instances of each piece."""
        del exact
        return super().parts(body, fixed)


def _is_concurrent(body: tuple[Piece, ...]) -> bool:
    return any(
        isinstance(piece, Loop) and (piece.loop.kind in CONCURRENT or _is_concurrent(piece.body))
        for piece in body
    )


def _backwards(pairs: isl.UnionMap, sets: list[isl.UnionSet]) -> isl.UnionMap | None:
    """Return pairs whose later instance is in an earlier one of `sets`, or None."""
    before: isl.UnionSet | None = None
    for own in sets:
        if before is not None:
            found = _within(pairs, own, before)
            if not found.is_empty():
                return found
        before = own if before is None else before.union(own)
    return None


def _within(pairs: isl.UnionMap, first: isl.UnionSet, second: isl.UnionSet) -> isl.UnionMap:
    return pairs.intersect_domain(first).intersect_range(second)
