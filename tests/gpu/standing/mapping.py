"""Do the statements of parallel loops run in several threads or blocks?

In: a form of a workload.  Out: the statements that one thread runs although a loop around them
carries no dependence in the source's order.
"""

from __future__ import annotations

from collections.abc import Iterator

from polyopt.ir.loops import Body, For, LoopKind
from polyopt.proof.nodes import bodies
from polyopt.schedule import Schedule
from polyopt.schedule.tree import leaves, statements_of
from tests.gpu.standing.forms import Form


def judge(form: Form) -> list[str]:
    """Return what is wrong, in words."""
    stages = form.compiled()
    single = alone(stages.loops.body)
    return [
        f"part {number}: one thread runs {name}, whose loop {loop} is parallel"
        for number, schedule in enumerate(stages.schedules)
        for name, loop in parallel(schedule.history()[0])
        if len(stages.schedules) == 1 and name in single
    ]


def parallel(schedule: Schedule) -> Iterator[tuple[str, str]]:
    """Yield the statements with a parallel loop around them, and the first such loop."""
    for path, domain in leaves(schedule.tree, schedule.scop.domain):
        loop = next((member.name for member in path if member.coincident), None)
        if loop is not None:
            yield from ((name, loop) for name in statements_of(schedule.scop, domain))


def alone(body: Body, *, mapped: bool = False) -> frozenset[str]:
    """Return the statements with a node that is in no loop across blocks or threads."""
    found: set[str] = set()
    for node in body:
        statement = getattr(node, "statement", "")
        if statement and not mapped:
            found.add(statement)
        is_mapped = isinstance(node, For) and node.kind in (LoopKind.BLOCK, LoopKind.THREAD)
        for part in bodies(node):
            found |= alone(part, mapped=mapped or is_mapped)
    return frozenset(found)
