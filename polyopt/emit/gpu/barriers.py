"""Barriers: exactly where threads of a block would meet at an element in any order without.

In: kernels without barriers.  Out: the same with `Barrier` nodes, each of which names what it
orders.  One that could be left out is not placed; a warp waits where only its own threads meet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polyopt.dataclass import dataclass
from polyopt.emit.gpu.each_block import in_each_block
from polyopt.emit.gpu.gaps import Gap, Layout, layout_of
from polyopt.emit.gpu.meetings import Meeting, meetings_of, walk_block
from polyopt.emit.gpu.passing import Passing
from polyopt.emit.nodes import nested, with_nested
from polyopt.ir.budget import optional
from polyopt.ir.loops import (
    Barrier,
    Body,
    For,
    If,
    Kernel,
    LoopFunction,
    LoopKind,
    Node,
    Scope,
)

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
        walked = walk_block(kernel, body, fn, around)
        barriers = _Choice(layout, Passing(walked)).barriers(meetings_of(walked))
    return with_barriers(body, (), barriers)


def _is_one_nest(body: Body) -> bool:
    """Tell whether a block deals out one nest and does nothing else: none of it has an order."""
    match body:
        case (If(then=then, otherwise=()),):
            return _is_one_nest(then)
        case (For(kind=LoopKind.THREAD),):
            return True
        case _:
            return False


def _everywhere(layout: Layout) -> dict[Gap, Barrier]:
    """Return barriers in all gaps."""
    return {
        Gap(body, position): Barrier(Scope.BLOCK, "all: above, below")
        for body, size in layout.sizes.items()
        for position in range(1, size + 1)
    }


@dataclass(frozen=True, eq=False)
class _Choice:
    """Chooses the gaps of a block's code that get a barrier."""

    layout: Layout
    passing: Passing

    def barriers(self, meetings: tuple[Meeting, ...]) -> dict[Gap, Barrier]:
        """Return barriers between all `meetings`, none of which can be left out."""
        wide = [m for m in meetings if not m.within_warp]
        gaps = self.fewest(wide, ())
        close = [m for m in meetings if m.within_warp]
        warps = self.fewest(close, gaps)
        found: dict[Gap, Barrier] = {}
        for scope, places in ((Scope.BLOCK, gaps), (Scope.WARP, warps)):
            for gap in places:
                notes = list(self.notes(gap, meetings, (*gaps, *warps)))
                found[gap] = Barrier(scope, "; ".join(notes[:MOST_NOTES]))
        return found

    def fewest(self, wanted: list[Meeting], given: tuple[Gap, ...]) -> tuple[Gap, ...]:
        """Return gaps that with `given` lie between all of `wanted`: outer ones first."""
        waiting = [m for m in wanted if not self.is_met(m, given)]
        waiting.sort(key=lambda m: -min(len(gap.body) for gap in self.layout.between(m)))
        gaps: list[Gap] = []
        for meeting in waiting:
            if self.is_met(meeting, gaps):
                continue
            candidates = self.layout.between(meeting)
            least = min(len(gap.body) for gap in candidates)
            outer = [gap for gap in candidates if len(gap.body) == least]
            gaps.append(max(outer, key=lambda g: (self.use(g, waiting, gaps), g.position)))
        for gap in sorted(gaps, key=lambda g: -len(g.body)):
            rest = [*given, *(g for g in gaps if g != gap)]
            if all(self.is_parted(m, rest) for m in waiting):
                gaps.remove(gap)
        return tuple(gaps)

    def use(self, gap: Gap, waiting: list[Meeting], gaps: list[Gap]) -> int:
        """Return how many of the meetings that are left a barrier at `gap` would order."""
        left = (m for m in waiting if not self.is_met(m, gaps))
        return sum(gap in self.layout.between(m) for m in left)

    def is_met(self, meeting: Meeting, gaps: Sequence[Gap]) -> bool:
        """Tell whether every run passes one of `gaps` between the places of a meeting."""
        return any(gap in self.layout.between(meeting) for gap in gaps)

    def is_parted(self, meeting: Meeting, gaps: Sequence[Gap]) -> bool:
        """Tell whether one of `gaps` is between the times of every pair of a meeting."""
        return self.is_met(meeting, gaps) or self.passing.is_parted(meeting, gaps)

    def notes(
        self, gap: Gap, meetings: tuple[Meeting, ...], every: tuple[Gap, ...]
    ) -> Iterator[str]:
        """Yield what the barrier at `gap` orders and no other does, or all that it orders."""
        here = [m for m in meetings if gap in self.layout.between(m)]
        alone = [m for m in here if sum(g in self.layout.between(m) for g in every) == 1]
        yield from dict.fromkeys(m.note for m in alone or here)


def with_barriers(body: Body, spot: tuple[int, ...], barriers: dict[Gap, Barrier]) -> Body:
    """Return the code of a block with `barriers` in its gaps."""
    result: list[Node] = []
    for position, node in enumerate(body):
        if (before := barriers.get(Gap(spot, position))) is not None:
            result.append(before)
        if not (isinstance(node, For) and node.kind in (LoopKind.THREAD, LoopKind.SCAN)):
            inner = (
                with_barriers(part, (*spot, position, number), barriers)
                for number, part in enumerate(nested(node))
            )
            node = with_nested(node, tuple(inner))
        result.append(node)
    if (after := barriers.get(Gap(spot, len(body)))) is not None:
        result.append(after)
    return tuple(result)
