"""Fuse neighbouring nests that share data, where no parallel loop is lost.

In: a schedule with one nest per group of statements.  Out: neighbours with joint outer loops.
The greedy order is Kennedy and McKinley's, "Maximizing loop parallelism and improving data locality
via loop fusion and distribution", 1993.
"""

from __future__ import annotations

import islpy as isl

from polyopt.ir.expr import Call, walk
from polyopt.ir.loops import LoopKind
from polyopt.ir.scop import Scop
from polyopt.schedule.schedule import Schedule
from polyopt.schedule.tree import (
    Band,
    Filter,
    Leaf,
    Sequence,
    Tree,
    bands,
    find_band,
    statements_of,
)
from polyopt.transforms import Fuse

LONG = 64  # iterations of inner loops beside which a function outside of lanes does not count


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
        if any(_is_shared_out(nest, count) for nest in (one, two)):
            continue
        if _loses_lanes(schedule, one, two, count):
            continue
        fused = schedule.attempt(Fuse(first, second, count))
        if fused is None:
            continue
        joint = find_band(fused.tree, first)
        parts = zip(joint.members, one.members, two.members, strict=False)
        if all(j.coincident or not (a.coincident or b.coincident) for j, a, b in parts):
            return fused
    return None


def _is_shared_out(nest: Band, count: int) -> bool:
    """Tell whether threads share loops inside the first `count`: these would run one by one."""
    inner = nest.members[count:], *(band.members for band in bands(nest.child))
    return any(member.kind is LoopKind.PARALLEL for members in inner for member in members)


def _loses_lanes(schedule: Schedule, one: Band, two: Band, count: int) -> bool:
    """Tell whether fusing `count` loops takes functions such as exp out of SIMD lanes.

    A nest that has no loop left inside the joint ones runs them one by one, between the other's
    inner loops; where these are long, one function more or less does not count.
    """
    for nest, other in ((one, two), (two, one)):
        alone = _is_used_up(nest, count) and not _is_used_up(other, count)
        if alone and _calls(schedule, nest) and _is_short(schedule, other, count):
            return True
    return False


def _is_short(schedule: Schedule, nest: Band, count: int) -> bool:
    """Tell whether the loops inside the first `count` of `nest` have few iterations for any size.

    What depends on sizes is taken to be long.
    """
    names = statements_of(schedule.scop, nest.members[0].schedule.domain())
    for statement in map(schedule.scop.statement, names):
        for position in range(count, len(statement.iters)):
            most = statement.domain.dim_max_val(position)
            least = statement.domain.dim_min_val(position)
            if not (most.is_int() and least.is_int()) or most.sub(least).ge(isl.Val(LONG)):
                return False
    return True


def _is_used_up(nest: Band, count: int) -> bool:
    return len(nest.members) == count and next(iter(bands(nest.child)), None) is None


def _calls(schedule: Schedule, nest: Band) -> bool:
    names = statements_of(schedule.scop, nest.members[0].schedule.domain())
    values = (schedule.scop.statement(name).value for name in names)
    return any(isinstance(part, Call) for value in values for part in walk(value))


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
