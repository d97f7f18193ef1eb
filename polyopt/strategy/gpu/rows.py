"""Map row programs: adjacent nests over the same rows, one of which reduces each row.

In: such nests.  Out: one nest whose rows are blocks, or warps where rows are short; along a row
neighbouring threads have neighbouring elements, partial results are combined by warps and then by
the block.
"""

from __future__ import annotations

from contextlib import suppress

import islpy as isl

from polyopt.dataclass import dataclass
from polyopt.ir.budget import optional
from polyopt.ir.names import iterators
from polyopt.schedule.schedule import Schedule, Transform
from polyopt.schedule.tree import (
    Band,
    Leaf,
    bands,
    find_band,
    fresh_label,
    member_map,
    names_at,
    path_to,
)
from polyopt.strategy.extents import constant_extent
from polyopt.strategy.fusion import share_data
from polyopt.strategy.gpu.coalescing import coalesced_loop_last
from polyopt.strategy.gpu.mapped_loops import bands_around, is_mapped, labels_in_sequence
from polyopt.strategy.gpu.model import GpuModel
from polyopt.strategy.gpu.partial_reductions import (
    StepRefused,
    apply_steps,
    combine_in_warps,
    last_join,
    split_by_warps,
)
from polyopt.strategy.gpu.recomputation import recompute_rows
from polyopt.strategy.gpu.roles import find_roles
from polyopt.strategy.gpu.sums import find_sums
from polyopt.strategy.interchanges import order_steps
from polyopt.strategy.tiling import outer_bands
from polyopt.transforms import Combine, Cut, Deal, Distribute, Fuse, Grid, Rfactor, Threads, Tile

BUDGET = 20_000_000  # isl operations for one group of rows
GRID = 3
"""Dimensions of a grid."""
SHORT = 256
"""Elements of a row that a warp has on its own."""
THREADS = 128
"""Threads of a block for rows of unknown length."""
OWN = 4
"""Elements that a thread has at least, where rows are long enough."""


@dataclass(frozen=True, slots=True)
class RowPart:
    """A nest of a row program: its loops in order, rows first.

    `lane` is the loop for neighbouring threads, None where the rows have no other loop.  `sums` is
    the statement that reduces the row.
    """

    label: str
    order: tuple[int, ...]
    statements: tuple[str, ...]
    lane: int | None
    sums: str | None
    extent: int | None


def map_rows(schedule: Schedule, device: GpuModel) -> Schedule:
    """Return `schedule` with its row programs mapped, one kernel for each."""
    done: set[str] = set()
    while (label := _next(schedule, done)) is not None:
        done.add(label)
        with optional("rows in one kernel", BUDGET):
            schedule = _mapped(schedule, label, device) or schedule
    return schedule


def _next(schedule: Schedule, done: set[str]) -> str | None:
    """Return the label of the next nest that reduces rows."""
    for band in bands(schedule.tree):
        if band.label not in done and not is_mapped(band):
            found = _sum_part(schedule, band.label)
            if found is not None:
                return band.label
    return None


def _sum_part(schedule: Schedule, label: str) -> RowPart | None:
    found = find_sums(schedule, label)
    if found is None or not found.results or found.by_result or len(found.results) > GRID:
        return None
    if find_roles(schedule, label) is not None or not _in_rows(schedule, found.statement):
        return None
    rest = tuple(p for p in found.terms if p != found.lane)
    order = (*found.results, found.lane, *rest)
    extent = _extent(schedule, label, found.lane)
    return RowPart(label, order, (found.statement,), len(found.results), found.statement, extent)


def _in_rows(schedule: Schedule, name: str) -> bool:
    """Tell whether a statement reads its terms contiguously, or in one loop."""
    statement = schedule.scop.statement(name)
    results = iterators(*statement.target.index)
    if len(statement.iters) == len(results) + 1:
        return True
    for access in statement.reads:
        own = [iterators(index) for index in access.index]
        terms = [n for n, names in enumerate(own) if names - results]
        if terms and any(names & results for names in own[terms[0] :]):
            return False
    return True


def _extent(schedule: Schedule, label: str, position: int) -> int | None:
    _, domain = path_to(schedule.tree, schedule.scop, label)
    known = domain.intersect_params(schedule.scop.context)
    return constant_extent(find_band(schedule.tree, label).members[position], known)


