"""Is a barrier passed between two places, whatever the iterations? Exactly, for all sizes.

In: a meeting, gaps with barriers.  Out: whether every pair of the meeting has one in between.
`gaps` says what every run passes; here, loops that run at least once count, too.
"""

from __future__ import annotations

from collections.abc import Iterable

import islpy as isl

from polyopt.dataclass import dataclass, field
from polyopt.emit.gpu.gaps import Gap
from polyopt.emit.gpu.meetings import Meeting
from polyopt.emit.gpu.touches import Place, Spot, Walk
from polyopt.ir.affine import set_space
from polyopt.ir.expr import Iter

_SET = isl.dim_type.set
_Time = list[int | str]
"""Positions and names of iterators, in turn; a gap has an even position, a node an odd one."""


@dataclass(frozen=True, eq=False)
class Passing:
    """Answers for one kernel; `known` are answers given before."""

    walk: Walk
    known: dict[tuple[Spot, Spot, Gap], isl.Set] = field(default_factory=dict)

    def is_parted(self, meeting: Meeting, gaps: Iterable[Gap]) -> bool:
        """Tell whether every pair of a meeting has one of `gaps` between its times."""
        around = isl.Set.from_basic_set(meeting.pairs.affine_hull().remove_divs())
        for gap in gaps:
            around = around.subtract(self.passed(meeting, gap).intersect(around))
        return bool(meeting.pairs.intersect(around).is_empty())

    def passed(self, meeting: Meeting, gap: Gap) -> isl.Set:
        """Return the pairs of iterations, threads included, that `gap` lies between."""
        key = (meeting.first, meeting.second, gap)
        if key not in self.known:
            self.known[key] = self._passed(meeting, gap)
        return self.known[key]

    def _passed(self, meeting: Meeting, gap: Gap) -> isl.Set:
        place = self.walk.bodies[gap.body]
        spots = (meeting.first, meeting.second, gap.body)
        homes = [self.walk.bodies[spot[:-1]].homes for spot in spots[:2]] + [place.homes]
        names = [
            [f"{side}{n}" for n in range(len(h))] for side, h in zip("xyz", homes, strict=True)
        ]
        one, two, three = names
        space = set_space(self.walk.params, "", [*one, "s", *two, "t", *three])
        renamed = {loop.iter: Iter(name) for loop, name in zip(place.loops, three, strict=True)}
        result = self.walk.domain(place, space, renamed)
        times = [
            _time(spot, dict(zip(own, name, strict=True)))
            for spot, own, name in zip(spots, homes, names, strict=True)
        ]
        barrier = [*times[2], 2 * gap.position]
        result = result.intersect(_before(space, times[0], barrier))
        result = result.intersect(_before(space, barrier, times[1]))
        result = self._sure(place, meeting, space, names, result)
        return result.project_out(_SET, len(one) + len(two) + 2, len(three))

    def _sure(
        self, place: Place, meeting: Meeting, space: isl.Space, names: list[list[str]],
        result: isl.Set,
    ) -> isl.Set:  # fmt: skip
        """Keep the cases in which the gap is reached whatever the data is."""
        for body, depth in place.unsure:
            if not all(spot[: len(body)] == body for spot in (meeting.first, meeting.second)):
                return result.subtract(result)
            for first, second, third in zip(*(name[:depth] for name in names), strict=True):
                result = result.intersect(_equal(space, first, third))
                result = result.intersect(_equal(space, second, third))
        return result


def _time(spot: Spot, iters: dict[Spot, str]) -> _Time:
    """Return when a place is reached: `iters` names the iterators of bodies of loops."""
    time: _Time = []
    for number, part in enumerate(spot):
        if number % 2 == 0:
            time.append(2 * part + 1)
        else:
            time.append(iters.get(spot[: number + 1], part))
    return time


def _before(space: isl.Space, one: _Time, two: _Time) -> isl.Set:
    """Return where `one` is before `two`; a place is before all in it."""
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
