"""Check that barriers order the conflicting accesses of a block's threads.

In: the loops with kernels, as they are printed.  Out: one claim for each kernel.
Two accesses to an element, one of them writing, are ordered if one thread makes both, or if all
threads of the block (or of their warp) meet at a barrier between them.  Conflicts between the
iterations of one concurrent loop are checked by `order` and `sharing`.
Asynchronous copies have completed before their elements are accessed.
"""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from polyopt.dataclass import dataclass, field, replace
from polyopt.ir.affine import coalesced
from polyopt.ir.expr import Iter, sub, walk
from polyopt.ir.linear import linear
from polyopt.ir.loops import (
    Assign,
    Body,
    DeclareArray,
    For,
    If,
    Kernel,
    LoopFunction,
    LoopKind,
    Node,
    Scope,
    Space,
)
from polyopt.ir.nodes import all_nodes
from polyopt.ir.scop import Role
from polyopt.proof.block_accesses import BarrierTimes, BlockAccess, BlockReader, ProgramPoint, depth
from polyopt.proof.certificate import Claim, ClaimKind, Verdict
from polyopt.proof.kernels import locals_of
from polyopt.proof.nodes import written
from polyopt.proof.paths import Path, with_paths

_IN, _OUT, _SET = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.set


class Unlanded(Exception):
    """An asynchronous copy into `array` is not waited for, or not long enough."""

    def __init__(self, array: str, reason: str) -> None:
        super().__init__(array)
        self.array = array
        self.reason = reason


def landings(reader: BlockReader) -> Iterator[BlockAccess]:
    """Yield the writes of asynchronous copies at their waits; raises `Unlanded`."""
    copies = [access for access in reader.accesses if access.is_async]
    if not copies:
        return
    groups = _Groups.of(reader)
    for copy in copies:
        landed = groups.landed(_times(copy, reader))
        if landed is None:
            raise Unlanded(copy.array, f"no thread waits for its copies into {copy.array}")
        for other in reader.accesses:
            if other.array == copy.array and _is_early(copy, other, landed, reader):
                raise Unlanded(copy.array, f"{copy.array} is used before a copy into it has landed")
        yield _landing(copy, landed, reader)


@dataclass(frozen=True, eq=False)
class _Groups:
    """Commits and waits as sets of `[outside, time]`; `next` maps a commit to the following one."""

    outside: int
    commits: isl.Set
    waits: tuple[tuple[int, isl.Set], ...]
    next: isl.Map

    @staticmethod
    def of(reader: BlockReader) -> _Groups:
        commits: isl.Set | None = None
        waits: list[tuple[int, isl.Set]] = []
        for group in reader.copy_groups:
            times = _flat(group.times)
            if group.pending is not None:
                waits.append((group.pending, times))
            else:
                commits = times if commits is None else commits.union(times)
        if commits is None:
            commits = isl.Set.empty(_flat(reader.accesses[0].place).get_space())
            commits = commits.project_out(_SET, 0, commits.dim(_SET))
            commits = commits.add_dims(_SET, reader.outside + reader.length)
        commits = coalesced(commits)
        after = _later(commits, commits, reader.outside).lexmin()
        return _Groups(reader.outside, commits, tuple(waits), after)

    def landed(self, begins: isl.Set) -> isl.Map | None:
        """Return `{ [outside, begin] -> [outside, wait] }`; None if some have no wait."""
        group = _later(begins, self.commits, self.outside).lexmin()
        found: isl.Map | None = None
        for pending, times in self.waits:
            reached = group
            for _ in range(pending):
                reached = reached.apply_range(self.next)
            waited = reached.apply_range(_later(self.commits, times, self.outside))
            found = waited if found is None else found.union(waited)
        if found is None or not begins.is_subset(found.domain()):
            return None
        return coalesced(found.lexmin())


def _flat(times: isl.Map) -> isl.Set:
    """Return `{ [outside, time] }` of `{ [outside] -> [time] }`."""
    return times.wrap().flatten()


def _times(access: BlockAccess, reader: BlockReader) -> isl.Set:
    rest = access.place.dim(_OUT) - reader.length
    return coalesced(_flat(access.place.project_out(_OUT, reader.length, rest)))


def _later(ones: isl.Set, twos: isl.Set, outside: int) -> isl.Map:
    """Return the pairs of times of one block, the second after the first."""
    pairs = ones.lex_lt_set(twos)
    for position in range(outside):
        pairs = pairs.equate(_IN, position, _OUT, position)
    return pairs


