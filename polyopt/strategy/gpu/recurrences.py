"""Map recurrences along rows: parallel scans, or one thread for each row.

In: nests whose innermost loop carries a dependence along contiguous elements, with independent rows
around.  Out: reassociable recurrences as scans by a block for each row, or by many for a single
row; else blocks of rows, a part of each at a time copied in, coalesced, by all threads, computed in
the source's order by one thread per row, and copied out.
"""

from __future__ import annotations

from contextlib import suppress

from polyopt.dataclass import dataclass, replace
from polyopt.errors import ScheduleError
from polyopt.ir.array import Role
from polyopt.ir.budget import optional
from polyopt.ir.expr import Const, Iter
from polyopt.ir.linear import linear
from polyopt.ir.loops import LoopKind
from polyopt.ir.scan import is_open, is_recurrence, loop_of
from polyopt.ir.scop import Statement
from polyopt.schedule.schedule import Schedule
from polyopt.schedule.tree import bands, find_band, fresh_label, path_to, statements_of
from polyopt.strategy.extents import constant_extent
from polyopt.strategy.fusion import share_data
from polyopt.strategy.gpu.coalescing import access_steps
from polyopt.strategy.gpu.mapped_loops import is_mapped, labels_in_sequence, new_nests
from polyopt.strategy.gpu.model import GpuModel
from polyopt.strategy.gpu.partial_reductions import StepRefused, apply_steps
from polyopt.strategy.gpu.sizes import least_value
from polyopt.strategy.strides import Stride, accesses
from polyopt.transforms import Contract, Dimension, Fuse, Grid, Pack, Scan, Shift, Threads, Tile
from polyopt.transforms.layout import Part

BUDGET = 10_000_000  # isl operations for one nest
GRID = 3
"""Dimensions of a grid."""
LEAST = 16
"""Elements that a row has at least for copies to pay."""
LENGTH = 32
"""Elements of a row that are copied at once."""
SINGLE = 512
"""Elements that are copied at once of a row that is the only one."""
SCANNED = 128
"""Elements that a row has at least for the threads of a block to scan it."""
WINDOW = 2
"""Elements of a row that are kept where only neighbours are used."""


@dataclass(frozen=True, slots=True)
class Recurrence:
    """A nest: `rows` loops around the carrying one; `staged` arrays lie along the rows."""

    label: str
    rows: int
    staged: tuple[str, ...]


def map_recurrences(schedule: Schedule, device: GpuModel) -> Schedule:
    """Return `schedule` with its recurrences along rows mapped."""
    for label in [band.label for band in bands(schedule.tree)]:
        if any(band.label == label and not is_mapped(band) for band in bands(schedule.tree)):
            with optional("a recurrence", BUDGET):
                rows = _carried(schedule, label)
                scanned = None if rows is None else _scanned(schedule, label, rows)
                found = None if scanned is not None else _find(schedule, label)
                if found is not None:
                    schedule = _mapped(schedule, found, device) or schedule
                schedule = scanned or schedule
    return schedule


def _find(schedule: Schedule, label: str) -> Recurrence | None:
    """Return the recurrence along contiguous elements in a band, or None."""
    rows = _carried(schedule, label)
    if rows is None:
        return None
    staged = _crossed(schedule, label, rows)
    return Recurrence(label, rows, staged) if staged else None


def _carried(schedule: Schedule, label: str) -> int | None:
    """Return the number of loops around the one that carries a dependence, or None."""
    band = find_band(schedule.tree, label)
    path, domain = path_to(schedule.tree, schedule.scop, label)
    rows = len(band.members) - 1
    if any(True for _ in bands(band.child)) or rows > GRID:
        return None
    if not rows and path:
        return None  # the host runs loops around
    if any(member.kind is LoopKind.LANE for member in band.members):
        return None  # neighbouring threads combine
    free = all(member.coincident for member in band.members[:rows])
    if not free or band.members[rows].coincident or any(m.coincident for m in path):
        return None
    length = constant_extent(band.members[rows], domain.intersect_params(schedule.scop.context))
    if length is not None and length < LEAST:
        return None
    return rows


def _crossed(schedule: Schedule, label: str, rows: int) -> tuple[str, ...]:
    """Return the arrays contiguous along the carrying loop, and not along the last loop of rows.

    Those with data-dependent subscripts are left out, since a tile's footprint is unknown.
    """
    along = access_steps(schedule, label, rows)
    across = access_steps(schedule, label, rows - 1) if rows else {}
    _, domain = path_to(schedule.tree, schedule.scop, label)
    found: dict[str, None] = {}
    data: set[str] = set()
    for name in statements_of(schedule.scop, domain):
        for access in accesses(schedule.scop.statement(name)):
            data |= set() if access.exact else {access.array}
            crosses = not rows or across[access.ref][0] is Stride.STRIDED
            if along[access.ref][0] is Stride.CONTIGUOUS and crosses:
                found[access.array] = None
    return tuple(name for name in found if name not in data)


def _scanned(schedule: Schedule, label: str, rows: int) -> Schedule | None:
    """Return `schedule` with a block scanning each row, or many blocks a single one.

    None where the order of terms is fixed, or rows are short or not contiguous.
    """
    member = find_band(schedule.tree, label).members[rows]
    _, domain = path_to(schedule.tree, schedule.scop, label)
    length = constant_extent(member, domain.intersect_params(schedule.scop.context))
    names = statements_of(schedule.scop, domain)
    if len(names) != 1 or (rows and length is not None and length < SCANNED):
        return None
    statement = schedule.scop.statement(names[0])
    if not (is_open(statement) and is_recurrence(statement) and _is_along(statement)):
        return None
    grid = Grid(tuple(f"{label}[{position}]" for position in range(rows)))
    scan = Scan(f"{label}[{rows}]")
    return schedule.attempt(grid, scan) if rows else schedule.attempt(scan)


