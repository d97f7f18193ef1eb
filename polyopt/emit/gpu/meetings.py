"""Pairs of accesses that different threads of a block make to one element, one of them writing.

In: a kernel, the function, the loops around a block.  Out: pairs of places, told by what lies
between them: once through the block's code, or the next iteration of a loop that all threads run.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property, reduce

import islpy as isl

from polyopt.dataclass import dataclass, field, replace
from polyopt.emit.gpu.touches import Place, Spot, Touch, Walk, bounds_of
from polyopt.emit.regions import nodes, written_arrays
from polyopt.ir.affine import NotAffine, coalesced, condition_set, param_space
from polyopt.ir.array import Role
from polyopt.ir.expr import (
    Compare,
    CompareOp,
    Expr,
    Iter,
    Load,
    Param,
    Symbol,
    VectorLoad,
    integer,
    rewrite,
    walk,
)
from polyopt.ir.loops import Body, Declare, DeclareArray, For, Kernel, LoopFunction, SetLocal, Space
from polyopt.ir.source import SizeOf
from polyopt.ir.types import DType

WARP = 32
"""Neighbouring threads that a barrier of a warp joins."""
_SET = isl.dim_type.set


@dataclass(frozen=True)
class Meeting:
    """Two places whose order matters.

    `home` is the body of the loop that separates them by an iteration, by more than one if
    `is_far`; None where the second follows the first.  `ways` are the accesses that meet so.
    """

    first: Spot
    second: Spot
    home: Spot | None
    is_far: bool
    within_warp: bool
    note: str
    ways: tuple[_Way, ...] = field(compare=False, repr=False)

    @cached_property
    def pairs(self) -> isl.Set:
        """The iterations and threads of both; worked out where it is asked for."""
        every = (pairs for way in self.ways for pairs in way.pairs())
        return reduce(isl.Set.union, every)


def meetings_of(walked: Walk) -> tuple[Meeting, ...]:
    """Return all meetings of the accesses that a walk found."""
    found: dict[tuple[Spot, Spot, Spot | None, str], Meeting] = {}
    for first, second in _pairs(_merged(walked.found)):
        for meeting in _meetings(first, second):
            key = (meeting.first, meeting.second, meeting.home, first.array)
            known = found.get(key)
            if known is not None:
                meeting = replace(
                    meeting,
                    is_far=meeting.is_far and known.is_far,
                    within_warp=meeting.within_warp and known.within_warp,
                    note=known.note,
                    ways=(*known.ways, *meeting.ways),
                )
            found[key] = meeting
    return tuple(dict.fromkeys(found.values()))


def walk_block(
    kernel: Kernel, body: Body, fn: LoopFunction, around: tuple[For, ...], only: str | None = None
) -> Walk:
    """Return a walk over `body`, which each block of `kernel` runs inside of `around`.

    It looks at the array `only`, or at all that is written and not a thread's own.
    """
    again = {node.name for node in nodes(fn.body) if isinstance(node, SetLocal)}
    declared = {n.name: n for n in nodes(fn.body) if isinstance(n, Declare) and n.name not in again}
    inside = {n.name for n in nodes(body) if isinstance(n, Declare)}
    hosts = {n for n, d in declared.items() if n not in inside and d.dtype is DType.INT64}
    values = {
        name: node.value
        for name, node in declared.items()
        if name in inside and node.dtype is DType.INT64 and not _is_stored(node.value, again)
    }
    params = tuple(dict.fromkeys((*fn.params, *(f.iter for f in around), *sorted(hosts))))
    private = {
        node.array.name
        for node in nodes(body)
        if isinstance(node, DeclareArray) and node.space is not Space.SHARED
    }
    private |= {array.name for array in fn.arrays if array.role is Role.FAULT}
    arrays = written_arrays(body) - private if only is None else frozenset({only})
    context = _context(fn, params, around)
    fixed = frozenset(loop.iter for loop in around)
    walked = Walk(kernel.threads, params, fixed, context, arrays, values)
    walked.body(body, Place(()))
    return walked


def _is_stored(expr: Expr, again: set[str]) -> bool:
    return any(
        isinstance(part, Load | VectorLoad) or (isinstance(part, Symbol) and part.name in again)
        for part in walk(expr)
    )


def _context(fn: LoopFunction, params: tuple[str, ...], around: tuple[For, ...]) -> isl.Set:
    """Return what is known of sizes, and of the iterators around a block."""
    space = param_space(params)
    result = isl.Set.universe(space)
    known = [check.condition for check in fn.signature.checks]
    known += [
        Compare(CompareOp.GE, Param(size.param), integer(0))
        for size in fn.signature.sizes
        if isinstance(size, SizeOf)
    ]
    for condition in (*known, *bounds_of(around, ())):
        with suppress(NotAffine):
            result = result.intersect(condition_set(_over_params(condition), space))
    return result.coalesce()


def _over_params(expr: Expr) -> Expr:
    def rule(part: Expr) -> Expr | None:
        match part:
            case Iter() | Symbol(dtype=DType.INT64):
                return Param(part.name)
            case _:
                return None

    return rewrite(expr, rule)


def _merged(reached: list[Touch]) -> list[Touch]:
    """Return the accesses, those of one nest that do the same to an array as one."""
    found: dict[tuple[object, ...], Touch] = {}
    for touch in reached:
        loops = tuple(map(id, touch.loops))
        kind = (touch.array, touch.is_written, touch.is_atomic)
        key = (*kind, touch.spot, loops, touch.homes)
        if key in found:
            touch = replace(touch, reached=coalesced(found[key].reached.union(touch.reached)))
        found[key] = touch
    return list(found.values())


def _pairs(reached: list[Touch]) -> Iterator[tuple[Touch, Touch]]:
    for first in reached:
        for second in reached:
            if first.is_atomic and second.is_atomic:
                continue
            if first.array == second.array and (first.is_written or second.is_written):
                yield first, second


def _meetings(first: Touch, second: Touch) -> Iterator[Meeting]:
    """Yield how `second` may come after `first` at one element in another thread."""
    common = 0
    for one, two in zip(first.loops, second.loops, strict=False):
        if one is not two:
            break
        common += 1
    follows = first.spot < second.spot and not _excluded(first.spot, second.spot)
    if common == 0 and not follows:
        return
    both = _Both(first, second)
    ways = [_Way(both, depth, depth) for depth in range(common)]
    if follows:
        ways.append(_Way(both, common, None))
    for way in ways:
        if (meeting := way.meeting()) is not None:
            yield meeting


@dataclass(eq=False)
class _Both:
    """Two accesses that may be to one element in two threads.

    `parts` yields the iterations and threads of both, convex set by convex set, each worked out
    when it is asked for: most questions are settled by the first.
    """

    first: Touch
    second: Touch
    _known: list[isl.Set] = field(default_factory=list)
    _rest: Iterator[isl.Set] | None = None

    @property
    def width(self) -> int:
        """The number of the first access's iterators, and its thread."""
        return len(self.first.loops) + 1

    @property
    def threads(self) -> tuple[int, int]:
        """Which dimensions are threads."""
        return self.width - 1, self.width + len(self.second.loops)

    def parts(self) -> Iterator[isl.Set]:
        """Yield pairs; the thread of the first is less than that of the second, or greater."""
        if self._rest is None:
            self._rest = self._found()
        yield from self._known
        for part in self._rest:
            self._known.append(part)
            yield part

    def _found(self) -> Iterator[isl.Set]:
        one, two = self.threads
        seconds = _convex(self.second.reached)
        for first in _convex(self.first.reached):
            for second in seconds:
                pairs = isl.Set.from_basic_set(first.flat_range_product(second).range())
                if pairs.is_empty():
                    continue
                for lesser, greater in ((one, two), (two, one)):
                    part = pairs.intersect(_less(pairs, lesser, greater, 0))
                    if not part.is_empty():
                        yield part


