"""Choose the number of iterations of each loop that a block runs.

In: the first loops of a band, a device.  Out: sizes whose product is the threads of a block.
"""

from __future__ import annotations

import islpy as isl

from polyopt.schedule.schedule import Schedule
from polyopt.schedule.tree import BandMember, find_band, path_to
from polyopt.strategy.extents import constant_extent
from polyopt.strategy.gpu.coalescing import access_steps
from polyopt.strategy.gpu.model import GpuModel
from polyopt.strategy.strides import Stride

SQUARE = 16
"""The side of a block where two loops both walk memory contiguously."""


def block_sizes(schedule: Schedule, label: str, count: int, device: GpuModel) -> tuple[int, ...]:
    """Return how many iterations of the first `count` loops of a band run in one block.

    The last loop gets at most a warp, the one before it the rest of the block.
    """
    _, domain = path_to(schedule.tree, schedule.scop, label)
    members = find_band(schedule.tree, label).members[:count]
    limits = [constant_extent(member, domain) for member in members]
    left = min(device.block, device.threads)
    wish = left if count == 1 else device.warp
    if count > 1 and _crosses(schedule, label, count):
        wish = min(SQUARE, device.warp)
    sizes: list[int] = []
    for limit in reversed(limits):
        size = max(1, min(wish, left, limit or wish))
        sizes.append(size)
        left //= size
        wish = left
    return tuple(reversed(sizes))


def _crosses(schedule: Schedule, label: str, count: int) -> bool:
    """Tell whether an access is strided along the last loop and contiguous along one before."""
    last = access_steps(schedule, label, count - 1)
    strided = {ref for ref, (step, _) in last.items() if step is Stride.STRIDED}
    return any(
        step is Stride.CONTIGUOUS and ref in strided
        for position in range(count - 1)
        for ref, (step, _) in access_steps(schedule, label, position).items()
    )


def least_value(member: BandMember, domain: isl.UnionSet) -> int | None:
    """Return the first value of a loop, where it is constant."""
    values = isl.UnionMap.from_union_pw_aff(member.schedule).intersect_domain(domain).range()
    if values.is_empty():
        return None
    line = isl.Set.from_union_set(values)
    if not line.dim_has_any_lower_bound(isl.dim_type.set, 0):
        return None
    low = line.dim_min_val(0)
    return int(low.to_python()) if low.is_int() else None
