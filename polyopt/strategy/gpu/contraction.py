"""Tile contractions on a device: operands in shared memory, results in registers.

In: a nest that adds products into an array of fewer dimensions.  Out: one block for each tile of
the result; operands copied in by all threads, results kept by the thread that computes them, with
prologues and epilogues fused.
The scheme is Volkov and Demmel, "Benchmarking GPUs to tune dense linear algebra", 2008.
"""

from __future__ import annotations

from polyopt.dataclass import dataclass, replace
from polyopt.ir.budget import optional
from polyopt.ir.scop import Role
from polyopt.schedule.contraction import contraction_loops
from polyopt.schedule.schedule import Schedule
from polyopt.schedule.tree import bands, find_band, fresh_label, path_to, statements_of
from polyopt.strategy.fusion import adjacent
from polyopt.strategy.gpu.mapped_loops import bands_around, is_mapped, new_nests
from polyopt.strategy.gpu.matrices import WarpTile, matrix_sizes
from polyopt.strategy.gpu.model import GpuModel
from polyopt.strategy.gpu.operands import copy_operands
from polyopt.strategy.gpu.point_distribution import ThreadPoints, distribute_points, thread_points
from polyopt.strategy.gpu.prologue_epilogue import (
    Pattern,
    elementwise_nest,
    sibling_labels,
    subscript_patterns,
)
from polyopt.strategy.gpu.roles import Roles, find_roles
from polyopt.strategy.gpu.tiles import TileSizes, contraction_tile_sizes
from polyopt.strategy.interchanges import order_steps
from polyopt.transforms import Fuse, Grid, Move, Pack, Swizzle, Tensorize, Tile

BUDGET = 10_000_000  # isl operations for one contraction
GRID = 6
"""Loops that a grid has blocks for."""
GROUP = 8
"""Rows of blocks that start side by side: about as many as columns that then run."""


@dataclass(frozen=True, slots=True)
class TiledContraction:
    """A tiled contraction: `joint` is the band over the tiles of its `count` result loops.

    `points` are the point bands of its nests, the contraction's own first; `arrays` maps the arrays
    that the nests write to the subscripts that the loops move.
    """

    schedule: Schedule
    joint: str
    count: int
    points: tuple[str, ...]
    arrays: dict[str, Pattern]


def map_contractions(schedule: Schedule, device: GpuModel) -> Schedule:
    """Return `schedule` with all contractions tiled and mapped."""
    for label in [band.label for band in bands(schedule.tree)]:
        if label not in [band.label for band in bands(schedule.tree)]:
            continue  # it starts or ends the results of another one
        if not is_mapped(find_band(schedule.tree, label)):
            with optional("a tile of products", BUDGET):
                roles = find_roles(schedule, label)
                found = roles and _mapped(schedule, label, roles, device)
                schedule = found or schedule
    return schedule


def _mapped(schedule: Schedule, label: str, roles: Roles, device: GpuModel) -> Schedule | None:
    """Return `schedule` with the contraction tiled and mapped, or None where that is illegal."""
    sizes = contraction_tile_sizes(schedule, roles, device)
    matrices = matrix_sizes(schedule, label, roles, sizes, device)
    if matrices is not None:
        found = _in_tiles(schedule, label, roles, *matrices)
        if found is not None:
            return found
    return _in_tiles(schedule, label, roles, sizes, None)


def _in_tiles(
    schedule: Schedule, label: str, roles: Roles, sizes: TileSizes, warp: WarpTile | None
) -> Schedule | None:
    """Return `schedule` with the contraction tiled; `warp`: for matrix instructions."""
    tiled = tile_contraction(schedule, label, roles, sizes, warp)
    if tiled is None:
        return None
    blocks = tuple(f"{tiled.joint}[{p}]" for p in range(min(tiled.count, GRID)))
    gridded = tiled.schedule.attempt(Grid(blocks))
    return gridded and (gridded.attempt(Swizzle(blocks[-2], blocks[-1], GROUP)) or gridded)


def tile_contraction(
    schedule: Schedule, label: str, roles: Roles, sizes: TileSizes, warp: WarpTile | None
) -> TiledContraction | None:
    """Return the contraction in tiles for the threads of a block, with adjacent nests; or None."""
    tiled = _tiled(schedule, label, roles, sizes)
    if tiled is None:
        return None
    for before in (True, False):
        while (joined := _with_adjacent_nests(tiled, before, roles, sizes)) is not None:
            tiled = joined
    result = _result(roles)
    rows, columns = thread_points(sizes)
    sides = ((result.index(roles.row), rows), (result.index(roles.column), columns))
    found: Schedule | None = tiled.schedule
    for point in tiled.points:
        found = found and _distributed(found, point, sides, warp)
    if found is None:
        return None
    path = [band.label for band in bands_around(found, _statement(schedule, label))]
    depth = path[path.index(tiled.points[0]) - 1]
    loop = f"{depth}[{len(find_band(found.tree, depth).members) - 1}]"
    moved, _ = subscript_patterns(schedule, label, (roles.row, roles.column, roles.depth[-1]))
    found = copy_operands(found, loop, roles, moved, sizes, fragments=warp is not None)
    return replace(tiled, schedule=_with_results(found, tiled, roles, (rows, columns), warp))


