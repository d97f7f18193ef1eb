"""Which array to cut along which axis: candidates by what they move and what a rank keeps.

In: a function that makes a plan for a cut, sizes of a call.  Out: suggestions, the best one first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import sympy

from polyopt.dataclass import dataclass
from polyopt.distribution.execution import Plan
from polyopt.distribution.forms import Form
from polyopt.distribution.mesh import block
from polyopt.distribution.volume import RANKS, volumes
from polyopt.errors import PolyoptError
from polyopt.ir.array import Role
from polyopt.ir.integers import evaluate

Shard = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A cut: bytes that one call moves between all ranks, bytes of arrays that one rank keeps.

    `parallel`: several ranks compute at a time.  `exact` is False where `bytes` is only an upper
    bound: whole arrays to all ranks, at each step.
    """

    shard: Shard
    bytes: int
    memory: int
    parallel: bool
    exact: bool

    def __str__(self) -> str:
        most = "" if self.exact else "at most "
        turns = "" if self.parallel else ", one rank after the other"
        return (
            f"shard={dict(self.shard)}: {most}{self.bytes} bytes moved, "
            f"{self.memory} bytes on a rank{turns}"
        )


def suggestions(
    plan_of: Callable[[Shard], Plan],
    candidates: Iterable[Shard],
    sizes: Mapping[str, int],
    ranks: int,
) -> list[Suggestion]:
    """Return the cuts that a plan can be made for: parallel ones first, by bytes, by memory."""
    found: dict[object, Suggestion] = {}
    for shard in candidates:
        try:
            plan = plan_of(shard)
        except PolyoptError:
            continue
        cuts = plan.exchanges.own.cuts
        key = frozenset((name, cut.axis) for name, own in cuts.items() for cut in own)
        found.setdefault(key, _judged(plan, shard, sizes, ranks))
    return sorted(found.values(), key=lambda s: (not s.parallel, s.bytes, s.memory))


def _judged(plan: Plan, shard: Shard, sizes: Mapping[str, int], ranks: int) -> Suggestion:
    values = {sympy.Symbol(name, integer=True): value for name, value in sizes.items()}
    amount, exact = 0, True
    for volume in volumes(plan):
        if volume.bytes is not None:
            moved = int(volume.bytes.subs({**values, RANKS: ranks}))
            if volume.form == Form.ALL_REDUCE.value:  # a reduce-scatter and an all-gather
                moved = moved // ranks * 2 * (ranks - 1)
            amount += moved
            continue
        exact = False
        array = plan.exchanges.own.scop.array(volume.array)
        extents = [evaluate(extent, sizes) for extent in array.shape]
        amount += math.prod(extents) * array.dtype.size * (ranks - 1)
    parallel = not any(phase.after for phase in plan.exchanges.phases.phases)
    parallel = parallel and _shares(plan)
    return Suggestion(shard, amount, _memory(plan, sizes, ranks), parallel, exact)


def _shares(plan: Plan) -> bool:
    """Tell whether a statement runs on the ranks in parts."""
    placement = plan.exchanges.phases.placement
    return any(
        domain.intersect(placement.of_other[name]).is_empty() or not domain.is_equal(other)
        for name, domain in placement.domains.items()
        for other in (placement.of_other[name],)
    )


def _memory(plan: Plan, sizes: Mapping[str, int], ranks: int) -> int:
    """Return the bytes of the arrays that the first rank, which has the longest block, keeps."""
    values = dict(sizes)
    for b in plan.exchanges.own.blocks:
        values[b.low], values[b.high] = block(evaluate(b.extent, sizes), ranks, 0)
    found = 0
    for array in plan.exchanges.own.scop.arrays:
        if array.role is Role.TEMP and array.name not in plan.storage.shared:
            continue
        shape = [max(0, evaluate(extent, values)) for extent in plan.storage.shape(array)]
        found += math.prod(shape) * array.dtype.size
    return found
