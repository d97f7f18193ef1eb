"""Check exactly, for all sizes, whether barriers separate every pair of a conflict.

In: a conflict, slots with barriers.  Out: whether every pair of iterations has one in between.
`barrier_slots` counts what every run passes; this also counts loops that run at least once.
"""

from __future__ import annotations

from collections.abc import Iterable

import islpy as isl

from polyopt.dataclass import dataclass, field
from polyopt.emit.gpu.accesses import AccessCollector, Point, Site
from polyopt.emit.gpu.barrier_slots import BarrierSlot
from polyopt.emit.gpu.conflicts import ConflictingPair
from polyopt.ir.affine import set_space
from polyopt.ir.expr import Iter

_SET = isl.dim_type.set
_Time = list[int | str]
"""Positions and names of iterators, alternating; slots are even positions, nodes odd ones."""


@dataclass(frozen=True, eq=False)
class Separation:
    """Decides separation for one kernel; `known` caches `passed`."""

    accesses: AccessCollector
    known: dict[tuple[Point, Point, BarrierSlot], isl.Set] = field(default_factory=dict)

    def is_separated(self, conflict: ConflictingPair, slots: Iterable[BarrierSlot]) -> bool:
        """Tell whether every pair of a conflict passes one of `slots` in between."""
        around = isl.Set.from_basic_set(conflict.pairs.affine_hull().remove_divs())
        for slot in slots:
            around = around.subtract(self.passed(conflict, slot).intersect(around))
        return bool(conflict.pairs.intersect(around).is_empty())

    def passed(self, conflict: ConflictingPair, slot: BarrierSlot) -> isl.Set:
        """Return the pairs of iterations and threads that `slot` separates."""
        key = (conflict.first, conflict.second, slot)
        if key not in self.known:
            self.known[key] = self._passed(conflict, slot)
        return self.known[key]

    def _passed(self, conflict: ConflictingPair, slot: BarrierSlot) -> isl.Set:
        site = self.accesses.bodies[slot.body]
        points = (conflict.first, conflict.second, slot.body)
        loop_bodies = [self.accesses.bodies[point[:-1]].loop_bodies for point in points[:2]] + [
            site.loop_bodies
        ]
        names = [
            [f"{side}{n}" for n in range(len(h))]
            for side, h in zip("xyz", loop_bodies, strict=True)
        ]
        one, two, three = names
        space = set_space(self.accesses.params, "", [*one, "s", *two, "t", *three])
        renamed = {loop.iter: Iter(name) for loop, name in zip(site.loops, three, strict=True)}
        result = self.accesses.domain(site, space, renamed)
        times = [
            _time(point, dict(zip(own, name, strict=True)))
            for point, own, name in zip(points, loop_bodies, names, strict=True)
        ]
        barrier = [*times[2], 2 * slot.position]
        result = result.intersect(_before(space, times[0], barrier))
        result = result.intersect(_before(space, barrier, times[1]))
        result = self._sure(site, conflict, space, names, result)
        return result.project_out(_SET, len(one) + len(two) + 2, len(three))

    def _sure(
        self, site: Site, conflict: ConflictingPair, space: isl.Space, names: list[list[str]],
        result: isl.Set,
    ) -> isl.Set:  # fmt: skip
        """Keep the cases in which the slot is reached whatever the data is."""
        for body, depth in site.data_dependent:
            if not all(point[: len(body)] == body for point in (conflict.first, conflict.second)):
                return result.subtract(result)
            for first, second, third in zip(*(name[:depth] for name in names), strict=True):
                result = result.intersect(_equal(space, first, third))
                result = result.intersect(_equal(space, second, third))
        return result


def _time(point: Point, iters: dict[Point, str]) -> _Time:
    """Return the schedule time of a point: `iters` names the iterators of bodies of loops."""
    time: _Time = []
    for number, part in enumerate(point):
        if number % 2 == 0:
            time.append(2 * part + 1)
        else:
            time.append(iters.get(point[: number + 1], part))
    return time


def _before(space: isl.Space, one: _Time, two: _Time) -> isl.Set:
    """Return where `one` is before `two`; a node is before everything in it."""
    found = isl.Set.empty(space)
    same = isl.Set.universe(space)
    for first, second in zip(one, two, strict=False):
        if isinstance(first, str) and isinstance(second, str):
            found = found.union(same.intersect(_less(space, first, second)))
            same = same.intersect(_equal(space, first, second))
        elif first != second:
            assert isinstance(first, int)
            assert isinstance(second, int)
            return found.union(same) if first < second else found
    return found.union(same) if len(one) < len(two) else found


def _less(space: isl.Space, first: str, second: str) -> isl.Set:
    one, two = _affs(space, first, second)
    return one.lt_set(two)


def _equal(space: isl.Space, first: str, second: str) -> isl.Set:
    one, two = _affs(space, first, second)
    return one.eq_set(two)


def _affs(space: isl.Space, first: str, second: str) -> tuple[isl.Aff, isl.Aff]:
    local = isl.LocalSpace.from_space(space)
    one, two = (
        isl.Aff.var_on_domain(local, _SET, space.find_dim_by_name(_SET, name))
        for name in (first, second)
    )
    return one, two
