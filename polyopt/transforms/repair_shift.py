"""Repair fusions by shifting, reversing or interchanging a nest first.

In: a refused fusion.  Out: `Repair` candidates with the least shifts.
"""

from __future__ import annotations

from collections.abc import Iterator

from polyopt.errors import ScheduleError
from polyopt.schedule.legality import pairs_reaching
from polyopt.schedule.repair import RefusedStep, Repair, RepairKind
from polyopt.schedule.schedule import Transform
from polyopt.schedule.skewing import distance_vectors
from polyopt.schedule.tree import find_band, path_to, tuple_names
from polyopt.transforms.interchange import Interchange
from polyopt.transforms.repair_loops import name_of
from polyopt.transforms.reverse import Reverse
from polyopt.transforms.shift import Shift

MAX_DELAY = 64


def delayed(
    refused: RefusedStep, fuse: Transform, first: str, second: str, count: int
) -> Iterator[Repair]:
    """Yield the fusion of two nests after the second was shifted, reversed or interchanged."""
    tree = refused.tree
    delays = _delays(refused, fuse, first, second, count)
    if delays is not None:
        shifts = tuple(
            Shift(name_of(tree, second, position), delay)
            for position, delay in enumerate(delays)
            if delay
        )
        if shifts:
            yield Repair(RepairKind.SHIFT, (*shifts, fuse))
    if len(find_band(tree, second).members) > 1:
        names = name_of(tree, second, 0), name_of(tree, second, 1)
        yield Repair(RepairKind.INTERCHANGE, (Interchange(*names), fuse))
    yield Repair(RepairKind.REVERSE, (Reverse(name_of(tree, second, 0)), fuse))
    yield Repair(RepairKind.REVERSE, (Reverse(name_of(tree, first, 0)), fuse))


def _delays(
    refused: RefusedStep, fuse: Transform, first: str, second: str, count: int
) -> tuple[int, ...] | None:
    """Return the shift of each common loop of the second nest that makes fusion legal, or None."""
    tree = refused.tree
    one, two = find_band(tree, first), find_band(tree, second)
    joint = count or min(len(one.members), len(two.members))
    try:
        fused = fuse.rewrite(tree, refused.scop)
    except ScheduleError:
        return None
    _, ours = path_to(tree, refused.scop, first)
    _, theirs = path_to(tree, refused.scop, second)
    among = refused.dependences.among({*tuple_names(ours), *tuple_names(theirs)})
    pairs = refused.dependences.union(d for d in among if not d.reduction)
    pairs = pairs_reaching(pairs, fused, first)
    pairs = pairs.intersect_domain(ours).intersect_range(theirs)
    members = find_band(fused, first).members[:joint]
    distances = distance_vectors(members, pairs)
    if distances.is_empty():
        return None
    found = []
    for position in range(joint):
        least = distances.dim_min_val(position)
        if not least.is_int() or abs(int(least.to_python())) > MAX_DELAY:
            return None
        found.append(max(0, -int(least.to_python())))
    return tuple(found)
