"""What to do instead of a refused step: the cheapest change that was checked to make it legal.

In: the tree before the step, the step.  Out: one line of advice, or None when nothing was found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import islpy as isl

from polyopt.errors import ScheduleError
from polyopt.ir.scop import Scop
from polyopt.schedule.dependences import Dependences
from polyopt.schedule.legality import Fault, check_legal, mark_facts
from polyopt.schedule.tree import Band, Tree, bands, replace_band

MAX_FACTOR = 2


def advice(
    scop: Scop, dependences: Dependences, tree: Tree, rewrite: Callable[[Tree], Tree], fault: Fault
) -> str | None:
    """Return a hint that works: a skew that makes the step legal, or loops that can be parallel."""
    if fault is Fault.CONCURRENT:
        free = [
            f"{member.name} ({band.label}[{position}])"
            for band in bands(mark_facts(dependences, tree))
            for position, member in enumerate(band.members)
            if member.coincident
        ]
        if free:
            return f"loops that carry no dependence here: {', '.join(free)}"
    for text, skewed in (*_skews(tree), *_wavefronts(tree)):
        try:
            changed = rewrite(skewed)
        except ScheduleError:
            continue
        if check_legal(scop, dependences, changed) is not None:
            continue
        if check_legal(scop, dependences, skewed) is None:
            return f"legal after {text}"
    if fault is Fault.CONCURRENT:
        return "no loop here is free of dependences; keep it sequential"
    return None


def _skews(tree: Tree) -> Iterator[tuple[str, Tree]]:
    """Yield every tree with one loop skewed by an outer loop of its band, small factors first."""
    for factor in range(1, MAX_FACTOR + 1):
        for band in bands(tree):
            for inner in range(1, len(band.members)):
                for outer in range(inner):
                    text = f"skew({band.label}[{inner}], {band.label}[{outer}], {factor})"
                    yield text, _skewed(tree, band, inner, outer, factor)


def _wavefronts(tree: Tree) -> Iterator[tuple[str, Tree]]:
    """Yield every tree with one loop skewed by an inner loop of its band."""
    for band in bands(tree):
        for outer in range(len(band.members)):
            for inner in range(outer + 1, len(band.members)):
                text = f"skew({band.label}[{outer}], {band.label}[{inner}], 1)"
                yield text, _skewed(tree, band, outer, inner, 1)


def _skewed(tree: Tree, band: Band, loop: int, by: int, factor: int) -> Tree:
    added = band.members[by].schedule.scale_val(isl.Val(factor))
    member = band.members[loop]
    members = list(band.members)
    members[loop] = replace(member, schedule=member.schedule.add(added))
    return replace_band(tree, band.label, lambda b: replace(b, members=tuple(members)))