def _is_early(copy: BlockAccess, other: BlockAccess, landed: isl.Map, reader: BlockReader) -> bool:
    """Tell whether an access may run after the start of a copy and before its completion."""
    begins, uses = (_uses_by_element(access, reader) for access in (copy, other))
    pairs = begins.apply_range(uses.reverse())  # { [outside, begin] -> [outside, use] }
    space = landed.get_space()
    after = isl.Map.lex_lt(space.range()).align_params(space)
    pairs = pairs.intersect(isl.Map.lex_lt(pairs.get_space().range()))
    return not pairs.subtract(landed.apply_range(after)).is_empty()


def _uses_by_element(access: BlockAccess, reader: BlockReader) -> isl.Map:
    """Return `{ [outside, time] -> [outside, subscripts] }`."""
    place = access.place.project_out(_OUT, reader.length, 1)
    whole = isl.Map.from_domain(_flat(place))
    outside, length = reader.outside, reader.length
    count = whole.dim(_IN) - outside - length
    whole = whole.move_dims(_OUT, 0, _IN, outside + length, count)
    whole = whole.insert_dims(_OUT, 0, outside)
    for position in range(outside):
        whole = whole.equate(_IN, position, _OUT, position)
    return whole


def _landing(copy: BlockAccess, landed: isl.Map, reader: BlockReader) -> BlockAccess:
    """Return the write of a copy at the point where it is known to be complete."""
    outside, length = reader.outside, reader.length
    whole = isl.Map.from_domain(_flat(copy.place))
    count = whole.dim(_IN) - outside - length
    whole = whole.move_dims(_OUT, 0, _IN, outside + length, count)
    whole = landed.reverse().apply_range(whole)  # { [outside, wait] -> [thread, subscripts] }
    place = whole.insert_dims(_OUT, 0, length)
    for position in range(length):
        place = place.equate(_IN, outside + position, _OUT, position)
    place = place.project_out(_IN, outside, length)
    return replace(copy, place=coalesced(place), when=(Iter("$wait"),), is_async=False)


WARP = 32
"""Threads that a barrier of a warp's scope joins."""


def check_synchronisation(function: LoopFunction, path: Path) -> Iterator[Claim]:
    """Yield for each kernel whether its threads keep the order of conflicting accesses."""
    faults = frozenset(a.name for a in function.arrays if a.role is Role.FAULT)
    for node, place in with_paths(function.body, path):
        if isinstance(node, Kernel):
            alone = replace(node, finish=())
            reason = _fault(alone, place, faults)
            if reason is None and node.finish:  # it begins when all blocks have ended
                reason = _fault(replace(alone, body=node.finish), place, faults)
            verdict = Verdict.PROVEN if reason is None else Verdict.REFUTED
            yield Claim(ClaimKind.SYNCHRONISATION, node.name, verdict, "", reason or "")


def _fault(kernel: Kernel, path: Path, faults: frozenset[str]) -> str | None:
    """Return a pair of accesses that no barrier orders, in words, or None."""
    grid = 0
    body = kernel.body
    while len(body) == 1 and isinstance(body[0], For) and body[0].kind is LoopKind.BLOCK:
        grid += 1
        body = body[0].body
    if _is_one_thread_nest(body) and not any(_is_async(node) for node in all_nodes(body)):
        return None
    hosts = len(path.loops)
    declared = [n for n, _ in with_paths(kernel.body, path) if isinstance(n, DeclareArray)]
    homes = {n.array.name: n.space for n in declared}
    reader = BlockReader(
        kernel,
        hosts + grid,
        written(kernel.body) - {n for n, s in homes.items() if s is Space.LOCAL} - faults,
        frozenset(n for n, s in homes.items() if s is Space.REGISTER),
        locals_of(kernel.body),
        2 * depth(body) + 1,
    )
    reader.body(kernel.body, ProgramPoint(path, ()))
    if reader.strays:
        return f"a thread reaches another thread's part of {reader.strays[0]}"
    try:
        reader.accesses = _merged(reader.accesses)
        reader.accesses += tuple(landings(reader))
        reader.accesses = _merged([replace(access, is_async=False) for access in reader.accesses])
    except Unlanded as error:
        return error.reason
    if kernel.threads == 1:
        return None
    between = _Between(reader)
    for one, two in _pairs(reader.accesses):
        if not between.are_ordered(one, two):
            return f"nothing orders two threads that reach an element of {one.array}"
    return None