def _distributed(
    schedule: Schedule,
    label: str,
    sides: tuple[tuple[int, ThreadPoints], ...],
    warp: WarpTile | None,
) -> Schedule | None:
    """Return `schedule` with the points of a tile distributed to threads, or to warps."""
    if warp is None:
        return distribute_points(schedule, label, sides)
    return schedule.attempt(Tensorize(label, warp.rows, warp.columns))


def _result(roles: Roles) -> tuple[int, ...]:
    """Return the loops of the result, those for the dimensions of the grid first."""
    around = GRID - 2
    return (*roles.batch[:around], roles.row, roles.column, *roles.batch[around:])


def _sizes(roles: Roles, sizes: TileSizes) -> dict[int, int]:
    return {roles.row: sizes.rows, roles.column: sizes.columns, roles.depth[-1]: sizes.depth}


def _statement(schedule: Schedule, label: str) -> str:
    _, domain = path_to(schedule.tree, schedule.scop, label)
    (name,) = statements_of(schedule.scop, domain)
    return name


def _tiled(
    schedule: Schedule, label: str, roles: Roles, sizes: TileSizes
) -> TiledContraction | None:
    """Return the contraction tiled, without other nests."""
    result = _result(roles)
    order = (*result, *roles.depth)
    size_of = _sizes(roles, sizes)
    band = find_band(schedule.tree, label)
    tile = fresh_label(schedule.tree, f"{label}.tile")
    point = fresh_label(schedule.tree, f"{label}.point")
    _, written = subscript_patterns(schedule, label, result)
    tiled = schedule.attempt(
        *order_steps(label, band, order), Tile(label, tuple(size_of.get(p, 1) for p in order))
    )
    return None if tiled is None else TiledContraction(tiled, tile, len(result), (point,), written)


def _with_adjacent_nests(
    tiled: TiledContraction, before: bool, roles: Roles, sizes: TileSizes
) -> TiledContraction | None:
    """Return the tiles with a nest before or after them fused, if one fits."""
    siblings = sibling_labels(tiled.schedule.tree, tiled.joint) or [tiled.joint]
    own = siblings.index(tiled.joint)
    near = siblings[:own][::-1] if before else siblings[own + 1 :]
    candidates = (label for label in near if label)
    found = (_with_nest(tiled, label, before, roles, sizes) for label in candidates)
    return next((joined for joined in found if joined is not None), None)


def _with_nest(
    tiled: TiledContraction, label: str, before: bool, roles: Roles, sizes: TileSizes
) -> TiledContraction | None:
    """Return the tiles with the nest `label` moved next to them and fused."""
    schedule = tiled.schedule
    near = elementwise_nest(schedule, label, tiled.arrays)
    if near is None:
        return None
    tile = fresh_label(schedule.tree, f"{near.label}.tile")
    point = fresh_label(schedule.tree, f"{near.label}.point")
    size_of = _sizes(roles, sizes)
    pair = (tile, tiled.joint) if before else (tiled.joint, tile)
    moved = _moved_next_to(schedule, label, tiled.joint, before)
    joined = moved and moved.attempt(
        *order_steps(near.label, find_band(schedule.tree, near.label), near.order),
        Tile(near.label, tuple(size_of.get(p, 1) for p in _result(roles))),
        Fuse(*pair, tiled.count),
    )
    if joined is None or not _is_parallel(joined, pair[0]):
        return None
    arrays = {**near.arrays, **tiled.arrays}
    return replace(
        tiled, schedule=joined, joint=pair[0], points=(*tiled.points, point), arrays=arrays
    )


def _moved_next_to(schedule: Schedule, label: str, joint: str, before: bool) -> Schedule | None:
    """Return `schedule` with the nest `label` directly before or after the tiles."""
    pair = (label, joint) if before else (joint, label)
    return schedule if pair in adjacent(schedule.tree) else schedule.attempt(Move(*pair))


def _is_parallel(schedule: Schedule, label: str) -> bool:
    """Tell whether all loops of a band may run across blocks."""
    return all(member.coincident for member in find_band(schedule.tree, label).members)


def _with_results(
    schedule: Schedule,
    tiled: TiledContraction,
    roles: Roles,
    sides: tuple[ThreadPoints, ThreadPoints],
    warp: WarpTile | None,
) -> Schedule:
    """Return `schedule` with the results in memory of the threads that compute them.

    Temporaries without other users are contracted to such memory anyway.
    """
    if schedule.scop.array(roles.result).role is Role.TEMP:
        homes = contraction_loops(schedule.scop, schedule.tree)
        if homes.get(roles.result, "").startswith(f"{tiled.joint}["):
            return schedule
    packed = schedule.attempt(Pack(roles.result, f"{tiled.joint}[{tiled.count - 1}]"))
    found = packed
    numbered = tuple(enumerate(sides[::-1] if roles.is_transposed else sides))
    for label in () if packed is None else new_nests(packed, schedule):
        found = found and _distributed(
            found, label, numbered[::-1] if roles.is_transposed else numbered, warp
        )
    return found or schedule
