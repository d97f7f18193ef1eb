"""Sums along rows whose order is fixed: several rows at once hide the latency of the additions.

In: a permutable band with a sum that may not be split and a loop over independent sums.
Out: that loop tiled, a tile's rows unrolled innermost with one accumulator each, tiles parallel
(unroll and jam: Allen and Cocke, "A catalogue of optimizing transformations", 1972).
"""

from __future__ import annotations

from polyopt.schedule.schedule import Schedule, Transform
from polyopt.schedule.tree import Leaf, find_band, path_to, statements_of
from polyopt.strategy.contraction import order_steps
from polyopt.strategy.strides import Step, accesses, directions, step_of
from polyopt.transforms import Cut, Interchange, Parallelize, Separate, Tile, Unroll

ROWS = 8  # chains of additions in flight: latency times throughput of one addition, about


def row_sums(schedule: Schedule, label: str) -> Schedule | None:
    """Return `schedule` with the row sums at band `label` jammed, or None when there are none."""
    roles = _roles(schedule, label)
    if roles is None:
        return None
    row, depth = roles
    band = find_band(schedule.tree, label)
    others = tuple(p for p in range(len(band.members)) if p not in roles)
    steps: list[Transform] = order_steps(label, band, (*others, row, depth))
    inner = label
    if others:
        steps.append(Cut(label, len(others)))
        inner = f"{label}.inner"
    tile, point = f"{inner}.tile", f"{inner}.point"
    steps += [
        Tile(inner, (ROWS,)),
        Interchange(f"{point}[0]", f"{point}[1]"),
        Unroll(f"{point}[1]"),
        Separate(tile, point, (ROWS,)),
    ]
    outer = f"{label}[0]" if others and band.members[others[0]].coincident else f"{tile}[0]"
    return schedule.attempt(*steps, Parallelize(outer)) or schedule.attempt(*steps)


def _roles(schedule: Schedule, label: str) -> tuple[int, int] | None:
    """Return (row, depth): the loop over independent sums and the loop that adds."""
    band = find_band(schedule.tree, label)
    if not band.permutable or len(band.members) < 2 or not isinstance(band.child, Leaf):
        return None
    path, domain = path_to(schedule.tree, schedule.scop, label)
    names = statements_of(schedule.scop, domain)
    if len(names) != 1:
        return None
    statement = schedule.scop.statement(names[0])
    if statement.reduction is None or statement.reduction.reassociable:
        return None
    found = directions((*path, *band.members), schedule.scop, statement)[len(path) :]
    moves = [
        {a.ref: step_of(a, schedule.scop, statement, d) for a in accesses(statement)} for d in found
    ]
    write = statement.write.ref
    depths = [
        p
        for p, move in enumerate(moves)
        if move[write] is Step.INVARIANT
        and Step.CONTIGUOUS in move.values()
        and Step.STRIDED not in move.values()
    ]
    rows = [
        p
        for p, move in enumerate(moves)
        if band.members[p].coincident
        and move[write] is not Step.INVARIANT
        and Step.STRIDED in move.values()
    ]
    return (rows[0], depths[-1]) if rows and depths else None
