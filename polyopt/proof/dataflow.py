"""Check that every read of the loops gets the value that it gets in the source.

In: a part, its loops, how each run computes its statement.  Out: claims.
For loops that copy values, recompute them or sum them in parts: reads are followed through copies
and partial sums to the instances that produced the value.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

import islpy as isl
import numpy as np

from polyopt.dataclass import dataclass
from polyopt.ir.affine import coalesced, in_one_piece, is_covered
from polyopt.ir.expr import BinaryOp, Const, Load
from polyopt.ir.parameters import joined, maps_of
from polyopt.ir.types import Kind
from polyopt.proof.accesses import Unproven
from polyopt.proof.affine import NotAffine
from polyopt.proof.certificate import Claim, ClaimKind, Verdict
from polyopt.proof.events import (
    Effect,
    Event,
    Flow,
    UnorderedSums,
    ends,
    flow_of,
    instances,
    source_events,
)
from polyopt.proof.loop_events import LoopEvents, LoopReader
from polyopt.proof.reading import RunTree
from polyopt.proof.sharing import find_shared
from polyopt.proof.source import SourcePart
from polyopt.proof.values import Match

ROUNDS = 8
"""Copies of copies that are followed one by one."""


class Broken(Exception):
    """A claim is false."""

    def __init__(self, kind: ClaimKind, subject: str, reason: str) -> None:
        super().__init__(reason)
        self.claim = Claim(kind, subject, Verdict.REFUTED, "", reason)


def check_dataflow(part: SourcePart, nest: RunTree, matches: dict[int, Match]) -> Iterator[Claim]:
    """Yield the claims proven by the loops' dataflow, or the first claim that is false."""
    try:
        yield from _check(part, nest, matches)
    except Broken as error:
        yield error.claim
    except Unproven as error:
        yield Claim(ClaimKind.STORAGE, error.subject, Verdict.OPEN, "", error.reason)
    except NotAffine as error:
        yield Claim(ClaimKind.STORAGE, str(error), Verdict.OPEN, "", "it is not affine")


def _check(part: SourcePart, nest: RunTree, matches: dict[int, Match]) -> Iterator[Claim]:
    for name in nest.homes:
        array = part.array(name)
        if array is not None and not part.is_temporary(name) and name not in part.unordered:
            raise Unproven(name, "it is seen outside and declared in the loops")
    sums = UnorderedSums.of(part, _relocated_statements(part, nest))
    watched = _watched(part, nest, matches)
    theirs = source_events(part, sums, watched)
    found = LoopReader(part, nest, matches, sums, watched).read()
    outside = _outside(part, (*theirs, *found.events))
    space = part.scop.context.get_space()
    source = flow_of(space, [*theirs, *_ends(outside, theirs)])
    borders = _ends(outside, found.events)
    expected = _expected(source, found, borders)
    loops = flow_of(space, [*found.events, *borders], expected)
    yield from _check_instances(part, nest)
    values = _Values(part, found, loops, sums, tuple(outside))
    values.check(source)
    for storage in sorted({event.array for event in found.events}):
        yield Claim(ClaimKind.STORAGE, storage, Verdict.PROVEN, "")
    yield Claim(ClaimKind.ORDER, "all reads", Verdict.PROVEN, str(source.entries))
    shared = find_shared(nest, found.uses, part.unordered)
    if shared is not None:
        loop, element = shared
        raise Broken(ClaimKind.CONCURRENCY, f"loop {loop}", f"iterations share {element}")
    yield Claim(ClaimKind.CONCURRENCY, "all loops", Verdict.PROVEN, "")


def _relocated_statements(part: SourcePart, nest: RunTree) -> frozenset[str]:
    """Return the statements with instances that write other storage than in the source."""
    return frozenset(
        run.statement
        for run in nest.runs()
        if run.statement in part.by_name
        and (run.target.array if isinstance(run.target, Load) else run.target.name)
        != part.by_name[run.statement].target.array
    )


def _watched(part: SourcePart, nest: RunTree, matches: dict[int, Match]) -> frozenset[str]:
    """Return the arrays that the source or the loops write, or read from elsewhere."""
    ours = {s.target.array for s in part.statements}
    theirs = {r.target.array if isinstance(r.target, Load) else r.target.name for r in nest.runs()}
    moved = {read.load.array for match in matches.values() for read in match.reads}
    return frozenset(ours | theirs | moved)


def _outside(part: SourcePart, events: Iterable[Event]) -> dict[str, isl.Set]:
    """Return the written elements of the arrays that are visible outside of the part.

    Raises `Unproven` for arrays whose dimensions the loops change.
    The source's events come first: usually the loops write nothing else, and their tiles and blocks
    need not appear in the sets.
    """
    found: dict[str, isl.Set] = {}
    for event in events:
        name = event.array
        if part.array(name) is None or part.is_temporary(name) or name in part.unordered:
            continue
        here = event.access.range()
        if event.effect is Effect.READ:
            here = isl.Set.empty(here.get_space())
        if name not in found:
            found[name] = here
        elif not here.get_space().is_equal(found[name].get_space()):
            raise Unproven(name, "it is seen outside and has other dimensions in the loops")
        elif not here.is_subset(found[name]):
            found[name] = in_one_piece(found[name].union(here))
    return {name: coalesced(elements) for name, elements in found.items()}


