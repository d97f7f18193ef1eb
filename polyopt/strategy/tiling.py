"""Tile and parallelize the outermost loops of every nest.

In: a schedule from the affine scheduler.  Out: coincident loops outside and parallel; permutable
bands that carry dependences tiled and run as a wavefront of tiles.
"""

from __future__ import annotations

from polyopt import strategy
from polyopt.ir.loops import LoopKind
from polyopt.ir.scop import Statement
from polyopt.machine import Machine
from polyopt.model.contraction import TURNS, USUAL
from polyopt.model.stencil import Stencil, time_tile
from polyopt.schedule.isl_bridge import coefficients
from polyopt.schedule.schedule import Schedule, Transform
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
from polyopt.strategy.order import contiguous_last
from polyopt.strategy.transpose_tiling import tile_transpose
from polyopt.strategy.vector import vector_gain, vectorize_innermost
from polyopt.transforms import Interchange, Parallelize, Peel, Skew, Tile


def outer_bands(tree: Tree) -> list[str]:
    """Return the labels of the bands with no band above, top to bottom."""
    match tree:
        case Band():
            return [tree.label]
        case Filter():
            return outer_bands(tree.child)
        case Sequence():
            return [label for part in tree.parts for label in outer_bands(part)]
        case Leaf():
            return []


def parallelize_outer(schedule: Schedule, machine: Machine) -> Schedule:
    """Return `schedule` with the outermost loops of each nest parallel, tiled if that pays."""
    for label in outer_bands(schedule.tree):
        schedule = _parallelize(schedule, label, machine, 0)
    return schedule


def _parallelize(schedule: Schedule, label: str, machine: Machine, above: int) -> Schedule:
    """Return `schedule` with one loop at or below the band parallel; `above` counts outer loops."""
    band = find_band(schedule.tree, label)
    if any(member.kind is LoopKind.PARALLEL for member in band.members):
        return schedule
    if any(m.kind is LoopKind.PARALLEL for below in bands(band) for m in below.members):
        return _parallelize_inner(schedule, band, machine, above)
    coincident = parallel_position(schedule, band)
    if coincident is not None:
        found = tile_transpose(schedule, label, machine) or _outermost(
            schedule, band, coincident, machine
        )
        if found is not None:
            return found
    peeled = _peeled(schedule, band)
    if peeled is not None:
        return peeled
    if len(band.members) >= 2 and band.permutable and above == 0:
        found = tile_wavefront(schedule, label, machine)
        if found is not None:
            return found
    found = _parallelize_inner(schedule, band, machine, above)
    if found is schedule and coincident is not None:
        return _parallelize_in_place(schedule, band, coincident) or schedule
    return found


def _parallelize_inner(schedule: Schedule, band: Band, machine: Machine, above: int) -> Schedule:
    """Return `schedule` with the nests inside the band parallel that are not yet."""
    for inner in outer_bands(band.child):
        schedule = _parallelize(schedule, inner, machine, above + len(band.members))
    return schedule


def _parallelize_in_place(schedule: Schedule, band: Band, position: int) -> Schedule | None:
    """Return `schedule` with a loop parallel in its place, unless it is contiguous."""
    if vector_gain(schedule, band.label, position, chosen_rows=True) > 0:
        return None
    return schedule.attempt(Parallelize(f"{band.label}[{position}]"))


def _peeled(schedule: Schedule, band: Band) -> Schedule | None:
    """Return `schedule` with the band peeled if all parts but one can then be parallel."""
    peeled = schedule.attempt(Peel(band.label))
    if peeled is None:
        return None
    parts = [f"{band.label}.{name}" for name in ("before", "at", "after")]
    for label in (parts[0], parts[2]):
        found = peeled.attempt(Parallelize(f"{label}[0]"))
        if found is None:
            return None
        peeled = found
    return peeled


def parallel_position(schedule: Schedule, band: Band) -> int | None:
    """Return the coincident loop to run in parallel, preferably not a contiguous one."""
    found = [p for p, member in enumerate(band.members) if member.coincident]
    if not found:
        return None
    return min(found, key=lambda p: (vector_gain(schedule, band.label, p, chosen_rows=True) > 0, p))


STEPS_AND_STRIP = (32, 512)  # of a wavefront of two loops
MOST_TILED = 4  # loops of a wavefront: more are too many tile loops to make
STRIP = 256  # iterations of a contiguous loop that one thread takes at a time, at least
ROWS = 8  # rows of a strip that stay in half of the second cache between two steps of outer loops


