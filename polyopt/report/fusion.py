"""Which statements share loops, and why neighbouring nests do not.

In: a Schedule.  Out: one line per nest, and per pair of neighbouring nests what keeps them apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import islpy as isl

from polyopt.errors import BudgetError, IllegalSchedule, ScheduleError
from polyopt.schedule import Schedule
from polyopt.schedule.tree import (
    Band,
    Filter,
    Leaf,
    Sequence,
    Tree,
    statements_of,
)
from polyopt.schedule.witness import Witness
from polyopt.schedule.witness_text import example
from polyopt.transforms import Fuse

_MAX_PAIRS = 12


def explain_fusion(schedule: Schedule) -> tuple[str, ...]:
    """Return what is fused, and for neighbouring nests why they are not."""
    lines = list(_nests(schedule, schedule.tree, schedule.scop.domain, ()))
    pairs = list(_neighbours(schedule.tree))
    for left, right in pairs[:_MAX_PAIRS]:
        lines += _apart(schedule, left, right)
    return tuple(lines)


def _nests(
    schedule: Schedule, tree: Tree, domain: isl.UnionSet, loops: tuple[str, ...]
) -> Iterator[str]:
    """One line for every set of statements that share all the loops around them."""
    match tree:
        case Band():
            names = (*loops, *(member.name for member in tree.members))
            yield from _nests(schedule, tree.child, domain, names)
        case Filter():
            yield from _nests(schedule, tree.child, domain.intersect(tree.domain), loops)
        case Sequence():
            inside = statements_of(schedule.scop, domain)
            if loops and len(inside) > 1:
                yield f"{', '.join(inside)} share the loops {', '.join(loops)}"
            for part in tree.parts:
                yield from _nests(schedule, part, domain, loops)
        case Leaf():
            inside = statements_of(schedule.scop, domain)
            yield f"{', '.join(inside)}: loops {', '.join(loops) or 'none'}"


def _neighbours(tree: Tree) -> Iterator[tuple[Band, Band]]:
    """Bands that follow one another in a sequence."""
    match tree:
        case Band() | Filter():
            yield from _neighbours(tree.child)
        case Sequence(parts=parts):
            for left, right in pairwise(parts):
                if isinstance(left.child, Band) and isinstance(right.child, Band):
                    yield left.child, right.child
            for part in parts:
                yield from _neighbours(part)
        case Leaf():
            return


def _apart(schedule: Schedule, left: Band, right: Band) -> list[str]:
    head = f"{left.label} and {right.label} are apart: "
    try:
        schedule.apply(Fuse(left.label, right.label))
    except IllegalSchedule as refusal:
        lines = [head + "fusing them would break a dependence"]
        if isinstance(refusal.witness, Witness):
            lines.append(f"    {example(refusal.witness, schedule.scop)}")
        return lines
    except BudgetError:
        return [head + "whether they may be fused could not be decided within the budget"]
    except ScheduleError as refusal:
        return [head + refusal.message]
    return [head + "fusing them would be legal, and was not judged to pay"]