def _part(schedule: Schedule, label: str, rows: int) -> RowPart | None:
    """Return the nest as a part of a program over `rows` loops, or None."""
    band = find_band(schedule.tree, label)
    if is_mapped(band) or len(band.members) < rows or not isinstance(band.child, Leaf):
        return None
    if not all(member.coincident for member in band.members[:rows]):
        return None
    found = _sum_part(schedule, label)
    if found is not None:
        return found if found.lane == rows and found.order[:rows] == tuple(range(rows)) else None
    statements = tuple(names_at(schedule.tree, schedule.scop, label))
    count = len(band.members)
    if count == rows:
        return RowPart(label, tuple(range(rows)), statements, None, None, None)
    free = [p for p in range(count) if band.members[p].coincident]
    best = coalesced_loop_last(schedule, label, free)[-1]
    if best < rows or not all(band.members[p].coincident for p in range(count)):
        return None
    rest = tuple(p for p in range(rows, count) if p != best)
    order = (*range(rows), best, *rest)
    return RowPart(label, order, statements, rows, None, _extent(schedule, label, best))


def _mapped(schedule: Schedule, label: str, device: GpuModel) -> Schedule | None:
    first = _sum_part(schedule, label)
    if first is None or first.lane is None:
        return None
    rows = first.lane
    parts = _group(schedule, first, rows)
    for group in (parts, [first])[: 2 if len(parts) > 1 else 1]:
        with suppress(StepRefused):
            return _program(schedule, group, rows, device)
    return None


def _program(schedule: Schedule, parts: list[RowPart], rows: int, device: GpuModel) -> Schedule:
    """Return `schedule` with one kernel for the parts; raises `StepRefused`."""
    extents = [part.extent for part in parts if part.lane is not None]
    known = [extent for extent in extents if extent is not None]
    longest = max(known) if len(known) == len(extents) else None
    if longest is not None and longest <= SHORT and min(device.block, device.threads) > device.warp:
        return _warps(schedule, parts, rows, device)
    found = _blocks(schedule, parts, rows, _threads(longest, device), device)
    return found if longest is not None else recompute_rows(found, parts[0].label, rows)


def _threads(longest: int | None, device: GpuModel) -> int:
    """Return the number of threads for a row."""
    most = min(device.block, device.threads)
    if longest is None:
        return min(THREADS, most)
    threads = device.warp
    while 2 * threads <= most and 2 * OWN * threads <= longest:
        threads *= 2
    return threads


def _group(schedule: Schedule, first: RowPart, rows: int) -> list[RowPart]:
    """Return the nests around a sum that form one row program, in order."""
    labels = labels_in_sequence(schedule, first.label)
    here = labels.index(first.label)
    after = _related(schedule, [first], labels[here + 1 :], rows)
    before = _related(schedule, [first, *after], labels[:here][::-1], rows)
    parts = [*before[::-1], first, *after]
    return _fusible(schedule, parts, first, rows)


def _related(
    schedule: Schedule, parts: list[RowPart], labels: list[str], rows: int
) -> list[RowPart]:
    """Return the possible parts from the first of `labels` on that share data.

    A nest that shares no data may be between them.
    """
    found: list[RowPart] = []
    waiting: list[RowPart] = []
    for label in labels:
        part = _part(schedule, label, rows)
        if part is None or not _same_rows(schedule, parts[0], part, rows):
            break
        waiting.append(part)
        if any(share_data(schedule, other.label, label) for other in (*parts, *found)):
            found += waiting
            waiting = []
    return found


def _same_rows(schedule: Schedule, one: RowPart, two: RowPart, rows: int) -> bool:
    """Tell whether two nests run over the same rows at all sizes at which both have some."""
    first, second = (_rows(schedule, part, rows) for part in (one, two))
    return bool(first.is_subset(second) or second.is_subset(first))


def _rows(schedule: Schedule, part: RowPart, rows: int) -> isl.Set:
    _, domain = path_to(schedule.tree, schedule.scop, part.label)
    values = isl.UnionMap.from_domain(domain)
    for position in part.order[:rows]:
        member = find_band(schedule.tree, part.label).members[position]
        values = values.flat_range_product(member_map(member, domain))
    found = isl.Set.from_union_set(values.range())
    return found.intersect_params(schedule.scop.context)


