"""Block sums over several loops in registers: convolutions, sums over nested bands.

In: a nest of one statement whose outer band moves the result; its other loops run over the terms.
Out: a register tile of vectors of results, unrolled and jammed, that stays in registers over all
loops of the sum.  The tile is two vectors wide where rows share the vectors of columns; remainders
run one vector wide, then with fewer rows.  Leaves alone: sums over one loop (`sums`).
"""

from __future__ import annotations

from fractions import Fraction

from polyopt import strategy, transforms
from polyopt.dataclass import dataclass
from polyopt.ir.expr import Expr
from polyopt.ir.linear import linear
from polyopt.ir.names import iterators
from polyopt.ir.scop import Access, Scop, Statement
from polyopt.machine import Machine
from polyopt.model.contraction import RegisterTile, held_rows, held_tile
from polyopt.schedule.schedule import Schedule, Transform
from polyopt.schedule.tree import Band, Leaf, Tree, find_band, only_statement, path_to
from polyopt.strategy.fusion import adjacent, read_in, written_in
from polyopt.strategy.interchanges import order_steps
from polyopt.strategy.strides import Stride, accesses, along_row, directions, is_near, loop_moves
from polyopt.transforms import (
    Cut,
    Fuse,
    Interchange,
    Parallelize,
    Separate,
    Tile,
    Unroll,
    Vectorize,
)

FEWER = 3  # times fewer rows, for those that are left over


@dataclass(frozen=True, slots=True)
class _Parts:
    """The roles of the outer band's loops, by position in the band."""

    batch: tuple[int, ...]
    row: int  # an operand is the same along it
    column: int  # contiguous in the result: vector lanes
    depth: tuple[int, ...]  # loops of the sum; others are in the bands inside
    nested: bool  # there are such bands
    shared: bool  # rows read the same vectors of columns, each vector once for each term


@dataclass(frozen=True, slots=True)
class _Sizes:
    """Lanes of a vector, rows of a tile that is one vector wide, and the register tile."""

    lanes: int
    rows: int
    tile: RegisterTile


