"""How much of a program a mapping runs in parallel.

In: a schedule.  Out: a tuple that is greater for the better mapping.
"""

from __future__ import annotations

from polyopt.schedule.schedule import Schedule
from polyopt.schedule.tree import leaves, statements_of
from polyopt.strategy.gpu.mapped import MAPPED, grid_of
from polyopt.transforms import Pack, Skew

Score = tuple[int, int, int, int, int, int]


def score(schedule: Schedule) -> Score:
    """Return: statements on a grid, wavefronts, loops around kernels where there are most and in
    all (the fewer the better), copies in shared memory, dimensions of grids."""
    on_grid = dimensions = around = deepest = 0
    own = _own(schedule)
    for path, domain in leaves(schedule.tree, schedule.scop.domain):
        count = len(own & set(statements_of(schedule.scop, domain)))
        first = next((n for n, m in enumerate(path) if m.kind in MAPPED), None)
        if first is not None:
            on_grid += count
            dimensions += count * len(grid_of(path))
            around += count * first
            deepest = max(deepest, first)
    packs = sum(isinstance(step, Pack) for step in schedule.trace)
    skews = sum(isinstance(step, Skew) for step in schedule.trace)
    return on_grid, -skews, -deepest, -around, packs, dimensions


def is_best(schedule: Schedule, found: Score) -> bool:
    """Tell whether no other mapping would have more statements on a grid, or fewer kernels."""
    return found[:3] == (len(_own(schedule)), 0, 0)


def _own(schedule: Schedule) -> set[str]:
    """Return the source's statements that are in loops."""
    statements = schedule.scop.statements
    return {s.name for s in statements if s.iters and (s.origin is None or s.origin.statement)}
