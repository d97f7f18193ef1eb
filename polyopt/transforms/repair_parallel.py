"""Repair parallel or vector marks: other loops, wavefronts, distributed bodies.

In: a refused mark, a way to mark another loop.  Out: `Repair` candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from polyopt.schedule.legality import Fault
from polyopt.schedule.repair import RefusedStep, Repair, RepairKind
from polyopt.schedule.schedule import Transform
from polyopt.schedule.tree import LoopRef, Sequence, bands, find_band
from polyopt.transforms.affine import Affine, Fusion
from polyopt.transforms.distribute import Distribute
from polyopt.transforms.repair_align import aligned
from polyopt.transforms.repair_band import wavefront_steps
from polyopt.transforms.repair_data import own_copies, partial_results
from polyopt.transforms.repair_loops import loops_nearby, name_of

Mark = Callable[[str], Transform]


def marked_instead(refused: RefusedStep, loop: LoopRef, mark: Mark) -> Iterator[Repair]:
    """Yield marks of loops that can be parallel, or vectorized, where `loop` cannot."""
    assert loop.position is not None
    tree = refused.tree
    if refused.violation.fault is not Fault.CONCURRENT:
        return
    for label, position in loops_nearby(tree, loop):
        yield Repair(RepairKind.OTHER_LOOP, (mark(name_of(tree, label, position)),))
    name = name_of(tree, loop.label, loop.position)
    yield from own_copies(refused, name, mark(name))
    yield from partial_results(refused, loop, mark)
    yield from aligned(refused, loop, mark(name))
    yield from _split(refused, loop, mark)
    yield from _wavefronts(refused, loop, mark)
    yield from _rescheduled(refused, mark)


def _split(refused: RefusedStep, loop: LoopRef, mark: Mark) -> Iterator[Repair]:
    """Yield the loop distributed over its body, with marks on all legal parts."""
    band = find_band(refused.tree, loop.label)
    assert loop.position is not None
    if not isinstance(band.child, Sequence):
        return
    count = len(band.members) - loop.position
    step = Distribute(band.label, count)
    after = step.rewrite(refused.tree, refused.scop)
    known = {b.label for b in bands(refused.tree)}
    fresh = [b.label for b in bands(after) if b.label not in known]
    every = tuple(mark(name_of(after, label, 0)) for label in fresh)
    yield Repair(RepairKind.DISTRIBUTE, (step, *every))
    for one in every:
        yield Repair(RepairKind.DISTRIBUTE, (step, one))


def _wavefronts(refused: RefusedStep, loop: LoopRef, mark: Mark) -> Iterator[Repair]:
    """Yield wavefronts of the loop's band, and of the bands around it."""
    tree = refused.tree
    band = find_band(tree, loop.label)
    wanted = loop.position or 1
    for inner in dict.fromkeys((wanted, *range(1, len(band.members)))):
        if inner < len(band.members):
            steps = wavefront_steps(refused, loop.label, inner)
            if steps is not None:
                name = name_of(tree, loop.label, inner)
                yield Repair(RepairKind.SKEW, (*steps, mark(name)))


def _rescheduled(refused: RefusedStep, mark: Mark) -> Iterator[Repair]:
    """Yield the affine scheduler's order with its outermost parallel loop marked."""
    step = Affine(Fusion.MIN)
    found = refused.schedule.attempt(*refused.done, step)
    if found is None:
        return
    for band in bands(found.tree):
        for position, member in enumerate(band.members):
            if member.coincident:
                name = name_of(found.tree, band.label, position)
                yield Repair(RepairKind.RESCHEDULE, (step, mark(name)))
                return