def _fusible(schedule: Schedule, parts: list[RowPart], first: RowPart, rows: int) -> list[RowPart]:
    """Return the parts, with `first`, whose rows can be fused."""
    while len(parts) > 1:
        here = parts.index(first)
        bad = _first_bad(schedule, parts, rows)
        if bad is None:
            return parts
        parts = parts[:bad] if bad > here else parts[here:] if bad == here else parts[bad:]
    return parts


def _first_bad(schedule: Schedule, parts: list[RowPart], rows: int) -> int | None:
    """Return the position of the first part that cannot be fused with those before."""
    joint = schedule
    for position in range(1, len(parts)):
        fused = joint.attempt(Fuse(parts[0].label, parts[position].label, rows))
        if fused is None:
            return position
        members = find_band(fused.tree, parts[0].label).members[:rows]
        if not all(member.coincident for member in members):
            return position
        joint = fused
    return None


def _warps(schedule: Schedule, parts: list[RowPart], rows: int, device: GpuModel) -> Schedule:
    """Return `schedule` with a warp for each row; raises `StepRefused`."""
    joins = []
    for part in parts:
        schedule = _distributed(schedule, part, rows, device.warp)
        if part.sums is not None:
            joins.append(last_join(schedule))
    schedule = _fused(schedule, parts, rows)
    label = parts[0].label
    tile = fresh_label(schedule.tree, f"{label}.tile")
    point = fresh_label(schedule.tree, f"{label}.point")
    own = max(1, min(device.block, device.threads) // device.warp)
    schedule = apply_steps(schedule, Tile(label, (*[1] * (rows - 1), own)), Distribute(point))
    for inner in outer_bands(find_band(schedule.tree, tile).child):
        names = names_at(schedule.tree, schedule.scop, inner)
        combines = any(name in joins for name in names)
        count = len(find_band(schedule.tree, inner).members)
        across = rows if combines else min(count, rows + 1)
        steps: list[Transform] = [Threads(tuple(f"{inner}[{p}]" for p in range(across)))]
        steps += [Combine(f"{inner}[{rows}]")] if combines else []
        schedule = apply_steps(schedule, *steps)
    return apply_steps(schedule, _grid(tile, rows))


def _blocks(
    schedule: Schedule, parts: list[RowPart], rows: int, threads: int, device: GpuModel
) -> Schedule:
    """Return `schedule` with a block of `threads` threads for each row; raises `StepRefused`."""
    joins: tuple[str, ...] = ()
    for part in parts:
        schedule = _distributed(schedule, part, rows, threads)
        if part.sums is not None:
            own: tuple[str, ...] = (last_join(schedule),)
            if threads > device.warp:
                schedule, own = split_by_warps(schedule, own[0], device.warp)
            joins += own
    schedule = _fused(schedule, parts, rows)
    label = parts[0].label
    for part in parts:
        if part.lane is not None:
            lane = _inside(schedule, label, part.statements[0])[0]
            schedule = apply_steps(schedule, Threads((f"{lane.label}[0]",)))
    schedule = combine_in_warps(schedule, joins, label)
    return apply_steps(schedule, _grid(label, rows))


def _inside(schedule: Schedule, label: str, statement: str) -> list[Band]:
    """Return the bands around a statement and inside band `label`."""
    around = bands_around(schedule, statement)
    here = [band.label for band in around].index(label)
    return around[here + 1 :]


def _grid(label: str, rows: int) -> Grid:
    return Grid(tuple(f"{label}[{position}]" for position in range(rows)))


def _distributed(schedule: Schedule, part: RowPart, rows: int, threads: int) -> Schedule:
    """Return `schedule` with rows distributed to threads, a sum in parts; raises `StepRefused`."""
    band = find_band(schedule.tree, part.label)
    steps = order_steps(part.label, band, part.order)
    if part.lane is not None:
        steps.append(Deal(f"{part.label}[{rows}]", threads))
    if part.sums is not None:
        steps.append(Rfactor(part.sums, f"{part.label}[{rows}]"))
    return apply_steps(schedule, *steps) if steps else schedule


def _fused(schedule: Schedule, parts: list[RowPart], rows: int) -> Schedule:
    """Return `schedule` with the parts fused over rows; raises `StepRefused`."""
    label = parts[0].label
    if len(parts) == 1:
        inner = len(find_band(schedule.tree, label).members) > rows
        return apply_steps(schedule, Cut(label, rows)) if inner else schedule
    steps = [Fuse(label, part.label, rows) for part in parts[1:]]
    return apply_steps(schedule, *steps)