def block_sums_in_registers(schedule: Schedule, label: str, machine: Machine) -> Schedule | None:
    """Return `schedule` with the sums at band `label` in register tiles, or None without any."""
    statement = _statement(schedule, label)
    parts = None if statement is None else _parts(schedule, label, statement)
    if statement is None or parts is None:
        return None
    element = schedule.scop.array(statement.target.array).dtype.size
    single = RegisterTile(held_rows(machine), 1)
    tile = held_tile(machine) if parts.shared else single
    sizes = _Sizes(max(1, machine.vector_bytes // element), single.rows, tile)
    band = find_band(schedule.tree, label)
    order = (*parts.batch, parts.column, parts.row, *parts.depth)
    steps = order_steps(label, band, order)
    inner = label
    if parts.batch:
        inner = f"{label}.inner"
        steps += [Cut(label, len(parts.batch))]
    ends = (parts.column, parts.row)
    borders = [strategy.borders.borders_of(band.members[p], schedule.scop, statement) for p in ends]
    found = schedule.attempt(*steps, *_split(inner, parts, borders, sizes))
    if found is None:
        return None
    if not parts.batch:
        if any(borders):
            return found
        tiles = (f"{inner}.tile", f"{inner}.tile.rest")[: tile.vectors]
        swaps = [Interchange(f"{one}[0]", f"{one}[1]") for one in tiles]
        return found.attempt(*swaps, *(Parallelize(f"{one}[0]") for one in tiles)) or found
    found, joint = _with_adjacent_nests(found, label)
    free = [p for p, m in enumerate(find_band(found.tree, joint).members) if m.coincident]
    return _parallel(found, joint, free)


def _split(
    band: str, parts: _Parts, borders: list[strategy.borders.Borders], sizes: _Sizes
) -> list[Transform]:
    """Return the steps that split off results with fewer terms and block the others."""
    columns, rows = borders
    main, edges = band, list[str]()
    steps: list[Transform] = []
    if columns:
        steps, main, edges = columns.split(main)
    for edge in edges:
        last = f"{edge}.point"
        steps += [
            Tile(edge, (sizes.lanes, sizes.rows)),
            *_inwards(last, 1, len(parts.depth) + 1),
            Separate(f"{edge}.tile", last, (sizes.rows,)),
            *_rows_in_lanes(last, parts),
        ]
    if rows:
        steps.append(Interchange(f"{main}[0]", f"{main}[1]"))
        more, main, edges = rows.split(main)
        steps += [*more, *(Vectorize(f"{edge}[1]") for edge in edges)]
        steps.append(Interchange(f"{main}[0]", f"{main}[1]"))
    return [*steps, *_registers(main, parts, sizes)]


def _with_adjacent_nests(schedule: Schedule, label: str) -> tuple[Schedule, str]:
    """Return `schedule` with the nests that initialize or use the sums fused into `label`.

    And the label of the fused band.
    """
    count = len(find_band(schedule.tree, label).members)
    before = next((one for one, two in adjacent(schedule.tree) if two == label), None)
    if before is not None and written_in(schedule, before) & written_in(schedule, label):
        fused = _fused(schedule, before, label, count)
        schedule, label = (fused, before) if fused is not None else (schedule, label)
    after = next((two for one, two in adjacent(schedule.tree) if one == label), None)
    if after is not None and written_in(schedule, label) & read_in(schedule, after):
        schedule = _fused(schedule, label, after, count) or schedule
    return schedule, label


def _fused(schedule: Schedule, first: str, second: str, count: int) -> Schedule | None:
    """Return `schedule` with two nests fused where that leaves independent loops independent."""
    one, two = find_band(schedule.tree, first), find_band(schedule.tree, second)
    fused = schedule.attempt(Fuse(first, second, count))
    if fused is None:
        return None
    members = zip(find_band(fused.tree, first).members, one.members, two.members, strict=False)
    if any((a.coincident or b.coincident) and not joint.coincident for joint, a, b in members):
        return None
    return fused


def _parallel(schedule: Schedule, label: str, free: list[int]) -> Schedule:
    """Return `schedule` with the outermost loops of a batch run by threads."""
    together = [p for p in free if free[: p + 1] == list(range(p + 1))]
    loops = [Parallelize(f"{label}[{p}]") for p in together or free[:1]]
    return schedule.attempt(*loops) or schedule


def _registers(band: str, parts: _Parts, sizes: _Sizes) -> list[Transform]:
    """Return the steps for a band of columns, rows and loops of the sum."""
    tile, point = f"{band}.tile", f"{band}.point"
    if sizes.tile.vectors == 1:
        return [Tile(band, (sizes.lanes, sizes.rows)), *_vectors(tile, point, parts, sizes.rows)]
    rest, depth = f"{point}.rest", len(parts.depth)
    width = sizes.lanes * sizes.tile.vectors
    return [
        Tile(band, (width, sizes.rows)),
        *_inwards(point, 0, depth + 1),
        *_inwards(point, 0, depth),
        Separate(tile, point, (sizes.rows, width)),
        *_wide(point, parts, sizes),
        *_outwards(rest, depth + 1),
        *_outwards(rest, depth + 1, 1),
        Tile(rest, (sizes.lanes,)),
        *_vectors(f"{tile}.rest", f"{rest}.point", parts, sizes.rows),
    ]


def _wide(point: str, parts: _Parts, sizes: _Sizes) -> list[Transform]:
    """Return the steps that run rows, and several vectors of columns per row, inside the sum.

    Rows of single vectors are tiled where they need more registers than there are.
    """
    steps: list[Transform] = []
    row, rows = len(parts.depth), sizes.tile.rows
    if rows < sizes.rows:
        steps = [*_outwards(point, row), Tile(point, (rows,))]
        point = f"{point}.point"
        steps += _inwards(point, 0, row)
    if not parts.nested:
        return [*steps, Unroll(f"{point}[{row}]"), Vectorize(f"{point}[{row + 1}]")]
    sunk = [transforms.Sink(f"{point}[{row}]"), transforms.Sink(f"{point}[{row}]")]
    return [*steps, *sunk, Unroll(f"{point}.lanes[0]"), Vectorize(f"{point}.lanes2[0]")]


def _vectors(tile: str, point: str, parts: _Parts, rows: int) -> list[Transform]:
    """Return the steps for tiles of one vector of columns by `rows`, and for the remainders."""
    rest, fewer = f"{point}.rest", max(2, rows // FEWER)
    again, last = f"{rest}.point", f"{rest}.point.rest"
    depth = len(parts.depth)
    return [
        *_inwards(point, 1, depth + 1),
        Separate(tile, point, (rows,)),
        *_rows_in_lanes(point, parts),
        *_outwards(rest, depth + 1),
        Tile(rest, (fewer,)),
        *_inwards(again, 0, depth + 1),
        Separate(f"{rest}.tile", again, (fewer,)),
        *_rows_in_lanes(again, parts),
        *_outwards(last, depth + 1),
        Vectorize(f"{last}[1]"),
    ]


def _rows_in_lanes(point: str, parts: _Parts) -> list[Transform]:
    """Return the steps that run rows inside the sum, and lanes of columns outside of it."""
    place = f"{point}[{len(parts.depth) + 1}]"
    if not parts.nested:
        return [Unroll(place), Vectorize(f"{point}[0]")]
    return [transforms.Sink(place), Unroll(f"{point}.lanes[0]"), Vectorize(f"{point}[0]")]


def _inwards(band: str, start: int, end: int) -> list[Transform]:
    """Return the interchanges that move a loop inside those behind it, up to place `end`."""
    return [Interchange(f"{band}[{p}]", f"{band}[{p + 1}]") for p in range(start, end)]


def _outwards(band: str, start: int, end: int = 0) -> list[Transform]:
    """Return the interchanges that move a loop outside those before it, up to place `end`."""
    return [Interchange(f"{band}[{p - 1}]", f"{band}[{p}]") for p in range(start, end, -1)]


def _statement(schedule: Schedule, label: str) -> Statement | None:
    """Return the one statement of a nest of bands, an update whose operands are known."""
    statement = only_statement(schedule.tree, schedule.scop, label)
    if statement is None:
        return None
    own = (statement.write.array, statement.write.index)
    updates = any((read.array, read.index) == own for read in statement.reads)
    known = all(access.exact for access in (statement.write, *statement.reads))
    return statement if updates and known else None


def _parts(schedule: Schedule, label: str, statement: Statement) -> _Parts | None:
    band = find_band(schedule.tree, label)
    write = statement.write.ref
    moves = loop_moves(schedule, label, statement)
    below: Tree = band.child
    inside: list[dict[str, Stride]] = []
    while isinstance(below, Band):
        inside += loop_moves(schedule, below.label, statement)
        below = below.child
    if not isinstance(below, Leaf) or any(m[write] is not Stride.INVARIANT for m in inside):
        return None
    depth = [p for p, move in enumerate(moves) if move[write] is Stride.INVARIANT]
    terms = [*(moves[p] for p in depth), *inside]
    if not band.permutable or len(terms) < 2 or not (inside or _has_windows(statement)):
        return None
    free = [p for p, member in enumerate(band.members) if member.coincident and p not in depth]
    path, _ = path_to(schedule.tree, schedule.scop, label)
    moved = directions((*path, *band.members), schedule.scop, statement)[len(path) :]
    column = next(
        (p for p in reversed(free) if _is_column(schedule.scop, statement, moved[p])), None
    )
    if column is None:
        return None
    rows = [p for p in free if p != column and _shares(moves[p], terms, write)]
    if not rows:
        return None
    row = min(
        rows,
        key=lambda p: (
            not _shares_vectors(moves[p], moves[column], write),
            _distance(statement, moved[p]),
            -p,
        ),
    )
    batch = tuple(p for p in range(len(moves)) if p not in (row, column, *depth))
    shared = _is_shared(statement, moves[row], moves[column])
    return _Parts(batch, row, column, tuple(depth), bool(inside), shared)


def _is_column(scop: Scop, statement: Statement, direction: tuple[Fraction, ...] | None) -> bool:
    """Tell whether the loop moves the result by one element, and operands by nearly as much."""
    written, *read = (along_row(a, scop, statement, direction) for a in accesses(statement))
    return written == 1 and all(moved == 0 or is_near(moved) for moved in read)


def _shares(row: dict[str, Stride], terms: list[dict[str, Stride]], write: str) -> bool:
    """Tell whether several rows of results reuse a term's operand."""
    same = [ref for ref, step in row.items() if ref != write and step is Stride.INVARIANT]
    return any(term[ref] is not Stride.INVARIANT for ref in same for term in terms)


def _shares_vectors(row: dict[str, Stride], column: dict[str, Stride], write: str) -> bool:
    return any(
        step is Stride.INVARIANT and column[ref] is not Stride.INVARIANT
        for ref, step in row.items()
        if ref != write
    )


def _is_shared(statement: Statement, row: dict[str, Stride], column: dict[str, Stride]) -> bool:
    """Tell whether all rows use the same vectors of columns, and no two terms share a vector."""
    kept = {name for index in statement.write.index for name in _iterators(index)}
    moved = [a for a in accesses(statement)[1:] if column[a.ref] is not Stride.INVARIANT]
    return bool(moved) and all(
        row[a.ref] is Stride.INVARIANT
        and column[a.ref] is Stride.CONTIGUOUS
        and not _is_window(a, kept)
        for a in moved
    )


def _distance(statement: Statement, direction: tuple[Fraction, ...] | None) -> int:
    """Return the outermost dimension, counted from the last, along which rows move any access."""
    change = dict(zip(statement.iters, direction or (), strict=False))
    moved = {name for name, step in change.items() if step}
    return max(
        len(access.index) - dim
        for access in accesses(statement)
        for dim, index in enumerate((*access.index, None))
        if index is None or _iterators(index) & moved
    )


def _has_windows(statement: Statement) -> bool:
    """Tell whether a subscript is moved by loops of the result and by loops of the sum."""
    kept = {name for index in statement.write.index for name in _iterators(index)}
    return any(_is_window(access, kept) for access in statement.reads)


def _is_window(access: Access, kept: set[str]) -> bool:
    return any(names & kept and names - kept for names in map(_iterators, access.index))


def _iterators(index: Expr) -> frozenset[str]:
    return iterators(*(atom for atom, _ in linear(index).terms))