def strip_size(machine: Machine, element: int) -> int:
    """Return how many iterations of a contiguous loop one thread takes at a time.

    Long strips are read at the speed of whole rows, and what an outer loop reads again stays in the
    second cache.  With several threads, a row of usual length has strips for all of them.
    """
    cached = machine.l2 // (2 * ROWS * element)
    shared = cached if machine.cores == 1 else USUAL // (TURNS * machine.cores)
    return STRIP * max(1, round(min(cached, shared) / STRIP))


def _outermost(schedule: Schedule, band: Band, position: int, machine: Machine) -> Schedule | None:
    """Return `schedule` with the loop outermost and parallel.

    A contiguous loop is strip-mined: strips go outermost, their iterations stay innermost for
    lanes.
    """
    label = band.label
    moves: list[Transform] = [
        Interchange(f"{label}[{p}]", f"{label}[{p - 1}]") for p in range(position, 0, -1)
    ]
    if len(band.members) > 1 and vector_gain(schedule, label, position, chosen_rows=True) > 0:
        point, last = f"{label}.point", len(band.members) - 1
        back = [Interchange(f"{point}[{p}]", f"{point}[{p + 1}]") for p in range(last)]
        size = strip_size(machine, _element(schedule, band))
        strips: list[Transform] = [Tile(label, (size,)), *back, Parallelize(f"{label}.tile[0]")]
        found = schedule.attempt(*moves, *strips)
        if found is not None:
            return found
    return schedule.attempt(*moves, Parallelize(f"{label}[0]"))


def _element(schedule: Schedule, band: Band) -> int:
    """Return the bytes of the largest element that a band's statements write."""
    names = statements_of(schedule.scop, band.members[0].schedule.domain())
    targets = [schedule.scop.statement(name).target.array for name in names]
    return max(schedule.scop.array(name).dtype.size for name in targets)


def tile_wavefront(schedule: Schedule, label: str, machine: Machine) -> Schedule | None:
    """Return `schedule` with the band tiled and its tiles run in parallel along a diagonal."""
    band = find_band(schedule.tree, label)
    order = contiguous_last(schedule, label)
    sizes = wavefront_tile_sizes(schedule, band, machine)
    tiles = f"{label}.tile"
    inner = [Skew(f"{tiles}[0]", f"{tiles}[{p}]", 1) for p in range(1, len(sizes))]
    steps: list[Transform] = [*order, Tile(label, sizes), inner[0]]
    diagonal = Parallelize(f"{tiles}[1]")
    found = schedule.attempt(*steps, diagonal) or schedule.attempt(*steps, *inner[1:], diagonal)
    if found is None or has_lanes(vectorize_innermost(found), f"{label}.point"):
        return found
    moved = schedule.attempt(*order) if order else schedule
    return (moved and strategy.wavefront_vectorization.vectorize_wavefront(moved, label)) or found


def has_lanes(schedule: Schedule, label: str) -> bool:
    """Tell whether the band is there and a loop of it or below is vectorized."""
    return any(
        member.kind is LoopKind.VECTOR
        for band in bands(schedule.tree)
        if band.label == label or band.label.startswith(f"{label}.")
        for member in band.members
    )


def wavefront_tile_sizes(schedule: Schedule, band: Band, machine: Machine) -> tuple[int, ...]:
    """Return tile sizes for a band run as a wavefront: time steps, then rows.

    Two loops: long strips of the contiguous loop.  Three and more: sizes for which the footprint of
    a time step fits L2, and that of neighbouring rows L1; with four loops, the contiguous one is
    not tiled.
    """
    count = len(band.members)
    if count == 2:
        return STEPS_AND_STRIP
    statements = [
        schedule.scop.statement(name)
        for name in statements_of(schedule.scop, band.members[0].schedule.domain())
    ]
    targets = {schedule.scop.array(statement.target.array) for statement in statements}
    kept = [array for array in targets if array.shape]
    element = max((array.dtype.size for array in kept), default=8)
    dimensions = min(count, MOST_TILED) - 1
    whole = frozenset({dimensions - 1} if dimensions > 2 else ())
    reach = _reach(schedule, band, statements)
    arrays = max(2, len(kept))
    tile = time_tile(Stencil(dimensions, element, arrays, reach, whole=whole), machine)
    return (tile.steps, *(size for n, size in enumerate(tile.sizes) if n not in whole))


def _reach(schedule: Schedule, band: Band, statements: list[Statement]) -> int:
    """Return how many elements the band's other loops advance per step of its first."""
    slopes = [1]
    for statement in statements:
        scop, name = schedule.scop, statement.name
        steps = {it for it, n in coefficients(band.members[0], scop, name).items() if n}
        for member in band.members[1:]:
            found = coefficients(member, scop, name)
            slopes += [abs(int(n)) for it, n in found.items() if it in steps]
    return max(slopes)
