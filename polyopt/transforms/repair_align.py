"""Repair a parallel or reversed loop by aligning its statements.

In: a refused mark or reversal of a loop.  Out: `Repair` candidates.
"""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from polyopt.ir.affine import only_value
from polyopt.ir.parameters import maps_of
from polyopt.schedule.repair import RefusedStep, Repair, RepairKind
from polyopt.schedule.schedule import Transform
from polyopt.schedule.skewing import distance_vectors
from polyopt.schedule.tree import BandMember, LoopRef, find_band, names_at
from polyopt.transforms.repair_loops import name_of
from polyopt.transforms.shift import Shift


def aligned(refused: RefusedStep, loop: LoopRef, mark: Transform) -> Iterator[Repair]:
    """Yield `mark` after shifts after which the loop carries no dependences.

    Every pair of statements has to depend at one constant distance (Callahan, "A global approach to
    detection of parallelism", 1987).
    """
    assert loop.position is not None
    tree, label = refused.tree, loop.label
    member = find_band(tree, label).members[loop.position]
    names = names_at(tree, refused.scop, label)
    if len(names) < 2:
        return
    offsets = _offsets(refused, label, loop.position, member, names)
    if offsets is None:
        return
    name = name_of(tree, label, loop.position)
    steps = tuple(Shift(name, offset, s) for s, offset in offsets.items() if offset)
    if steps:
        yield Repair(RepairKind.SHIFT, (*steps, mark))


def _offsets(
    refused: RefusedStep, label: str, position: int, member: BandMember, names: list[str]
) -> dict[str, int] | None:
    """Return shifts of the statements for which all distances vanish, or None."""
    pairs = refused.every(label)
    for outer in find_band(refused.tree, label).members[:position]:
        pairs = pairs.eq_at_multi_union_pw_aff(outer.function)
    edges: dict[tuple[str, str], int] = {}
    for one in maps_of(pairs):
        distance = _constant(member, one)
        if distance is None:
            return None
        ends = (
            str(one.get_tuple_name(isl.dim_type.in_)),
            str(one.get_tuple_name(isl.dim_type.out)),
        )
        edges[ends] = distance
    return _potentials(names, edges)


def _constant(member: BandMember, pairs: isl.Map) -> int | None:
    """Return the distance of all pairs in a loop, if it is constant."""
    distances = distance_vectors((member,), isl.UnionMap.from_map(pairs))
    return None if distances.is_empty() else only_value(distances, 0)


def _potentials(names: list[str], edges: dict[tuple[str, str], int]) -> dict[str, int] | None:
    """Return offsets with `offset[target] + distance == offset[source]` for all edges, or None."""
    offsets: dict[str, int] = {}
    for root in names:
        if root in offsets:
            continue
        offsets[root] = 0
        queue = [root]
        while queue:
            here = queue.pop()
            for (source, target), distance in edges.items():
                for near, far, delay in ((source, target, -distance), (target, source, distance)):
                    if near == here and far not in offsets:
                        offsets[far] = offsets[here] + delay
                        queue.append(far)
    wrong = any(offsets[t] + d != offsets[s] for (s, t), d in edges.items())
    return None if wrong else offsets