def _is_one_thread_nest(body: Body) -> bool:
    """Tell whether a block is a single nest of thread loops, which needs no barrier.

    It declares no arrays, so that threads have no parts of arrays of their own.
    """
    if len(body) != 1:
        return False
    node = body[0]
    if isinstance(node, If) and not node.otherwise:
        return _is_one_thread_nest(node.then)
    return isinstance(node, For) and node.kind is LoopKind.THREAD


def _is_async(node: Node) -> bool:
    return isinstance(node, Assign) and node.is_async


def _merged(accesses: list[BlockAccess]) -> list[BlockAccess]:
    """Return the accesses with those that differ in their places alone merged."""
    found: dict[tuple[object, ...], BlockAccess] = {}
    for access in accesses:
        around = tuple(map(id, access.around))
        kind = (access.array, access.is_written, access.is_async, access.is_atomic)
        key = (*kind, access.when, access.length, around)
        if key in found:
            access = replace(access, place=coalesced(found[key].place.union(access.place)))
        found[key] = access
    return list(found.values())


def _pairs(accesses: list[BlockAccess]) -> Iterator[tuple[BlockAccess, BlockAccess]]:
    for number, one in enumerate(accesses):
        for two in accesses[number:]:
            if one.is_atomic and two.is_atomic:
                continue
            if one.array == two.array and (one.is_written or two.is_written):
                yield one, two


@dataclass(frozen=True, eq=False)
class _Between:
    """Barriers between two accesses; `known` holds the pairs that each barrier separates."""

    reader: BlockReader
    known: dict[int, isl.Map] = field(default_factory=dict)

    def are_ordered(self, one: BlockAccess, two: BlockAccess) -> bool:
        """Tell whether barriers separate all pairs of different threads, whichever comes first."""
        orders = [(one, two)] if one is two else [(one, two), (two, one)]
        wanted = [order for order in orders if _may_follow(*order)]
        if not wanted:
            return True
        pairs = _by_element(one).flat_range_product(_by_element(two))
        subscripts = pairs.dim(_IN) - self.reader.outside
        pairs = pairs.project_out(_IN, self.reader.outside, subscripts)
        # { [outside] -> [time, thread, other time, other thread] }
        length = self.reader.length
        parts = tuple(_differing(pairs, length, 2 * length + 1))
        return all(
            self.is_ordered(apart if first is one else _swapped(apart), first, second)
            for apart in parts
            for first, second in wanted
        )

    def is_ordered(self, pairs: isl.Map, first: BlockAccess, second: BlockAccess) -> bool:
        """Tell whether barriers separate those of `pairs` whose second time is later."""
        length = self.reader.length
        cases = _in_order(pairs, length, length + 1, _distances(first, second))
        return all(self.is_separated(case, first, second) for case in cases)

    def is_separated(self, pairs: isl.Map, first: BlockAccess, second: BlockAccess) -> bool:
        """Tell whether every pair has a barrier between its times that both threads reach."""
        if pairs.is_empty() or self.has_one_for_all(pairs, first, second):
            return True
        left = pairs.intersect(self.not_separated(Scope.BLOCK, pairs, first, second))
        if left.is_empty():
            return True
        if not any(barrier.scope is Scope.WARP for barrier in self.reader.barriers):
            return False
        length = self.reader.length
        if not _of_two_warps(left, length, 2 * length + 1).is_empty():
            return False
        return bool(left.intersect(self.not_separated(Scope.WARP, left, first, second)).is_empty())

    def has_one_for_all(self, pairs: isl.Map, first: BlockAccess, second: BlockAccess) -> bool:
        """Tell whether one barrier of the block separates all pairs."""
        return any(
            pairs.is_subset(separated) for separated in self.separated(Scope.BLOCK, first, second)
        )

    def separated(self, scope: Scope, first: BlockAccess, second: BlockAccess) -> Iterator[isl.Map]:
        """Yield the pairs that each barrier of `scope` separates and both accesses reach."""
        for number, barrier in enumerate(self.reader.barriers):
            if barrier.scope is scope and _always_runs(barrier, first, second):
                if number not in self.known:
                    self.known[number] = _separated_by(barrier, self.reader.length)
                yield self.known[number]

    def not_separated(
        self, scope: Scope, pairs: isl.Map, first: BlockAccess, second: BlockAccess
    ) -> isl.Map:
        """Return a superset of those of `pairs` that no barrier of `scope` separates."""
        found = isl.Map.from_basic_map(pairs.affine_hull().remove_divs())
        for separated in self.separated(scope, first, second):
            found = found.subtract(separated.intersect(found))
        return found


