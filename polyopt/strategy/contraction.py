"""Tile contractions: nests that add products into an array smaller than the iteration space.

In: a permutable band in which two loops move the result and one does not.  Out: the band tiled for
the caches and for registers, with full register tiles of vector accumulators and remainders.
The scheme is Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", 2008.
"""

from __future__ import annotations

from math import prod

from polyopt import transforms
from polyopt.dataclass import dataclass
from polyopt.ir.affine import is_box
from polyopt.machine import Machine
from polyopt.model.contraction import ContractionSizes, contraction_sizes, packed_sizes
from polyopt.schedule.schedule import Schedule, Transform
from polyopt.schedule.sizes import Size
from polyopt.schedule.tree import Leaf, find_band, only_statement, path_to
from polyopt.strategy.epilogues import with_epilogues
from polyopt.strategy.extents import constant_extent
from polyopt.strategy.interchanges import order_steps
from polyopt.strategy.reduction_skewing import skew_terms
from polyopt.strategy.strides import Stride, loop_moves
from polyopt.transforms import Cut, Interchange, Parallelize, Separate, Tile, Unroll, Vectorize

PAIR = 2
"""Rows that are run at a time where fewer than a tile's are left."""
PIECE = 4
"""Rows that are run at a time in a strip of columns where fewer than a tile's are left."""
SQUARE = 4
"""Rows and columns of sums that are made at the same time, at most."""


@dataclass(frozen=True, slots=True)
class Roles:
    """Roles of a band's loops, by position in the band."""

    batch: tuple[int, ...]  # move the result, no operand is reused along them
    row: int  # moves the result; the column operand is reused along it
    column: int  # contiguous in the result: vector lanes
    depth: int  # leaves the result in place: the sum


def find_roles(schedule: Schedule, label: str, *, ordered: bool = False) -> Roles | None:
    """Return the roles of the loops, or None when the band is not a contraction.

    `ordered`: rows may depend on one another, as long as their loop may be tiled.
    """
    band = find_band(schedule.tree, label)
    if not band.permutable or len(band.members) < 3 or not isinstance(band.child, Leaf):
        return None
    statement = only_statement(schedule.tree, schedule.scop, label)
    if statement is None:
        return None
    moves = loop_moves(schedule, label, statement)
    write = statement.write.ref
    depths = [p for p, move in enumerate(moves) if move[write] is Stride.INVARIANT]
    free = [p for p in range(len(moves)) if band.members[p].coincident]
    rows = [*free[::-1], *(p for p in reversed(range(len(moves))) if ordered and p not in free)]
    for column in reversed(free):
        for row in rows:
            if depths and row != column and _is_register_tile(moves[row], moves[column], write):
                batch = tuple(p for p in range(len(moves)) if p not in (row, column, depths[-1]))
                return Roles(batch, row, column, depths[-1])
    return None


def _is_register_tile(row: dict[str, Stride], column: dict[str, Stride], write: str) -> bool:
    """Tell whether rows and columns of the result form a tile in vector registers.

    The result is contiguous along columns; an operand that varies along columns is the same for all
    rows, so that it is loaded once, or packed if it is not contiguous.
    """
    if row[write] is not Stride.STRIDED or column[write] is not Stride.CONTIGUOUS:
        return False
    varying = [ref for ref, step in column.items() if ref != write and step is not Stride.INVARIANT]
    shared = [ref for ref in varying if row[ref] is Stride.INVARIANT]
    lone = [ref for ref in varying if row[ref] is not Stride.INVARIANT]
    return bool(shared) and all(column[ref] is Stride.CONTIGUOUS for ref in lone)


def contraction(schedule: Schedule, label: str, machine: Machine) -> Schedule | None:
    """Return `schedule` with the contraction at band `label` tiled, or None for other bands."""
    roles = find_roles(schedule, label, ordered=True)
    if roles is None:
        schedule = skew_terms(schedule, label) or schedule
        roles = find_roles(schedule, label, ordered=True)
    if roles is None:
        return None
    band = find_band(schedule.tree, label)
    steps = order_steps(label, band, (*roles.batch, roles.row, roles.column, roles.depth))
    inner = label
    if roles.batch:
        steps.append(Cut(label, len(roles.batch)))
        inner = f"{label}.inner"
    statement = only_statement(schedule.tree, schedule.scop, label)
    assert statement is not None
    has_box = is_box(statement.domain)
    found = _tiled_by(schedule, steps, roles, label, inner, machine)
    if found is None:
        return None
    batch = [band.members[p].coincident for p in roles.batch]
    tile = f"{inner}.tile"
    free = all(batch) and band.members[roles.row].coincident
    parallel = _parallel(found, label, tile, batch)
    if not (free and has_box) or parallel is found:
        return parallel
    outer = label if batch else tile
    return with_epilogues(found, outer, tile, len(batch), _block(found, inner)) or parallel


