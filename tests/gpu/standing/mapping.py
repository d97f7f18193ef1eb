"""Do the statements of parallel loops run in several threads or blocks?

In: a form of a workload.  Out: the statements that one thread runs although a loop around them
carries no dependence in the source's order; kernels that were left out as they were not proven.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import islpy as isl

from polyopt.ir.loops import Body, For, Kernel, LoopKind
from polyopt.ir.nodes import bodies
from polyopt.schedule import Schedule
from polyopt.schedule.tree import BandMember, leaves, member_map, statements_of
from tests.gpu.standing.forms import Form


def judge(form: Form) -> list[str]:
    """Return what is wrong, in words."""
    stages = form.compiled()
    unproven = (d for d in stages.dropped if d.code == "PO0705")
    return [
        *judged(stages.schedules, stages.loops.body),
        *(f"{dropped.what}: {dropped.reason}" for dropped in unproven),
    ]


def judged(schedules: Sequence[Schedule], body: Body) -> list[str]:
    """Return what is wrong with the loops of all parts; statements of two have two names."""
    single = alone(body)
    return [
        f"part {number}: one thread runs {name}, whose loop {loop} is parallel"
        for number, schedule in enumerate(schedules)
        for name, loop in parallel(schedule.history()[0])
        if name in single
    ]


def parallel(schedule: Schedule) -> Iterator[tuple[str, str]]:
    """Yield the statements with a parallel loop around them, and the first such loop."""
    for path, domain in leaves(schedule.tree, schedule.scop.domain):
        for name in statements_of(schedule.scop, domain):
            own = domain.intersect(isl.UnionSet.from_set(schedule.scop.statement(name).domain))
            for position, member in enumerate(path):
                if member.coincident and _repeats(path[: position + 1], own):
                    yield name, member.name
                    break


def _repeats(loops: tuple[BandMember, ...], domain: isl.UnionSet) -> bool:
    """Tell whether the last loop may have two iterations in one of those around it."""
    around = isl.UnionMap.from_domain(domain)
    for loop in loops[:-1]:
        around = around.flat_range_product(member_map(loop, domain))
    values = around.reverse().apply_range(member_map(loops[-1], domain))
    return not values.is_single_valued()


def alone(body: Body) -> frozenset[str]:
    """Return the statements that are in no loop across blocks or threads, or elsewhere, too.

    A single instance that is apart from the others, at an edge, may be where it is.
    """
    found: dict[str, set[_Place]] = {}
    _collect(body, _Place(), found)
    return frozenset(
        name
        for name, places in found.items()
        if not any(p.mapped for p in places) or any(p.looped and not p.mapped for p in places)
    )


@dataclass(frozen=True)
class _Place:
    """Where a node is: in a kernel, there in a loop, and in one across blocks or threads."""

    kernel: bool = False
    looped: bool = False
    mapped: bool = False


def _collect(body: Body, place: _Place, found: dict[str, set[_Place]]) -> None:
    for node in body:
        statement = getattr(node, "statement", "")
        if statement:
            found.setdefault(statement, set()).add(place)
        inner = place
        match node:
            case Kernel():
                inner = replace(place, kernel=True)
            case For(kind=LoopKind.BLOCK | LoopKind.THREAD):
                inner = replace(place, mapped=True)
            case For() if place.kernel:
                inner = replace(place, looped=True)
            case _:
                pass
        for part in bodies(node):
            _collect(part, inner, found)
