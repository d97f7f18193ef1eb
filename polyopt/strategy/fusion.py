"""Fuse neighbouring nests that share data, where no parallel loop is lost.

In: a schedule with one nest per group of statements.  Out: neighbours with joint outer loops.
The greedy order is Kennedy and McKinley's, "Maximizing loop parallelism and improving data locality
via loop fusion and distribution", 1993.
"""

from __future__ import annotations

from polyopt.ir.scop import Scop
from polyopt.schedule.schedule import Schedule
from polyopt.schedule.tree import Band, Filter, Leaf, Sequence, Tree, find_band, statements_of
from polyopt.transforms import Fuse


def fuse_neighbours(schedule: Schedule, skip: frozenset[str]) -> Schedule:
    """Return `schedule` with adjacent nests fused as deep as keeps their outer loop parallel.

    Bands named in `skip` are left alone.
    """
    progress = True
    while progress:
        progress = False
        for first, second in adjacent(schedule.tree):
            if first in skip or second in skip:
                continue
            fused = _fuse(schedule, first, second)
            if fused is not None:
                schedule, progress = fused, True
                break
    return schedule


def adjacent(tree: Tree) -> list[tuple[str, str]]:
    """Return the labels of bands that follow each other in a sequence, outermost ones first."""
    match tree:
        case Leaf():
            return []
        case Band() | Filter():
            return adjacent(tree.child)
        case Sequence():
            own = [
                (one.child.label, two.child.label)
                for one, two in zip(tree.parts, tree.parts[1:], strict=False)
                if isinstance(one.child, Band) and isinstance(two.child, Band)
            ]
            return own + [pair for part in tree.parts for pair in adjacent(part)]


def _fuse(schedule: Schedule, first: str, second: str) -> Schedule | None:
    one, two = find_band(schedule.tree, first), find_band(schedule.tree, second)
    if not share_data(schedule, first, second):
        return None
    common = min(len(one.members), len(two.members))
    for count in range(common, 0, -1):
        fused = schedule.attempt(Fuse(first, second, count))
        if fused is None:
            continue
        joint = find_band(fused.tree, first)
        parts = zip(joint.members, one.members, two.members, strict=False)
        if all(j.coincident or not (a.coincident or b.coincident) for j, a, b in parts):
            return fused
    return None


def share_data(schedule: Schedule, first: str, second: str) -> bool:
    """Tell whether two nests touch a common array that is worth a second look in cache."""
    return bool(_arrays(schedule, first) & _arrays(schedule, second))


def _arrays(schedule: Schedule, label: str) -> set[str]:
    scop: Scop = schedule.scop
    band = find_band(schedule.tree, label)
    domain = band.members[0].schedule.domain()
    found = set()
    for name in statements_of(scop, domain):
        statement = scop.statement(name)
        found |= {access.array for access in (statement.write, *statement.reads)}
    return found