def tile_inner_product(
    schedule: Schedule, label: str, machine: Machine, block: ContractionSizes
) -> Schedule | None:
    """Return `schedule` with the contraction at band `label`, inside other loops, tiled, or None.

    `block` has the sizes of the tiles; nothing becomes parallel.
    """
    roles = find_roles(schedule, label)
    if roles is None or roles.batch:
        return None
    band = find_band(schedule.tree, label)
    steps = order_steps(label, band, (roles.row, roles.column, roles.depth))
    return _tiled_by(schedule, steps, roles, label, label, machine, block)


def _tiled_by(
    schedule: Schedule,
    steps: list[Transform],
    roles: Roles,
    label: str,
    inner: str,
    machine: Machine,
    sizes: ContractionSizes | None = None,
) -> Schedule | None:
    """Return what `_tiled` does, with blocks packed as a whole where that is possible."""
    statement = only_statement(schedule.tree, schedule.scop, label)
    assert statement is not None
    wanted = (True, False) if is_box(statement.domain) else (False,)
    tried = (
        _tiled(schedule, steps, roles, label, inner, machine, sizes, whole=one) for one in wanted
    )
    return next((one for one in tried if one is not None), None)


def _block(schedule: Schedule, band: str) -> tuple[Size, ...]:
    """Return the rows and columns of the blocks that `band` is tiled in."""
    steps = (step for step in schedule.trace if isinstance(step, Tile) and step.band == band)
    return next(steps).sizes[:2]


def _tiled(
    schedule: Schedule,
    start: list[Transform],
    roles: Roles,
    label: str,
    inner: str,
    machine: Machine,
    sizes: ContractionSizes | None = None,
    *,
    whole: bool,
) -> Schedule | None:
    """Return `schedule` with band `inner`, which the steps `start` make, tiled, or None.

    `whole`: a block is packed as a whole, because all rows of tiles use the same panels, as in a
    box. Else the panel of a column of tiles is packed.
    """
    statement = only_statement(schedule.tree, schedule.scop, label)
    assert statement is not None
    sizes = sizes or _sizes(schedule, roles, label, machine, whole=whole)
    tile, point = f"{inner}.tile", f"{inner}.point"
    registers = f"{point}.tile"
    box = f"{point}.point"
    columns_first = Interchange(f"{registers}[0]", f"{registers}[1]")
    steps = [
        *start,
        Tile(inner, (sizes.rows, sizes.columns, sizes.depth)),
        Tile(point, (sizes.register_rows, sizes.register_columns)),
        *(() if whole else (columns_first,)),
        Interchange(f"{box}[1]", f"{box}[2]"),
        Interchange(f"{box}[0]", f"{box}[1]"),
        Unroll(f"{box}[1]"),
        Vectorize(f"{box}[2]"),
    ]
    full = (sizes.register_rows, sizes.register_columns)
    columns_last = Interchange(f"{registers}.rest[0]", f"{registers}.rest[1]")
    orders: list[tuple[Transform, ...]] = [
        (Separate(registers, box, full), *((columns_last,) if whole else ())),
        # a sum begins at the diagonal
        (Separate(registers, box, full), transforms.Reorder(tile, (1, 0))),
        # and its terms are results, too
        (Separate(box, box, full), transforms.Reorder(registers, (1, 0))),
    ]
    strided = Stride.STRIDED in loop_moves(schedule, label, statement)[roles.column].values()
    is_packed = whole and not any(_extents(schedule, roles, label)[:2])
    left = _corners if whole else _strips
    rest = f"{box}.rest"
    after = _dots(rest, sizes) if strided and not is_packed else left(rest, sizes)
    if whole:
        at_once = schedule.attempt(*steps, *orders[0], *after)
        return at_once or schedule.attempt(*steps, *orders[0])
    attempts = (schedule.attempt(*steps, *order) for order in orders)
    found = next((one for one in attempts if one is not None), None)
    return found and (found.attempt(*after) or found)


def _parallel(schedule: Schedule, label: str, tile: str, batch: list[bool]) -> Schedule:
    """Return `schedule` with blocks of the result parallel, over all products of a batch.

    Where rows depend on one another, blocks of columns are.
    """
    if batch and batch[0] and not all(batch):
        return schedule.attempt(Parallelize(f"{label}[0]")) or schedule
    cut = Cut(tile, 2)
    rows, columns = Parallelize(f"{tile}[0]"), Parallelize(f"{tile}[1]")
    outer = [Parallelize(f"{label}[{p}]") for p in range(len(batch) if all(batch) else 0)]
    swap = Interchange(f"{tile}[0]", f"{tile}[1]")
    return (
        schedule.attempt(cut, rows, columns, *outer)
        or schedule.attempt(swap, Parallelize(f"{tile}[0]"), *outer)
        or schedule
    )


