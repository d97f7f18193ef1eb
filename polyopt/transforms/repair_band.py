"""Repair steps on a band by skewing its loops or reversing one of them first.

In: a refused step.  Out: `Repair` candidates, which the legality check accepts or not.
"""

from __future__ import annotations

from collections.abc import Iterator

from polyopt.schedule.repair import RefusedStep, Repair, RepairKind
from polyopt.schedule.schedule import Transform
from polyopt.schedule.skewing import Factor, permuting_factors
from polyopt.schedule.tree import Tree, find_band
from polyopt.transforms.repair_loops import name_of
from polyopt.transforms.reverse import Reverse
from polyopt.transforms.skew import Skew


def reversed_first(
    refused: RefusedStep, label: str, count: int, *then: Transform
) -> Iterator[Repair]:
    """Yield `then` after reversing an inner one of the first `count` loops of a band."""
    for position in range(1, count):
        step = Reverse(name_of(refused.tree, label, position))
        yield Repair(RepairKind.REVERSE, (step, *then))


def skewed_first(
    refused: RefusedStep, label: str, count: int, *then: Transform
) -> Iterator[Repair]:
    """Yield `then` after skews that make the first `count` loops of a band permutable."""
    band = find_band(refused.tree, label)
    factors = permuting_factors(band.members[:count], refused.ordering(label))
    if factors:
        yield Repair(RepairKind.SKEW, (*skews(refused.tree, label, factors), *then))


def skews(tree: Tree, label: str, factors: tuple[Factor, ...]) -> tuple[Transform, ...]:
    """Return the skews as steps."""
    return tuple(
        Skew(name_of(tree, label, f.loop), name_of(tree, label, f.by), f.factor) for f in factors
    )


def wavefront_steps(refused: RefusedStep, label: str, inner: int) -> tuple[Transform, ...] | None:
    """Return steps after which loop `inner` of a band carries no dependences, or None.

    Once no distance is negative, the sum of the outermost loop and all others separates every pair,
    and only it does (Lamport, "The parallel execution of DO loops", 1974).
    """
    members = find_band(refused.tree, label).members
    factors = permuting_factors(members, refused.every(label))
    if factors is None or inner == 0:
        return None
    tree = refused.tree
    outer = name_of(tree, label, 0)
    fronts = (Skew(outer, name_of(tree, label, n), 1) for n in range(1, len(members)))
    return (*skews(tree, label, factors), *fronts)