@dataclass(frozen=True, eq=False)
class _Way:
    """How two accesses meet: the first `equal` loops around both are at the same iteration.

    Loop `loop` is at a later iteration for the second; None: the second follows the first.
    """

    both: _Both
    equal: int
    loop: int | None

    def meeting(self) -> Meeting | None:
        """Return the meeting, None if there is none; looks no further than it has to."""
        first, second = self.both.first, self.both.second
        home = None if self.loop is None else first.homes[self.loop]
        is_found, is_near, is_wide = False, self.loop is None, False
        for pairs in self.pairs():
            is_found = True
            is_near = is_near or self.is_near(pairs)
            is_wide = is_wide or self.is_wide(pairs)
            if is_near and is_wide:
                break
        if not is_found:
            return None
        note = _note(first, second) + ("" if home is None else " in the next iteration")
        return Meeting(first.spot, second.spot, home, not is_near, not is_wide, note, (self,))

    def pairs(self) -> Iterator[isl.Set]:
        """Yield the iterations and threads of both."""
        width = self.both.width
        for part in self.both.parts():
            for depth in range(self.equal):
                part = part.equate(_SET, depth, _SET, width + depth)
            if self.loop is not None:
                part = part.intersect(_less(part, self.loop, width + self.loop, 0))
            if not part.is_empty():
                yield part

    def is_near(self, pairs: isl.Set) -> bool:
        """Tell whether some of `pairs` are at neighbouring iterations of the loop."""
        assert self.loop is not None
        step = self.both.first.loops[self.loop].step
        later = _less(pairs, self.loop, self.both.width + self.loop, step)
        return not pairs.is_subset(later)

    def is_wide(self, pairs: isl.Set) -> bool:
        """Tell whether some of `pairs` are in two warps."""
        one, two = self.both.threads
        for lesser, greater in ((one, two), (two, one)):
            if not pairs.intersect(_less(pairs, lesser, greater, WARP - 1)).is_empty():
                return True
        local = isl.LocalSpace.from_space(pairs.get_space())
        warps = [
            isl.Aff.var_on_domain(local, _SET, n).scale_down_val(isl.Val(WARP)).floor()
            for n in (one, two)
        ]
        return not pairs.intersect(warps[0].ne_set(warps[1])).is_empty()


def _convex(reached: isl.Map) -> list[isl.BasicMap]:
    return [part for part in reached.get_basic_maps() if not part.is_empty()]


def _excluded(first: Spot, second: Spot) -> bool:
    """Tell whether the places are in different branches of a condition."""
    for number, (one, two) in enumerate(zip(first, second, strict=False)):
        if one != two:
            return number % 2 == 1
    return False


def _note(first: Touch, second: Touch) -> str:
    words = {True: "written", False: "read"}
    return f"{first.array}: {words[first.is_written]} above, {words[second.is_written]} below"


def _less(pairs: isl.Set, one: int, two: int, by: int) -> isl.Set:
    """Return where dimension `one` is less than `two` by more than `by`."""
    local = isl.LocalSpace.from_space(pairs.get_space())
    left = isl.Aff.var_on_domain(local, isl.dim_type.set, one).add_constant_val(isl.Val(by))
    return left.lt_set(isl.Aff.var_on_domain(local, isl.dim_type.set, two))
