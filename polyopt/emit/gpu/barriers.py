"""Place the fewest barriers that order every conflicting access pair of a block.

In: kernels without barriers.  Out: the same with `Barrier` nodes, each of which names what it
orders.  No barrier is redundant; conflicts within a warp get barriers of warp scope.
Slots between the nodes that all threads run; whether barriers separate a pair exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import islpy as isl

from polyopt.dataclass import dataclass, field
from polyopt.emit.gpu.accesses import AccessCollector, Point, Site
from polyopt.emit.gpu.conflicts import ConflictingPair, collect_accesses, conflicts_of
from polyopt.emit.gpu.each_block import in_each_block
from polyopt.emit.regions import expressions
from polyopt.ir.affine import set_space
from polyopt.ir.budget import optional
from polyopt.ir.expr import Iter, loads
from polyopt.ir.loops import Barrier, Body, For, If, Kernel, LoopFunction, LoopKind, Node, Scope
from polyopt.ir.nodes import bodies, with_bodies

MOST_NOTES = 3
BUDGET = 30_000_000  # isl operations for the barriers of one kernel: a few seconds
MOST = 0.5  # of the time that is left


def place_barriers(fn: LoopFunction) -> LoopFunction:
    """Return `fn` with the barriers that its kernels need."""
    return in_each_block(fn, _with_barriers)


def _with_barriers(kernel: Kernel, body: Body, fn: LoopFunction, around: tuple[For, ...]) -> Body:
    if kernel.threads == 1 or _is_one_nest(body):
        return body
    layout = layout_of(body)
    barriers = _everywhere(layout)
    with optional(f"the fewest barriers of {kernel.name}", BUDGET, MOST):
        accesses = collect_accesses(kernel, body, fn, around)
        barriers = _Choice(layout, Separation(accesses)).barriers(conflicts_of(accesses))
    return with_barriers(body, (), barriers)


def _is_one_nest(body: Body) -> bool:
    """Tell whether a block is a single parallel nest, which needs no order."""
    match body:
        case (If(then=then, otherwise=()),):
            return _is_one_nest(then)
        case (For(kind=LoopKind.THREAD),):
            return True
        case _:
            return False


def _everywhere(layout: SlotLayout) -> dict[BarrierSlot, Barrier]:
    """Return barriers in all slots, the conservative placement."""
    return {
        BarrierSlot(body, position): Barrier(Scope.BLOCK, "all: above, below")
        for body, size in layout.sizes.items()
        for position in range(1, size + 1)
    }


@dataclass(frozen=True, eq=False)
class _Choice:
    """Chooses the slots that get a barrier."""

    layout: SlotLayout
    separation: Separation

    def barriers(self, conflicts: tuple[ConflictingPair, ...]) -> dict[BarrierSlot, Barrier]:
        """Return a minimal set of barriers that separates all `conflicts`."""
        wide = [m for m in conflicts if not m.within_warp]
        slots = self.fewest(wide, ())
        close = [m for m in conflicts if m.within_warp]
        warps = self.fewest(close, slots)
        found: dict[BarrierSlot, Barrier] = {}
        for scope, chosen in ((Scope.BLOCK, slots), (Scope.WARP, warps)):
            for slot in chosen:
                notes = list(self.notes(slot, conflicts, (*slots, *warps)))
                found[slot] = Barrier(scope, "; ".join(notes[:MOST_NOTES]))
        return found

    def fewest(
        self, wanted: list[ConflictingPair], given: tuple[BarrierSlot, ...]
    ) -> tuple[BarrierSlot, ...]:
        """Return slots that with `given` separate all of `wanted`, outer ones first."""
        waiting = [m for m in wanted if not self.is_always_separated(m, given)]
        waiting.sort(key=lambda m: -min(len(slot.body) for slot in self.layout.between(m)))
        slots: list[BarrierSlot] = []
        for conflict in waiting:
            if self.is_always_separated(conflict, slots):
                continue
            candidates = self.layout.between(conflict)
            least = min(len(slot.body) for slot in candidates)
            outer = [slot for slot in candidates if len(slot.body) == least]
            slots.append(max(outer, key=lambda g: (self.use(g, waiting, slots), g.position)))
        for slot in sorted(slots, key=lambda g: -len(g.body)):
            rest = [*given, *(g for g in slots if g != slot)]
            if all(self.is_separated(m, rest) for m in waiting):
                slots.remove(slot)
        return tuple(slots)

    def use(
        self, slot: BarrierSlot, waiting: list[ConflictingPair], slots: list[BarrierSlot]
    ) -> int:
        """Return how many unordered conflicts a barrier at `slot` would order."""
        left = (m for m in waiting if not self.is_always_separated(m, slots))
        return sum(slot in self.layout.between(m) for m in left)

    def is_always_separated(self, conflict: ConflictingPair, slots: Sequence[BarrierSlot]) -> bool:
        """Tell whether every run passes one of `slots` between the points of a conflict."""
        return any(slot in self.layout.between(conflict) for slot in slots)

    def is_separated(self, conflict: ConflictingPair, slots: Sequence[BarrierSlot]) -> bool:
        """Tell whether one of `slots` separates every pair of a conflict."""
        return self.is_always_separated(conflict, slots) or self.separation.is_separated(
            conflict, slots
        )

    def notes(
        self,
        slot: BarrierSlot,
        conflicts: tuple[ConflictingPair, ...],
        every: tuple[BarrierSlot, ...],
    ) -> Iterator[str]:
        """Yield the conflicts that only the barrier at `slot` orders, or else all it orders."""
        here = [m for m in conflicts if slot in self.layout.between(m)]
        alone = [m for m in here if sum(g in self.layout.between(m) for g in every) == 1]
        yield from dict.fromkeys(m.note for m in alone or here)


def with_barriers(body: Body, point: tuple[int, ...], barriers: dict[BarrierSlot, Barrier]) -> Body:
    """Return the code of a block with `barriers` in its slots."""
    result: list[Node] = []
    for position, node in enumerate(body):
        if (before := barriers.get(BarrierSlot(point, position))) is not None:
            result.append(before)
        if not (isinstance(node, For) and node.kind in (LoopKind.THREAD, LoopKind.SCAN)):
            inner = (
                with_barriers(part, (*point, position, number), barriers)
                for number, part in enumerate(bodies(node))
            )
            node = with_bodies(node, tuple(inner))
        result.append(node)
    if (after := barriers.get(BarrierSlot(point, len(body)))) is not None:
        result.append(after)
    return tuple(result)


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


@dataclass(frozen=True, slots=True)
class BarrierSlot:
    """The point before node number `position` of the body at point `body`, or after the last."""

    body: Point
    position: int


@dataclass(frozen=True)
class SlotLayout:
    """The number of nodes of each body of a block, and the bodies under data-dependent control."""

    sizes: dict[Point, int]
    data_dependent: frozenset[Point]
    known: dict[ConflictingPair, frozenset[BarrierSlot]] = field(default_factory=dict)

    def between(self, conflict: ConflictingPair) -> frozenset[BarrierSlot]:
        """Return the slots that every run passes between the two points of a conflict."""
        if conflict not in self.known:
            self.known[conflict] = frozenset(self._between(conflict))
        return self.known[conflict]

    def _between(self, conflict: ConflictingPair) -> Iterator[BarrierSlot]:
        first, second = conflict.first, conflict.second
        carrier = conflict.carrier
        if carrier is None:
            carrier = joint_body(first, second)
            start = first[len(carrier)] + 1 if len(first) > len(carrier) else 0
            yield from self._range(carrier, start, second[len(carrier)])
        elif conflict.is_distant:
            yield from self._range(carrier, 0, self.sizes[carrier])
        else:
            yield from self._range(carrier, first[len(carrier)] + 1, self.sizes[carrier])
            yield from self._range(carrier, 0, second[len(carrier)])
        for body in self._deeper(first, carrier):
            yield from self._range(body, first[len(body)] + 1, self.sizes[body])
        for body in self._deeper(second, carrier):
            yield from self._range(body, 0, second[len(body)])

    def _range(self, body: Point, first: int, last: int) -> Iterator[BarrierSlot]:
        return (BarrierSlot(body, position) for position in range(first, last + 1))

    def _deeper(self, point: Point, carrier: Point) -> Iterator[Point]:
        """Yield the bodies inside of `carrier` that a run reaches whenever it reaches the point."""
        for length in range(len(carrier) + 2, len(point), 2):
            if point[:length] in self.data_dependent:
                return
            yield point[:length]


def joint_body(first: Point, second: Point) -> Point:
    """Return the innermost body that holds both points, or the second under the first's node."""
    length = 0
    while length + 2 < len(second) and first[: length + 2] == second[: length + 2]:
        length += 2
    if first == second[: len(first)]:  # a node decides, then something in it
        return second[: len(first) + 1]
    return second[:length]


def layout_of(body: Body) -> SlotLayout:
    """Return the barrier slots of a block's code."""
    sizes: dict[Point, int] = {}
    data_dependent: set[Point] = set()

    def visit(part: Body, point: Point) -> None:
        sizes[point] = len(part)
        for position, node in enumerate(part):
            if isinstance(node, For) and node.kind in (LoopKind.THREAD, LoopKind.SCAN):
                continue
            for number, inner in enumerate(bodies(node)):
                inner_point = (*point, position, number)
                if any(loads(expr) for expr in expressions(node)):
                    data_dependent.add(inner_point)
                visit(inner, inner_point)

    visit(body, ())
    return SlotLayout(sizes, frozenset(data_dependent))
