"""Rate how much of a program a mapping runs in parallel.

In: a schedule.  Out: a tuple that is greater for the better mapping.
"""

from __future__ import annotations

import islpy as isl

from polyopt.schedule.schedule import Schedule
from polyopt.schedule.tree import BandMember, leaves, member_map, statements_of
from polyopt.strategy.gpu.mapped_loops import MAPPED, grid_of
from polyopt.transforms import Pack, Skew

Score = tuple[int, int, int, int, int, int, int]


def parallel_statements(source: Schedule) -> frozenset[str]:
    """Return the statements in parallel loops of the source's order."""
    found: set[str] = set()
    for path, domain in leaves(source.tree, source.scop.domain):
        free = [position for position, member in enumerate(path) if member.coincident]
        for name in statements_of(source.scop, domain) if free else ():
            own = domain.intersect(isl.UnionSet.from_set(source.scop.statement(name).domain))
            if any(_may_iterate(path[: position + 1], own) for position in free):
                found.add(name)
    return frozenset(found)


def _may_iterate(loops: tuple[BandMember, ...], domain: isl.UnionSet) -> bool:
    """Tell whether the last loop may have two iterations in one iteration of those around it."""
    around = isl.UnionMap.from_domain(domain)
    for loop in loops[:-1]:
        around = around.flat_range_product(member_map(loop, domain))
    return not around.reverse().apply_range(member_map(loops[-1], domain)).is_single_valued()


def rate_parallelism(schedule: Schedule, parallel: frozenset[str]) -> Score:
    """Return the rating of a mapping, a tuple that is greater for the better one.

    In order: statements of `parallel` that are on no grid (fewer is better), statements on a grid,
    wavefronts (fewer), the most loops around a kernel and all of them (fewer), copies in shared
    memory, dimensions of grids.
    """
    on_grid = dimensions = around = deepest = 0
    own = _statements_in_loops(schedule)
    lost = set(parallel)
    for path, domain in leaves(schedule.tree, schedule.scop.domain):
        count = len(own & set(statements_of(schedule.scop, domain)))
        first = next((n for n, m in enumerate(path) if m.kind in MAPPED), None)
        if first is not None:
            on_grid += count
            lost -= set(statements_of(schedule.scop, domain))
            dimensions += count * len(grid_of(path))
            around += count * first
            deepest = max(deepest, first)
    packs = sum(isinstance(step, Pack) for step in schedule.trace)
    skews = sum(isinstance(step, Skew) for step in schedule.trace)
    return -len(lost), on_grid, -skews, -deepest, -around, packs, dimensions


def is_fully_parallel(schedule: Schedule, found: Score) -> bool:
    """Tell whether no mapping could have more statements on a grid, or fewer kernels."""
    return found[:4] == (0, len(_statements_in_loops(schedule)), 0, 0)


def _statements_in_loops(schedule: Schedule) -> set[str]:
    """Return the source's statements that are in loops."""
    statements = schedule.scop.statements
    return {s.name for s in statements if s.iters and (s.origin is None or s.origin.statement)}
