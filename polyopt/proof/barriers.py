"""Are threads that share an element kept in order by barriers?

In: the loops with kernels, as they are printed.  Out: one claim for each kernel.
Two accesses to an element, one of them writing, are ordered if one thread makes both, or if all
threads of the block (or of their warp) wait between them.  What one loop deals out to blocks or
threads at the same time is a matter of `order` and `sharing`, as for any loop of this kind.
"""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from polyopt.dataclass import dataclass, field, replace
from polyopt.ir.affine import coalesced
from polyopt.ir.expr import Iter, linear, sub, walk
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
from polyopt.ir.scop import Role
from polyopt.proof.certificate import Claim, ClaimKind, Verdict
from polyopt.proof.copies import Unlanded, landings
from polyopt.proof.kernels import locals_of
from polyopt.proof.nodes import all_nodes, bodies, written
from polyopt.proof.paths import Path, with_paths
from polyopt.proof.touching import Meeting, Reader, Touch, Where

_IN, _OUT = isl.dim_type.in_, isl.dim_type.out
WARP = 32
"""Threads that a barrier of a warp's scope joins."""


def check_synchronisation(function: LoopFunction, path: Path) -> Iterator[Claim]:
    """Yield whether the threads of each kernel keep the order of what they share."""
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
    """Return what two threads may do in any order, or None."""
    grid = 0
    body = kernel.body
    while len(body) == 1 and isinstance(body[0], For) and body[0].kind is LoopKind.BLOCK:
        grid += 1
        body = body[0].body
    if _deals_once(body) and not any(_is_async(node) for node in all_nodes(body)):
        return None
    hosts = len(path.loops)
    declared = [n for n, _ in with_paths(kernel.body, path) if isinstance(n, DeclareArray)]
    homes = {n.array.name: n.space for n in declared}
    reader = Reader(
        kernel,
        hosts + grid,
        written(kernel.body) - {n for n, s in homes.items() if s is Space.LOCAL} - faults,
        frozenset(n for n, s in homes.items() if s is Space.REGISTER),
        locals_of(kernel.body),
        2 * _depth(body) + 1,
    )
    reader.body(kernel.body, Where(path, ()))
    if reader.strays:
        return f"a thread reaches another thread's part of {reader.strays[0]}"
    try:
        reader.touches = _merged(reader.touches)
        reader.touches += tuple(landings(reader))
        reader.touches = _merged([replace(touch, is_async=False) for touch in reader.touches])
    except Unlanded as error:
        return error.reason
    if kernel.threads == 1:
        return None
    between = _Between(reader)
    for one, two in _pairs(reader.touches):
        if not between.are_ordered(one, two):
            return f"nothing orders two threads that reach an element of {one.array}"
    return None


def _deals_once(body: Body) -> bool:
    """Tell whether all that a block does is one nest of loops across threads: nothing has an order.

    It declares nothing, so that there are no parts of threads to stray from.
    """
    if len(body) != 1:
        return False
    node = body[0]
    if isinstance(node, If) and not node.otherwise:
        return _deals_once(node.then)
    return isinstance(node, For) and node.kind is LoopKind.THREAD


def _is_async(node: Node) -> bool:
    return isinstance(node, Assign) and node.is_async


def _depth(body: Body) -> int:
    """Return how many numbers beside positions a time in `body` has."""
    found = [0]
    for node in body:
        if not (isinstance(node, For) and node.kind is LoopKind.THREAD):
            found += [1 + _depth(part) for part in bodies(node)]
    return max(found)


def _merged(touches: list[Touch]) -> list[Touch]:
    """Return the touches, those that differ in nothing but their places as one."""
    found: dict[tuple[object, ...], Touch] = {}
    for touch in touches:
        around = tuple(map(id, touch.around))
        kind = (touch.array, touch.is_written, touch.is_async, touch.is_atomic)
        key = (*kind, touch.when, touch.length, around)
        if key in found:
            touch = replace(touch, place=coalesced(found[key].place.union(touch.place)))
        found[key] = touch
    return list(found.values())


def _pairs(touches: list[Touch]) -> Iterator[tuple[Touch, Touch]]:
    for number, one in enumerate(touches):
        for two in touches[number:]:
            if one.is_atomic and two.is_atomic:
                continue
            if one.array == two.array and (one.is_written or two.is_written):
                yield one, two