def _ends(outside: dict[str, isl.Set], events: Iterable[Event]) -> list[Event]:
    length = max((event.time.dim(isl.dim_type.out) for event in events), default=1)
    return ends(outside, length)


def _expected(source: Flow, found: LoopEvents, borders: Sequence[Event]) -> isl.UnionMap:
    """Return the loops' read -> write if each read gets the value it gets in the source."""
    same = [event.access.domain().identity() for event in borders]
    empty = source.entries.empty(source.entries.get_space())
    reads, writes = (
        joined(empty, map(isl.UnionMap.from_map, (*maps, *same)))
        for maps in (found.reads, found.writes)
    )
    return reads.apply_range(source.entries).apply_range(writes.reverse())


def _check_instances(part: SourcePart, nest: RunTree) -> Iterator[Claim]:
    """Check that the loops run only instances of the source, apart from runs that note faults."""
    for statement in part.statements:
        wanted = instances(part, statement)
        missing = wanted
        for run in nest.runs():
            if run.statement != statement.name:
                continue
            if not run.executed.is_subset(wanted):
                reason = "an instance runs that the source does not have"
                raise Broken(ClaimKind.INSTANCES, statement.name, reason)
            missing = missing.subtract(run.executed)
        if statement.target.array in part.unordered and not missing.is_empty():
            raise Broken(ClaimKind.INSTANCES, statement.name, "an instance does not run")
        yield Claim(ClaimKind.INSTANCES, statement.name, Verdict.PROVEN, str(wanted))