def _dots(rest: str, sizes: ContractionSizes) -> list[Transform]:
    """Return the steps that run remainders as several dot products at a time.

    For operands that need packing, since their terms, not their columns, are contiguous, where no
    panel has what full tiles leave over: outside of boxes, and where sizes are known, since loops
    of one iteration are then no loops that a panel could be found by.  A square
    of rows and columns has enough sums to hide latency, even with few terms.  The last, single sums
    have their terms in lanes.
    """
    point = f"{rest}.point"
    left = f"{point}.rest"
    square = (_part_of(sizes.register_rows), _part_of(sizes.register_columns))
    return [
        Interchange(f"{rest}[0]", f"{rest}[1]"),
        Interchange(f"{rest}[1]", f"{rest}[2]"),
        Tile(rest, square),
        Interchange(f"{point}[1]", f"{point}[2]"),
        Interchange(f"{point}[0]", f"{point}[1]"),
        Vectorize(f"{point}[0]"),
        Unroll(f"{point}[1]"),
        Unroll(f"{point}[2]"),
        Separate(f"{rest}.tile", point, square),
        Interchange(f"{left}[0]", f"{left}[1]"),
        Interchange(f"{left}[1]", f"{left}[2]"),
        Vectorize(f"{left}[2]"),
    ]


def _part_of(size: int) -> int:
    """Return the largest divisor, at most `SQUARE`, of a side of the register tile."""
    return next(part for part in range(SQUARE, 0, -1) if size % part == 0)


def _corners(rest: str, sizes: ContractionSizes) -> list[Transform]:
    """Return the steps that run the remainders of a box: full columns of tiles, and the last ones.

    Of full columns the last rows remain and run two at a time: with a tile's columns these are
    enough sums to hide the latency of an addition.  They reuse the packed operands of the rows
    before.
    """
    point, last = f"{rest}.point", f"{rest}.point.rest"
    return [
        Separate(rest, rest, (0, sizes.register_columns)),
        Interchange(f"{rest}[0]", f"{rest}[1]"),
        Tile(rest, (PAIR,)),
        Interchange(f"{point}[0]", f"{point}[1]"),
        Unroll(f"{point}[1]"),
        Vectorize(f"{point}[2]"),
        Separate(f"{rest}.tile", point, (PAIR, 0)),
        Interchange(f"{last}[0]", f"{last}[1]"),
        Vectorize(f"{last}[2]"),
        *_strips(f"{rest}.rest", sizes, PIECE),
    ]


def _strips(rest: str, sizes: ContractionSizes, piece: int = 0) -> list[Transform]:
    """Return the steps that run remaining rows and columns one vector of columns at a time.

    The lanes of a strip, perhaps fewer than a vector's, are outside of the sum, so that its results
    stay in registers.  Rows run as in full tiles, then `piece` at a time where that is a part of
    half a tile, then one by one.
    """
    point = f"{rest}.point"
    last = f"{point}.rest"
    return [
        Interchange(f"{rest}[0]", f"{rest}[2]"),
        Tile(rest, (sizes.lanes,)),
        Interchange(f"{point}[1]", f"{point}[2]"),
        Vectorize(f"{point}[0]"),
        Unroll(f"{point}[2]"),
        Separate(f"{rest}.tile", point, (sizes.register_rows,)),
        *_rows_left(last, 0 if piece == 0 or sizes.register_rows % (2 * piece) else piece),
    ]


def _rows_left(last: str, piece: int) -> list[Transform]:
    """Return the steps that run the rows of a strip `piece` at a time, if any, then one by one."""
    steps: list[Transform] = []
    if piece:
        point = f"{last}.point"
        steps = [
            Interchange(f"{last}[0]", f"{last}[2]"),
            Tile(last, (piece,)),
            Interchange(f"{point}[0]", f"{point}[2]"),
            Vectorize(f"{point}[0]"),
            Unroll(f"{point}[2]"),
            Separate(f"{last}.tile", point, (piece,)),
        ]
        last = f"{point}.rest"
    ends = (Interchange(f"{last}[0]", f"{last}[2]"), Interchange(f"{last}[1]", f"{last}[2]"))
    return [*steps, *ends, Vectorize(f"{last}[1]")]


def _sizes(
    schedule: Schedule, roles: Roles, label: str, machine: Machine, *, whole: bool
) -> ContractionSizes:
    """Return sizes for the type of the elements; `whole`: blocks are packed as a whole."""
    statement = only_statement(schedule.tree, schedule.scop, label)
    assert statement is not None
    size = schedule.scop.array(statement.target.array).dtype.size
    if not whole:
        return contraction_sizes(machine, size)
    moves = loop_moves(schedule, label, statement)
    row, column = moves[roles.row], moves[roles.column]
    reads = [ref for ref, step in column.items() if row[ref] is Stride.INVARIANT is not step]
    *extents, products = _extents(schedule, roles, label)
    return packed_sizes(machine, size, len(reads), (extents[0], extents[1], extents[2]), products)


def _extents(
    schedule: Schedule, roles: Roles, label: str
) -> tuple[int | None, int | None, int | None, int | None]:
    """Return the known lengths of the loops over rows, columns and depth; of all in a batch."""
    members = find_band(schedule.tree, label).members
    _, domain = path_to(schedule.tree, schedule.scop, label)

    def extent(position: int) -> int | None:
        return constant_extent(members[position], domain)

    products = [extent(position) for position in roles.batch]
    count = None if None in products else prod(n for n in products if n is not None)
    return extent(roles.row), extent(roles.column), extent(roles.depth), count
