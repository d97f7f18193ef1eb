"""The collective that an exchange is.

In: the elements that come from another rank, by how it lies.  Out: the form, for any sizes.
An exchange is a collective only if what comes from a rank does not depend on who gets it: then all
ranks call it under one condition.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum, unique

import islpy as isl

from polyopt.distribution.mesh import Sign
from polyopt.distribution.ownership import Ownership
from polyopt.ir.affine import sample_point
from polyopt.ir.parameters import param_aff, without_params

Received = Mapping[Sign, isl.Set]


@unique
class Form(Enum):
    """The collective that an exchange is, or messages between neighbours or any two ranks."""

    HALO = "halo exchange"
    ALL_GATHER = "all-gather"
    BROADCAST = "broadcast"
    ALL_TO_ALL = "all-to-all"
    ALL_REDUCE = "all-reduce"
    REDUCE_SCATTER = "reduce-scatter"
    SCAN = "scan"
    MESSAGES = "point to point"


def form_of(
    own: Ownership, array: str, received: Received
) -> tuple[Form, tuple[tuple[int, int], ...]]:
    """Return the form, and for a halo the indices before and after the block along each cut."""
    if own.is_cyclic:
        return Form.MESSAGES, ()
    halo = halo_of(own, array, received)
    if halo:
        return Form.HALO, halo
    if own.mesh_axes != 1 or len(received) != 2:
        return Form.MESSAGES, ()
    if not any(differing(own, received)):
        if is_whole(own, array, received):
            return Form.ALL_GATHER, ()
        if is_of_one(own, array, received.values()):
            return Form.BROADCAST, ()
    return (Form.MESSAGES if any(silent(own, received)) else Form.ALL_TO_ALL), ()


def is_whole(own: Ownership, array: str, received: Received) -> bool:
    """Tell whether whole blocks come, wherever anything comes."""
    whole = own.swapped(own.owned(own.scop.array(array)))
    for sign, one in received.items():
        space = one.get_space()
        others = isl.Set.align_params(whole, space).intersect_params(one.params())
        apart = isl.Set.align_params(own.apart(sign), space)
        if not one.is_equal(others.intersect_params(apart)):
            return False
    return True


def differing(own: Ownership, received: Received) -> Iterator[str]:
    """Yield sizes and blocks at which a rank with a block gets what another one does not."""
    for sign, one in received.items():
        space = one.get_space()
        busy = isl.Set.align_params(own.apart(sign), space)
        for b in own.blocks:
            busy = busy.intersect(_is_busy(busy, b.low, b.high))
        anyone = for_any(one, [name for b in own.blocks for name in (b.low, b.high)])
        missing = anyone.intersect_params(busy).subtract(one).params()
        if not missing.is_empty():
            yield _sample(missing)


def silent(own: Ownership, received: Received) -> Iterator[str]:
    """Yield sizes and blocks at which a rank gets nothing of another one, but others do.

    Ranks with empty blocks do not count.
    """
    for sign, one in received.items():
        space = one.get_space()
        busy = isl.Set.align_params(own.apart(sign), space).params()
        for b in own.blocks:
            busy = busy.intersect(_is_busy(busy, b.low, b.high))
            busy = busy.intersect(_is_busy(busy, b.other_low, b.other_high))
        anyone = for_any(one.params(), [name for b in own.blocks for name in b.names])
        missing = anyone.intersect(busy).subtract(one.params())
        if not missing.is_empty():
            yield _sample(missing)


def for_any(value: isl.Set, names: Iterable[str]) -> isl.Set:
    """Return what is in a set for some values of parameters."""
    return isl.Set.align_params(without_params(value, names), value.get_space())


def _sample(params: isl.Set) -> str:
    point = sample_point(params)
    sizes = {} if point is None else point[0]
    return ", ".join(f"{name} = {value}" for name, value in sizes.items())


def _is_busy(space: isl.Set, low: str, high: str) -> isl.Set:
    """Return where a rank's block is not empty."""
    first, end = (param_aff(name, space.get_space()) for name in (low, high))
    return first.lt_set(end)


def is_of_one(own: Ownership, array: str, sets: Iterable[isl.Set]) -> bool:
    """Tell whether all elements lie at one index of the cut axis, so that one rank has them."""
    (cut,) = own.cuts[array]
    for one in sets:
        rank = one.dim(isl.dim_type.set)
        line = one.project_out(isl.dim_type.set, cut.axis + 1, rank - cut.axis - 1)
        line = line.project_out(isl.dim_type.set, 0, cut.axis)
        line = without_params(line, (name for b in own.blocks for name in b.names))
        if not isl.Map.from_range(line).is_single_valued():
            return False
    return True


def halo_of(own: Ownership, array: str, received: Received) -> tuple[tuple[int, int], ...]:
    """Return how far elements lie before and after the block along each cut, () if any far."""
    found = []
    for cut in own.cuts[array]:
        before = after = 0
        for one in received.values():
            reach = reach_of(one, cut.axis, cut.shift, cut.blocks.low, cut.blocks.high)
            if reach is None:
                return ()
            before, after = max(before, reach[0]), max(after, reach[1])
        found.append((before, after))
    return tuple(found)


def reach_of(
    elements: isl.Set, axis: int, shift: int, low: str, high: str
) -> tuple[int, int] | None:
    """Return how many indices a set reaches before and after a block, None if any number."""
    space = elements.get_space()
    local = isl.LocalSpace.from_space(space)
    index = isl.Aff.var_on_domain(local, isl.dim_type.set, axis).set_constant_val(isl.Val(shift))
    ends = []
    for name, sign in ((low, 1), (high, -1)):
        end = param_aff(name, space)
        distance = end.sub(index) if sign > 0 else index.sub(end).add_constant_val(isl.Val(1))
        most = elements.max_val(distance)
        if elements.is_empty():
            ends.append(0)
        elif not most.is_int():
            return None
        else:
            ends.append(max(0, int(most.to_python())))
    return ends[0], ends[1]