@dataclass(frozen=True, eq=False)
class _Values:
    """Follows the reads of the loops to instances of the source."""

    part: SourcePart
    found: LoopEvents
    loops: Flow
    sums: UnorderedSums
    outside: tuple[str, ...]

    def check(self, source: Flow) -> None:
        """Check that each read gets the value it gets in the source; raises `Broken`."""
        whole = self.through_copies()
        made = self.union(self.found.writes).union(self.ends("init"))
        read = self.union(self.found.reads).union(self.ends("exit"))
        added = self.contributions(whole, read)
        has_one = source.entries.is_single_valued()
        for one in maps_of(read):
            mine = isl.UnionMap.from_map(one)
            here = isl.UnionSet.from_set(one.domain())
            entries = whole.entries.intersect_domain(here)
            subject = str(one.get_tuple_name(isl.dim_type.out))
            if not entries.range().is_subset(made.domain()):
                raise Broken(ClaimKind.ORDER, subject, "it reads what no statement made")
            wanted = mine.apply_range(source.entries)
            known = has_one and one.is_single_valued()  # and so is what one makes of the other
            if not _is_same(entries.apply_range(made), wanted, is_function=known):
                raise Broken(ClaimKind.ORDER, subject, "it reads another value than the source's")
            if not _is_same(added.intersect_domain(here), mine.apply_range(source.sums)):
                raise Broken(ClaimKind.ORDER, subject, "other instances were summed")

    def through_copies(self) -> Flow:
        """Return the loops' flow with copies replaced by their sources."""
        copies = self.union(self.found.copies)
        entries = self.loops.entries.subtract_range(copies.domain())
        sums = self.loops.sums
        step = coalesced(self.loops.entries.apply_range(copies))  # read -> read that it copies
        if step.is_empty():
            return Flow(entries, sums)
        reached = isl.UnionMap.empty(step.get_space())
        frontier = step
        for _ in range(ROUNDS):
            reached = reached.union(frontier)
            frontier = coalesced(frontier.apply_range(step))
            if frontier.is_empty():
                break
        else:
            reached, is_exact = step.transitive_closure()
            if not is_exact:
                raise Unproven("copies", "they are copied on without end")
        entries = entries.union(reached.apply_range(entries))
        return Flow(coalesced(entries), coalesced(sums.union(reached.apply_range(sums))))

    def contributions(self, whole: Flow, read: isl.UnionMap) -> isl.UnionMap:
        """Return read -> added instances, each once; through partial sums."""
        made = self.union(self.found.writes)
        links = {op: self.union(maps) for op, maps in self.found.joins.items()}
        joins = self.union([m for maps in self.found.joins.values() for m in maps])
        added = whole.sums.apply_range(made)
        through = whole.sums.apply_range(joins)  # read -> partial sum that is joined there
        more = through.apply_range(added)
        for _ in range(ROUNDS):
            if more.is_empty():
                break
            if more.is_subset(added):
                break
            added = coalesced(added.union(more))
            more = through.apply_range(more)
        else:
            raise Unproven("partial sums", "they are summed on without end")
        for operator, link in links.items():
            self.check_partial(whole, operator, link.range(), added)
        compared = read.domain().union(joins.range())
        self.check_once(whole.sums.intersect_domain(compared), made, joins, added)
        return added

    def check_partial(
        self, whole: Flow, operator: BinaryOp, reads: isl.UnionSet, added: isl.UnionMap
    ) -> None:
        """Check that joined partial results are sums of instances alone; raises `Broken`."""
        starts = [n for n, c in self.found.starts.items() if _is_identity(operator, c)]
        entries = whole.entries.intersect_domain(reads)
        if not reads.is_subset(entries.domain()):
            raise Broken(ClaimKind.ORDER, operator.value, "a partial result is not set")
        for one in maps_of(entries):
            if one.get_tuple_name(isl.dim_type.out) not in starts:
                raise Broken(ClaimKind.ORDER, operator.value, "a partial result starts elsewhere")
        for one in maps_of(added.intersect_domain(reads)):
            name = str(one.get_tuple_name(isl.dim_type.out))
            if self.sums.operators.get(name) is not operator:
                raise Broken(ClaimKind.ORDER, name, "it is joined by another operator")

    def check_once(
        self, direct: isl.UnionMap, made: isl.UnionMap, joins: isl.UnionMap, added: isl.UnionMap
    ) -> None:
        """Check that no instance is added twice to a read's value; raises `Broken`.

        None is if the events that a kind of reads sums up are of different instances.
        """
        inside = made.union(joins.apply_range(added))
        kinds: dict[str, list[isl.Map]] = {}
        for one in maps_of(direct):
            kinds.setdefault(str(one.get_tuple_name(isl.dim_type.in_)), []).append(one)
        apart: dict[frozenset[str], bool] = {}
        for summed in kinds.values():
            names = frozenset(str(one.get_tuple_name(isl.dim_type.out)) for one in summed)
            if names not in apart:
                apart[names] = bool(self.of_events(inside, names).is_injective())
            if apart[names]:
                continue
            # [read -> instance] -> the event of the loops through which it was added
            ways = self.union(summed).reverse().range_product(inside).reverse()
            if not ways.is_single_valued():
                raise Broken(ClaimKind.INSTANCES, "sums", "an instance is added twice")

    def of_events(self, relation: isl.UnionMap, names: Collection[str]) -> isl.UnionMap:
        """Return the part of a relation for the events with these names."""
        return self.union(
            [one for one in maps_of(relation) if one.get_tuple_name(isl.dim_type.in_) in names]
        )

    def union(self, maps: list[isl.Map]) -> isl.UnionMap:
        """Return the maps as one."""
        empty = isl.UnionMap.empty(self.part.scop.context.get_space())
        return joined(empty, map(isl.UnionMap.from_map, maps))

    def ends(self, which: str) -> isl.UnionMap:
        """Return the events before or after the part, which correspond to those of the source."""
        names = {f"{which}:{name}" for name in self.outside}
        flows = [one.get_space() for one in maps_of(self.loops.entries)]
        spaces = [*(s.range() for s in flows), *(s.domain() for s in flows)]
        spaces += [one.get_space().domain() for one in maps_of(self.loops.sums)]
        found = {s.get_tuple_name(isl.dim_type.set): s for s in spaces}
        return self.union([isl.Set.universe(found[n]).identity() for n in names & found.keys()])


def _is_same(found: isl.UnionMap, wanted: isl.UnionMap, *, is_function: bool = False) -> bool:
    """Tell whether two relations are equal; `is_function`: `wanted` is single-valued.

    Cheap if `wanted` is single-valued or injective: a part of a function with its whole domain is
    the function.
    """
    if found.is_empty() or wanted.is_empty():
        return bool(found.is_empty() and wanted.is_empty())
    if is_function or wanted.is_single_valued():
        return bool(found.is_subset(wanted)) and is_covered(wanted.domain(), found.domain())
    if wanted.reverse().is_single_valued():
        return bool(found.is_subset(wanted)) and is_covered(wanted.range(), found.range())
    return bool(found.is_equal(wanted))


def _is_identity(operator: BinaryOp, start: Const) -> bool:
    """Tell whether `start op x` is `x`, except for the sign of a zero."""
    value, kind = start.value, start.dtype.kind
    is_integer = kind in (Kind.SIGNED, Kind.UNSIGNED)
    match operator:
        case BinaryOp.ADD | BinaryOp.XOR | BinaryOp.OR:
            return value == 0
        case BinaryOp.MUL:
            return value == 1
        case BinaryOp.AND:
            everything = True if kind is Kind.BOOL else -1
            if kind is Kind.UNSIGNED:
                everything = int(np.iinfo(start.dtype.value).max)
            return value == everything
        case BinaryOp.MIN:
            top = float("inf")
            return value == (int(np.iinfo(start.dtype.value).max) if is_integer else top)
        case BinaryOp.MAX:
            low = -float("inf")
            return value == (int(np.iinfo(start.dtype.value).min) if is_integer else low)
        case _:
            return False
