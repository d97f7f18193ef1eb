"""Find the conflicting access pairs of a block: two threads, one element, at least one write.

In: a kernel, the function, the loops around a block.  Out: ordered pairs of program points, either
loop-independent or carried by a loop that all threads run.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property, reduce

import islpy as isl

from polyopt.dataclass import dataclass, field, replace
from polyopt.emit.gpu.accesses import AccessCollector, Point, Site, ThreadAccess, bounds_of
from polyopt.emit.regions import written_arrays
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
from polyopt.ir.nodes import all_nodes
from polyopt.ir.source import SizeOf
from polyopt.ir.types import DType

WARP = 32
"""Neighbouring threads that a barrier of a warp joins."""
_SET = isl.dim_type.set


@dataclass(frozen=True)
class ConflictingPair:
    """Two program points whose order matters.

    `carrier` is the body of the loop that carries the conflict, None if it is loop-independent; the
    distance is more than one iteration if `is_distant`.  `levels` are the access pairs by depth.
    """

    first: Point
    second: Point
    carrier: Point | None
    is_distant: bool
    within_warp: bool
    note: str
    levels: tuple[_Level, ...] = field(compare=False, repr=False)

    @cached_property
    def pairs(self) -> isl.Set:
        """The iterations and threads of both accesses, computed on first use."""
        every = (pairs for level in self.levels for pairs in level.pairs())
        return reduce(isl.Set.union, every)


def conflicts_of(collected: AccessCollector) -> tuple[ConflictingPair, ...]:
    """Return the conflicting pairs among the collected accesses."""
    found: dict[tuple[Point, Point, Point | None, str], ConflictingPair] = {}
    for first, second in _pairs(_merged(collected.found)):
        for conflict in _conflicts(first, second):
            key = (conflict.first, conflict.second, conflict.carrier, first.array)
            known = found.get(key)
            if known is not None:
                conflict = replace(
                    conflict,
                    is_distant=conflict.is_distant and known.is_distant,
                    within_warp=conflict.within_warp and known.within_warp,
                    note=known.note,
                    levels=(*known.levels, *conflict.levels),
                )
            found[key] = conflict
    return tuple(dict.fromkeys(found.values()))


def collect_accesses(
    kernel: Kernel, body: Body, fn: LoopFunction, around: tuple[For, ...], only: str | None = None
) -> AccessCollector:
    """Collect the accesses of `body`, which each block of `kernel` runs inside of `around`.

    Considers the array `only`, or by default every array that is written and not thread-private.
    """
    again = {node.name for node in all_nodes(fn.body) if isinstance(node, SetLocal)}
    declared = {
        n.name: n for n in all_nodes(fn.body) if isinstance(n, Declare) and n.name not in again
    }
    inside = {n.name for n in all_nodes(body) if isinstance(n, Declare)}
    hosts = {n for n, d in declared.items() if n not in inside and d.dtype is DType.INT64}
    values = {
        name: node.value
        for name, node in declared.items()
        if name in inside and node.dtype is DType.INT64 and not _is_stored(node.value, again)
    }
    params = tuple(dict.fromkeys((*fn.params, *(f.iter for f in around), *sorted(hosts))))
    private = {
        node.array.name
        for node in all_nodes(body)
        if isinstance(node, DeclareArray) and node.space is not Space.SHARED
    }
    private |= {array.name for array in fn.arrays if array.role is Role.FAULT}
    arrays = written_arrays(body) - private if only is None else frozenset({only})
    context = _context(fn, params, around)
    fixed = frozenset(loop.iter for loop in around)
    collected = AccessCollector(kernel.threads, params, fixed, context, arrays, values)
    collected.body(body, Site(()))
    return collected


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


def _merged(reached: list[ThreadAccess]) -> list[ThreadAccess]:
    """Return the accesses, those of one nest that do the same to an array as one."""
    found: dict[tuple[object, ...], ThreadAccess] = {}
    for access in reached:
        loops = tuple(map(id, access.loops))
        kind = (access.array, access.is_written, access.is_atomic)
        key = (*kind, access.point, loops, access.loop_bodies)
        if key in found:
            access = replace(access, reached=coalesced(found[key].reached.union(access.reached)))
        found[key] = access
    return list(found.values())


def _pairs(reached: list[ThreadAccess]) -> Iterator[tuple[ThreadAccess, ThreadAccess]]:
    for first in reached:
        for second in reached:
            if first.is_atomic and second.is_atomic:
                continue
            if first.array == second.array and (first.is_written or second.is_written):
                yield first, second


def _conflicts(first: ThreadAccess, second: ThreadAccess) -> Iterator[ConflictingPair]:
    """Yield the conflicts in which another thread runs `second` after `first` on one element."""
    common = 0
    for one, two in zip(first.loops, second.loops, strict=False):
        if one is not two:
            break
        common += 1
    follows = first.point < second.point and not _excluded(first.point, second.point)
    if common == 0 and not follows:
        return
    accesses = _AccessPair(first, second)
    levels = [_Level(accesses, depth, depth) for depth in range(common)]
    if follows:
        levels.append(_Level(accesses, common, None))
    for level in levels:
        if (conflict := level.conflict()) is not None:
            yield conflict


@dataclass(eq=False)
class _AccessPair:
    """Two accesses that two threads may make to one element.

    `parts` yields the iterations and threads of both lazily, one convex set at a time: the first
    set answers most queries.
    """

    first: ThreadAccess
    second: ThreadAccess
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
class _Level:
    """The loop level of a conflict: the outer `equal` common loops have equal iterations.

    `loop` carries the conflict; None if it is loop-independent.
    """

    accesses: _AccessPair
    equal: int
    loop: int | None

    def conflict(self) -> ConflictingPair | None:
        """Return the conflict at this level, or None; stop as soon as it is classified."""
        first, second = self.accesses.first, self.accesses.second
        carrier = None if self.loop is None else first.loop_bodies[self.loop]
        is_found, is_near, is_wide = False, self.loop is None, False
        for pairs in self.pairs():
            is_found = True
            is_near = is_near or self.is_near(pairs)
            is_wide = is_wide or self.is_wide(pairs)
            if is_near and is_wide:
                break
        if not is_found:
            return None
        note = _note(first, second) + ("" if carrier is None else " in the next iteration")
        return ConflictingPair(
            first.point, second.point, carrier, not is_near, not is_wide, note, (self,)
        )

    def pairs(self) -> Iterator[isl.Set]:
        """Yield the iterations and threads of both."""
        width = self.accesses.width
        for part in self.accesses.parts():
            for depth in range(self.equal):
                part = part.equate(_SET, depth, _SET, width + depth)
            if self.loop is not None:
                part = part.intersect(_less(part, self.loop, width + self.loop, 0))
            if not part.is_empty():
                yield part

    def is_near(self, pairs: isl.Set) -> bool:
        """Tell whether some of `pairs` are at neighbouring iterations of the loop."""
        assert self.loop is not None
        step = self.accesses.first.loops[self.loop].step
        later = _less(pairs, self.loop, self.accesses.width + self.loop, step)
        return not pairs.is_subset(later)

    def is_wide(self, pairs: isl.Set) -> bool:
        """Tell whether some of `pairs` are in two warps."""
        one, two = self.accesses.threads
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


def _excluded(first: Point, second: Point) -> bool:
    """Tell whether the points are in different branches of a condition."""
    for number, (one, two) in enumerate(zip(first, second, strict=False)):
        if one != two:
            return number % 2 == 1
    return False


def _note(first: ThreadAccess, second: ThreadAccess) -> str:
    words = {True: "written", False: "read"}
    return f"{first.array}: {words[first.is_written]} above, {words[second.is_written]} below"


def _less(pairs: isl.Set, one: int, two: int, by: int) -> isl.Set:
    """Return where dimension `one` is less than `two` by more than `by`."""
    local = isl.LocalSpace.from_space(pairs.get_space())
    left = isl.Aff.var_on_domain(local, isl.dim_type.set, one).add_constant_val(isl.Val(by))
    return left.lt_set(isl.Aff.var_on_domain(local, isl.dim_type.set, two))
