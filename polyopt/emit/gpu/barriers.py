"""Place the fewest barriers that order every conflicting access pair of a block.

In: kernels without barriers.  Out: the same with `Barrier` nodes, each of which names what it
orders.  No barrier is redundant; conflicts within a warp get barriers of warp scope.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polyopt.dataclass import dataclass
from polyopt.emit.gpu.barrier_slots import BarrierSlot, SlotLayout, layout_of
from polyopt.emit.gpu.conflicts import ConflictingPair, collect_accesses, conflicts_of
from polyopt.emit.gpu.each_block import in_each_block
from polyopt.emit.gpu.separation import Separation
from polyopt.ir.budget import optional
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