def _may_follow(first: BlockAccess, second: BlockAccess) -> bool:
    """Tell whether `second` may have a later time than `first`."""
    for one, two in zip(first.when, second.when, strict=False):
        distance = linear(sub(two, one))
        if distance.terms or any(isinstance(part, Iter) for part in walk(one)):
            return True
        if distance.constant != 0:
            return distance.constant > 0
    return len(first.when) != len(second.when)


def _by_element(access: BlockAccess) -> isl.Map:
    """Return `{ [outside, subscripts] -> [time, thread] }`."""
    count = access.place.dim(_OUT) - access.length - 1
    end = access.place.dim(_IN)
    return access.place.move_dims(_IN, end, _OUT, access.length + 1, count)


def _distances(first: BlockAccess, second: BlockAccess) -> list[int | None]:
    """Return the differences of the components of two times, None where one is not constant."""
    found = [linear(sub(two, one)) for one, two in zip(first.when, second.when, strict=False)]
    both = zip(first.when, second.when, strict=False)
    plain = [not linear(one).terms and not linear(two).terms for one, two in both]
    return [d.constant if p else None for d, p in zip(found, plain, strict=True)]


def _in_order(
    pairs: isl.Map, length: int, start: int, distances: list[int | None]
) -> Iterator[isl.Map]:
    """Yield the pairs whose second time, at `start`, is after the first."""
    for position in range(length):
        match distances[position] if position < len(distances) else None:
            case None:
                pass
            case 0:
                continue
            case distance:
                if distance > 0:
                    yield pairs
                return
        yield pairs.order_lt(_OUT, position, _OUT, start + position)
        pairs = pairs.equate(_OUT, position, _OUT, start + position)


def _swapped(pairs: isl.Map) -> isl.Map:
    """Return `{ [outside] -> [two, one] }` of `{ [outside] -> [one, two] }`."""
    half = pairs.dim(_OUT) // 2
    count = pairs.dim(_IN)
    moved = pairs.move_dims(_IN, count, _OUT, 0, half)
    return moved.move_dims(_OUT, half, _IN, count, half)


def _differing(pairs: isl.Map, one: int, two: int) -> Iterator[isl.Map]:
    """Yield the pairs that differ at positions `one` and `two`."""
    yield pairs.order_lt(_OUT, one, _OUT, two)
    yield pairs.order_gt(_OUT, one, _OUT, two)


def _of_two_warps(pairs: isl.Map, one: int, two: int) -> isl.Map:
    """Return the pairs of threads of different warps."""
    local = isl.LocalSpace.from_space(pairs.get_space().range())
    warps = [
        isl.Aff.var_on_domain(local, isl.dim_type.set, n).scale_down_val(isl.Val(WARP)).floor()
        for n in (one, two)
    ]
    return pairs.intersect_range(warps[0].ne_set(warps[1]))


def _always_runs(barrier: BarrierTimes, first: BlockAccess, second: BlockAccess) -> bool:
    """Tell whether a barrier runs whenever both accesses do, whatever the data."""
    if not barrier.around:
        return True
    node = barrier.around[-1].node
    return all(any(u.node is node for u in access.around) for access in (first, second))


def _separated_by(barrier: BarrierTimes, length: int) -> isl.Map:
    """Return `{ [outside] -> [time, thread, later time, thread] }` with `barrier` in between."""
    space = barrier.times.get_space()
    times = isl.Map.universe(space.add_dims(_OUT, length))
    every = times.flat_range_product(barrier.times)  # [time, later time, time of the barrier]
    after = _before(every, 0, 2 * length, barrier.length)
    between = _before(after, 2 * length, length, barrier.length)
    if barrier.around:
        for position in range(barrier.around[-1].depth):
            between = between.equate(_OUT, position, _OUT, length + position)
            between = between.equate(_OUT, position, _OUT, 2 * length + position)
    found = between.project_out(_OUT, 2 * length, length)
    found = found.insert_dims(_OUT, 2 * length, 1)
    return coalesced(found.insert_dims(_OUT, length, 1))


def _before(pairs: isl.Map, one: int, two: int, length: int) -> isl.Map:
    """Return the pairs whose time at position `one` is before the time at position `two`."""
    same = pairs
    found = None
    for position in range(length):
        earlier = same.order_lt(_OUT, one + position, _OUT, two + position)
        found = earlier if found is None else found.union(earlier)
        same = same.equate(_OUT, one + position, _OUT, two + position)
    assert found is not None
    return coalesced(found)