@dataclass(frozen=True, eq=False)
class _Between:
    """What happens between two accesses; `known` are the times that a barrier parts."""

    reader: Reader
    known: dict[int, isl.Map] = field(default_factory=dict)

    def are_ordered(self, one: Touch, two: Touch) -> bool:
        """Tell whether barriers part all pairs of different threads, whichever comes first."""
        orders = [(one, two)] if one is two else [(one, two), (two, one)]
        wanted = [order for order in orders if _may_follow(*order)]
        if not wanted:
            return True
        pairs = _by_element(one).flat_range_product(_by_element(two))
        subscripts = pairs.dim(_IN) - self.reader.outside
        pairs = pairs.project_out(_IN, self.reader.outside, subscripts)
        # { [outside] -> [time, thread, other time, other thread] }
        length = self.reader.length
        parts = tuple(_apart(pairs, length, 2 * length + 1))
        return all(
            self.is_ordered(apart if first is one else _swapped(apart), first, second)
            for apart in parts
            for first, second in wanted
        )

    def is_ordered(self, pairs: isl.Map, first: Touch, second: Touch) -> bool:
        """Tell whether barriers part those of `pairs` whose second time is later."""
        length = self.reader.length
        cases = _in_order(pairs, length, length + 1, _distances(first, second))
        return all(self.is_parted(case, first, second) for case in cases)

    def is_parted(self, pairs: isl.Map, first: Touch, second: Touch) -> bool:
        """Tell whether every pair has a barrier between its times that joins both threads."""
        if pairs.is_empty() or self.has_one_for_all(pairs, first, second):
            return True
        left = pairs.intersect(self.unparted(Scope.BLOCK, pairs, first, second))
        if left.is_empty():
            return True
        if not any(meeting.scope is Scope.WARP for meeting in self.reader.meetings):
            return False
        length = self.reader.length
        if not _of_two_warps(left, length, 2 * length + 1).is_empty():
            return False
        return bool(left.intersect(self.unparted(Scope.WARP, left, first, second)).is_empty())

    def has_one_for_all(self, pairs: isl.Map, first: Touch, second: Touch) -> bool:
        """Tell whether one barrier of the block is between the times of all pairs."""
        return any(pairs.is_subset(parted) for parted in self.parted(Scope.BLOCK, first, second))

    def parted(self, scope: Scope, first: Touch, second: Touch) -> Iterator[isl.Map]:
        """Yield what each barrier of `scope` parts that both accesses reach."""
        for number, meeting in enumerate(self.reader.meetings):
            if meeting.scope is scope and _counts(meeting, first, second):
                if number not in self.known:
                    self.known[number] = _parted(meeting, self.reader.length)
                yield self.known[number]

    def unparted(self, scope: Scope, pairs: isl.Map, first: Touch, second: Touch) -> isl.Map:
        """Return what holds `pairs` but those with a barrier of `scope` between."""
        found = isl.Map.from_basic_map(pairs.affine_hull().remove_divs())
        for parted in self.parted(scope, first, second):
            found = found.subtract(parted.intersect(found))
        return found


def _may_follow(first: Touch, second: Touch) -> bool:
    """Tell whether `second` may have a later time, by the numbers in both."""
    for one, two in zip(first.when, second.when, strict=False):
        distance = linear(sub(two, one))
        if distance.terms or any(isinstance(part, Iter) for part in walk(one)):
            return True
        if distance.constant != 0:
            return distance.constant > 0
    return len(first.when) != len(second.when)


def _by_element(touch: Touch) -> isl.Map:
    """Return `{ [outside, subscripts] -> [time, thread] }`."""
    count = touch.place.dim(_OUT) - touch.length - 1
    end = touch.place.dim(_IN)
    return touch.place.move_dims(_IN, end, _OUT, touch.length + 1, count)


def _distances(first: Touch, second: Touch) -> list[int | None]:
    """Return how far apart the numbers of two times are, None where more than constants tell."""
    found = [linear(sub(two, one)) for one, two in zip(first.when, second.when, strict=False)]
    both = zip(first.when, second.when, strict=False)
    plain = [not linear(one).terms and not linear(two).terms for one, two in both]
    return [d.constant if p else None for d, p in zip(found, plain, strict=True)]


def _in_order(
    pairs: isl.Map, length: int, start: int, distances: list[int | None]
) -> Iterator[isl.Map]:
    """Yield the pairs whose second time, from `start` on, is after the first."""
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


def _apart(pairs: isl.Map, one: int, two: int) -> Iterator[isl.Map]:
    """Yield the pairs of different numbers at the positions."""
    yield pairs.order_lt(_OUT, one, _OUT, two)
    yield pairs.order_gt(_OUT, one, _OUT, two)


def _of_two_warps(pairs: isl.Map, one: int, two: int) -> isl.Map:
    """Keep the pairs of threads that are not in one warp."""
    local = isl.LocalSpace.from_space(pairs.get_space().range())
    warps = [
        isl.Aff.var_on_domain(local, isl.dim_type.set, n).scale_down_val(isl.Val(WARP)).floor()
        for n in (one, two)
    ]
    return pairs.intersect_range(warps[0].ne_set(warps[1]))


def _counts(meeting: Meeting, first: Touch, second: Touch) -> bool:
    """Tell whether a barrier is reached where both accesses are, whatever the data."""
    if not meeting.around:
        return True
    node = meeting.around[-1].node
    return all(any(u.node is node for u in touch.around) for touch in (first, second))


def _parted(meeting: Meeting, length: int) -> isl.Map:
    """Return `{ [outside] -> [time, thread, later time, thread] }` with `meeting` between."""
    space = meeting.times.get_space()
    times = isl.Map.universe(space.add_dims(_OUT, length))
    every = times.flat_range_product(meeting.times)  # [time, later time, time of the barrier]
    after = _before(every, 0, 2 * length, meeting.length)
    between = _before(after, 2 * length, length, meeting.length)
    if meeting.around:
        for position in range(meeting.around[-1].depth):
            between = between.equate(_OUT, position, _OUT, length + position)
            between = between.equate(_OUT, position, _OUT, 2 * length + position)
    found = between.project_out(_OUT, 2 * length, length)
    found = found.insert_dims(_OUT, 2 * length, 1)
    return coalesced(found.insert_dims(_OUT, length, 1))


def _before(pairs: isl.Map, one: int, two: int, length: int) -> isl.Map:
    """Keep those whose time at position `one` is before the time at position `two`."""
    same = pairs
    found = None
    for position in range(length):
        earlier = same.order_lt(_OUT, one + position, _OUT, two + position)
        found = earlier if found is None else found.union(earlier)
        same = same.equate(_OUT, one + position, _OUT, two + position)
    assert found is not None
    return coalesced(found)
