"""Repair marks by giving the iterations of a loop memory of their own: copies, partial results.

In: a refused mark.  Out: `Repair` candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import islpy as isl

from polyopt.ir.scop import Role
from polyopt.schedule.dependences import Dependence
from polyopt.schedule.repair import RefusedStep, Repair, RepairKind
from polyopt.schedule.schedule import Transform
from polyopt.schedule.tree import LoopRef
from polyopt.transforms.expand import Expand
from polyopt.transforms.repair_loops import name_of
from polyopt.transforms.rfactor import Rfactor
from polyopt.transforms.strip import Strip

STRIP = 64
"""Iterations that share one partial result."""

_OWN = (Role.TEMP, Role.INOUT, Role.OUTPUT)


def own_copies(refused: RefusedStep, loop: str, mark: Transform) -> Iterator[Repair]:
    """Yield `mark` after expanding every array that carries violated dependences."""
    names = dict.fromkeys(d.array for d in _in_the_way(refused))
    if names and all(refused.scop.array(name).role in _OWN for name in names):
        copies = tuple(Expand(name, (loop,)) for name in names)
        yield Repair(RepairKind.PRIVATISE, (*copies, mark))


def partial_results(
    refused: RefusedStep, loop: LoopRef, mark: Callable[[str], Transform]
) -> Iterator[Repair]:
    """Yield `mark` after splitting the reductions that the loop carries into partial results."""
    found = _in_the_way(refused)
    statements = dict.fromkeys(d.source for d in found)
    if not found or any(not d.reduction for d in found):
        return
    assert loop.position is not None
    strip = Strip(name_of(refused.tree, loop.label, loop.position), STRIP)
    stripped = strip.rewrite(refused.tree, refused.scop)
    strips = name_of(stripped, loop.label, loop.position)
    split = tuple(Rfactor(statement, strips) for statement in statements)
    yield Repair(RepairKind.REDUCTION, (strip, *split, mark(strips)))


def _in_the_way(refused: RefusedStep) -> list[Dependence]:
    """Return the dependences with violated pairs."""
    return [
        d
        for d in refused.dependences.memory
        if not refused.violation.pairs.intersect(isl.UnionMap.from_map(d.relation)).is_empty()
    ]