def _is_along(statement: Statement) -> bool:
    """Tell whether a recurrence carries its values along contiguous elements."""
    *outer, last = (dict(linear(part).terms) for part in statement.target.index)
    name = Iter(loop_of(statement) or "")
    return abs(last.get(name, 0)) == 1 and not any(name in part for part in outer)


def _mapped(schedule: Schedule, found: Recurrence, device: GpuModel) -> Schedule | None:
    """Return `schedule` with a recurrence tiled and mapped, or None where that is illegal."""
    with suppress(StepRefused):
        joint = _fused_with_users(schedule, found) if found.rows else schedule
        windows = [n for n in found.staged if found.rows and _is_temporary(joint, n)]
        for name in windows:
            rank = len(joint.scop.array(name).shape)
            joint = apply_steps(joint, Contract(name, (*[0] * (rank - 1), WINDOW)))
        again = _find(joint, found.label)
        if again is not None:
            return _tiled(_from_zero(joint, again), again, windows, device)
    with suppress(StepRefused):
        return _tiled(_from_zero(schedule, found), found, [], device)
    return None


def _from_zero(schedule: Schedule, found: Recurrence) -> Schedule:
    """Return `schedule` with the carrying loop shifted to start at 0, so that all tiles do."""
    _, domain = path_to(schedule.tree, schedule.scop, found.label)
    member = find_band(schedule.tree, found.label).members[found.rows]
    first = least_value(member, domain.intersect_params(schedule.scop.context))
    if not first:
        return schedule
    return apply_steps(schedule, Shift(f"{found.label}[{found.rows}]", -first))


def _is_temporary(schedule: Schedule, name: str) -> bool:
    return schedule.scop.array(name).role is Role.TEMP


def _fused_with_users(schedule: Schedule, found: Recurrence) -> Schedule:
    """Return `schedule` with following nests that use the results fused."""
    labels = labels_in_sequence(schedule, found.label)
    for label in labels[labels.index(found.label) + 1 :]:
        if len(find_band(schedule.tree, label).members) <= found.rows:
            break
        if not share_data(schedule, found.label, label):
            break
        fused = schedule.attempt(Fuse(found.label, label, found.rows + 1))
        if fused is None or _find(fused, found.label) is None:
            break
        schedule = fused
    return schedule


def _tiled(schedule: Schedule, found: Recurrence, windows: list[str], device: GpuModel) -> Schedule:
    """Return `schedule` with tiles of rows, each copied in and out; raises `StepRefused`."""
    rows, label = found.rows, found.label
    size = sum(schedule.scop.array(name).dtype.size for name in found.staged)
    if not rows:
        return _single_row(schedule, found, size, device)
    count = min(device.block, device.threads, 2 * device.warp)
    if count * (LENGTH + WINDOW) * size > device.shared:
        count = min(count, device.warp)
    if count * (LENGTH + WINDOW) * size > device.shared:
        raise StepRefused
    tile = fresh_label(schedule.tree, f"{label}.tile")
    point = fresh_label(schedule.tree, f"{label}.point")
    across = Threads(tuple(f"{point}[{position}]" for position in range(rows)))
    schedule = apply_steps(schedule, Tile(label, (*[1] * (rows - 1), count, LENGTH)), across)
    for name in found.staged:
        schedule = _copied(schedule, _padded(schedule, Pack(name, f"{tile}[{rows}]")))
    for name in windows:
        schedule = _copied(schedule, Pack(name, f"{tile}[{rows - 1}]"))
    return apply_steps(schedule, Grid(tuple(f"{tile}[{position}]" for position in range(rows))))


def _single_row(schedule: Schedule, found: Recurrence, size: int, device: GpuModel) -> Schedule:
    """Return `schedule` with a single row copied by one block and followed by one thread."""
    if (SINGLE + WINDOW) * size > device.shared:
        raise StepRefused
    tile = fresh_label(schedule.tree, f"{found.label}.tile")
    schedule = apply_steps(schedule, Tile(found.label, (SINGLE,)))
    for name in found.staged:
        schedule = _copied(schedule, Pack(name, f"{tile}[0]"))
    return schedule


def _padded(schedule: Schedule, pack: Pack) -> Pack:
    """Return the step that pads rows to an odd length, so that threads use different banks."""
    try:
        length = pack.footprint(schedule.tree, schedule.scop)[-1].extent
    except ScheduleError as error:
        raise StepRefused from error
    if not isinstance(length, Const) or int(length.value.real) % 2:
        return pack
    last = len(schedule.scop.array(pack.array).shape) - 1
    padded = Dimension(last, Part.PADDED, 1)
    return replace(pack, dimensions=(*map(Dimension, range(last)), padded))


def _copied(schedule: Schedule, pack: Pack) -> Schedule:
    """Return `schedule` with copies by all threads; raises `StepRefused`."""
    packed = apply_steps(schedule, pack)
    return apply_steps(packed, *(Threads((label,)) for label in new_nests(packed, schedule)))
