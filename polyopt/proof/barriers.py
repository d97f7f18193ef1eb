"""Are threads that share an element kept in order by barriers, and blocks apart?

In: the loops with kernels, as they are printed.  Out: one claim for each kernel.
Two accesses to an element, one of them writing, are ordered if one thread makes both, or if all
threads of the block (or of their warp) wait between them.  Nothing orders blocks.
"""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from polyopt.ir.affine import coalesced
from polyopt.ir.loops import (
    Body,
    DeclareArray,
    For,
    Kernel,
    LoopFunction,
    LoopKind,
    Scope,
    Space,
)
from polyopt.ir.scop import Role
from polyopt.proof.certificate import Claim, ClaimKind, Verdict
from polyopt.proof.kernels import locals_of
from polyopt.proof.nodes import bodies
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
            reason = _fault(node, place, faults)
            verdict = Verdict.PROVEN if reason is None else Verdict.REFUTED
            yield Claim(ClaimKind.SYNCHRONISATION, node.name, verdict, "", reason or "")


def _fault(kernel: Kernel, path: Path, faults: frozenset[str]) -> str | None:
    """Return what two threads may do in any order, or None."""
    grid = 0
    body = kernel.body
    while len(body) == 1 and isinstance(body[0], For) and body[0].kind is LoopKind.BLOCK:
        grid += 1
        body = body[0].body
    hosts = len(path.loops)
    declared = [n for n, _ in with_paths(kernel.body, path) if isinstance(n, DeclareArray)]
    homes = {n.array.name: n.space for n in declared}
    reader = Reader(
        kernel,
        hosts + grid,
        frozenset(n for n, s in homes.items() if s is Space.LOCAL) | faults,
        frozenset(n for n, s in homes.items() if s is Space.REGISTER),
        locals_of(kernel.body),
        2 * _depth(body) + 1,
    )
    reader.body(kernel.body, Where(path, ()))
    if reader.strays:
        return f"a thread reaches another thread's part of {reader.strays[0]}"
    for one, two in _pairs(reader.touches):
        if one.array not in homes and _blocks_meet(one, two, hosts, grid):
            return f"two blocks may reach an element of {one.array}, and one writes it"
    if kernel.threads == 1:
        return None
    for one, two in _pairs(reader.touches):
        orders = [(one, two)] if one is two else [(one, two), (two, one)]
        for first, second in orders:
            if not _is_ordered(reader, first, second):
                return f"nothing orders two threads that reach an element of {one.array}"
    return None


def _depth(body: Body) -> int:
    """Return how many numbers beside positions a time in `body` has."""
    found = [0]
    for node in body:
        if not (isinstance(node, For) and node.kind is LoopKind.THREAD):
            found += [1 + _depth(part) for part in bodies(node)]
    return max(found)


def _pairs(touches: list[Touch]) -> Iterator[tuple[Touch, Touch]]:
    for number, one in enumerate(touches):
        for two in touches[number:]:
            if one.array == two.array and (one.is_written or two.is_written):
                yield one, two


def _blocks_meet(one: Touch, two: Touch, hosts: int, grid: int) -> bool:
    """Tell whether different blocks of one launch reach an element."""
    if grid == 0:
        return False
    first, second = (_elements(touch) for touch in (one, two))
    pairs = first.apply_range(second.reverse())
    for position in range(hosts):
        pairs = pairs.equate(_IN, position, _OUT, position)
    same = pairs
    for position in range(hosts, hosts + grid):
        same = same.equate(_IN, position, _OUT, position)
    return not pairs.is_subset(same)


def _elements(touch: Touch) -> isl.Map:
    """Return `{ [outside] -> [subscripts] }`."""
    return touch.place.project_out(_OUT, 0, touch.length + 1)


def _is_ordered(reader: Reader, first: Touch, second: Touch) -> bool:
    """Tell whether barriers part all pairs of different threads, `first` not after `second`."""
    pairs = _by_element(first).flat_range_product(_by_element(second))
    subscripts = pairs.dim(_IN) - reader.outside
    pairs = pairs.project_out(_IN, reader.outside, subscripts)
    # { [outside] -> [time, thread, later time, other thread] }
    width = reader.length + 1
    pairs = _in_order(pairs, reader.length, width)
    apart = _apart(pairs, reader.length, width + reader.length)
    if apart.is_empty():
        return True
    around = [m for m in reader.meetings if m.scope is Scope.BLOCK]
    left = _left(apart, around, reader.length, first, second)
    if left.is_empty():
        return True
    close = [m for m in reader.meetings if m.scope is Scope.WARP]
    if not close:
        return False
    warps = _same_warp(left, reader.length, width + reader.length)
    if not left.is_subset(warps):
        return False
    return bool(_left(left, close, reader.length, first, second).is_empty())


def _by_element(touch: Touch) -> isl.Map:
    """Return `{ [outside, subscripts] -> [time, thread] }`."""
    count = touch.place.dim(_OUT) - touch.length - 1
    end = touch.place.dim(_IN)
    return touch.place.move_dims(_IN, end, _OUT, touch.length + 1, count)


def _in_order(pairs: isl.Map, length: int, start: int) -> isl.Map:
    """Keep the pairs whose second time, from `start` on, is not before the first."""
    same = pairs
    found = None
    for position in range(length):
        later = same.order_lt(_OUT, position, _OUT, start + position)
        found = later if found is None else found.union(later)
        same = same.equate(_OUT, position, _OUT, start + position)
    assert found is not None
    return coalesced(found.union(same))


def _apart(pairs: isl.Map, one: int, two: int) -> isl.Map:
    """Keep the pairs of different numbers at the positions."""
    less = pairs.order_lt(_OUT, one, _OUT, two)
    return coalesced(less.union(pairs.order_gt(_OUT, one, _OUT, two)))


def _same_warp(pairs: isl.Map, one: int, two: int) -> isl.Map:
    """Keep the pairs of threads that are in one warp."""
    local = isl.LocalSpace.from_space(pairs.get_space().range())
    warps = [
        isl.Aff.var_on_domain(local, isl.dim_type.set, n).scale_down_val(isl.Val(WARP)).floor()
        for n in (one, two)
    ]
    return pairs.intersect_range(warps[0].eq_set(warps[1]))


def _left(
    pairs: isl.Map, meetings: list[Meeting], length: int, first: Touch, second: Touch
) -> isl.Map:
    """Return the pairs between whose times none of `meetings` happens."""
    for meeting in meetings:
        if pairs.is_empty():
            break
        pairs = pairs.subtract(_parted(pairs, meeting, length, first, second))
    return pairs


def _parted(pairs: isl.Map, meeting: Meeting, length: int, first: Touch, second: Touch) -> isl.Map:
    """Return pairs, those of `pairs` included that `meeting` happens between."""
    times = pairs.project_out(_OUT, length, 1)
    times = times.project_out(_OUT, 2 * length, 1)
    every = times.flat_range_product(meeting.times)  # [time, later time, time of the barrier]
    after = _before(every, 0, 2 * length, length)
    between = _before(after, 2 * length, length, length)
    if meeting.around:
        unsure = meeting.around[-1]
        if not all(any(u.node is unsure.node for u in t.around) for t in (first, second)):
            return pairs.subtract(pairs)
        for position in range(unsure.depth):
            between = between.equate(_OUT, position, _OUT, length + position)
            between = between.equate(_OUT, position, _OUT, 2 * length + position)
    found = between.project_out(_OUT, 2 * length, length)
    found = found.insert_dims(_OUT, 2 * length, 1)
    return found.insert_dims(_OUT, length, 1)


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
