"""Tile sizes of a contraction, solved for from registers and caches.

In: a `Machine`, bytes of an element.  Out: `ContractionSizes`.
Registers hold a tile of the result, the first cache a panel of the columns' operand, the second one
a block of each operand and of the result.
"""

from __future__ import annotations

from math import isqrt, sqrt

from polyopt.dataclass import dataclass
from polyopt.machine import Machine
from polyopt.model.caches import caches_of

LATENCY = 4  # cycles until the result of a multiply-add can be added to
USUAL = 2000  # iterations of a loop of which nothing is known
TURNS = 2  # blocks of the result for each thread, so that threads end together
WIDEST = 4  # vectors: columns of the result in registers; the rest of a row goes by single vectors
ENOUGH = 2.0  # multiply-adds for each load: the units for loads are half idle
SPARE = 2  # registers: a broadcast, what the compiler needs
PAIR = 2  # vectors of columns whose results are held, for each row
STEP = 8  # the depth is a multiple of it
PACKED = 9 / 16  # of the second cache: a packed block, beside rows and results that pass by
STRIPS = 4  # of results for each thread
PACKING = 8  # cycles to pack a vector of the columns' operand
BANDWIDTH = 32  # bytes that come from the second cache in a cycle
MOST_FEW = 16  # rows
LEAST = 240  # rows that share a packed block
LOADS = 2  # vectors loaded in a cycle
LEFT = 4  # times as long as in a tile takes what is left beside the tiles
STACK = 640 << 10  # bytes of a packed block: it is on the stack of a thread


@dataclass(frozen=True, slots=True)
class RegisterTile:
    """A tile of the result in registers: rows, and vectors in a row."""

    rows: int
    vectors: int


@dataclass(frozen=True, slots=True)
class ContractionSizes:
    """Tile sizes: cache blocks, and the register tile inside them; `lanes` of a vector."""

    rows: int
    columns: int
    depth: int
    register_rows: int
    register_columns: int
    lanes: int


def register_tile(machine: Machine) -> RegisterTile:
    """Return the tile for which loads keep up with multiply-adds.

    Accumulators and a row of the columns' operand fit the registers; there are enough accumulators
    to start one multiply-add after the other.  Of tiles with enough reuse the narrowest leaves the
    fewest columns over; where none has enough, the one with the most.
    """
    registers = machine.vector_registers - SPARE
    tiles = [
        RegisterTile(rows, vectors)
        for vectors in range(1, WIDEST + 1)
        for rows in range(2, registers, 2)
        if rows * vectors + vectors <= registers
    ]
    busy = [t for t in tiles if t.rows * t.vectors >= LATENCY * machine.fma_units] or tiles
    good = [tile for tile in busy if _reuse(tile) >= ENOUGH]
    if good:
        return max(good, key=lambda tile: (-tile.vectors, _reuse(tile)))
    return max(busy or [RegisterTile(1, 1)], key=lambda tile: (_reuse(tile), tile.rows))


def fitting_tile(machine: Machine, rows: int, columns: int, lanes: int) -> RegisterTile:
    """Return the tile for a result of known extents: as few products as possible are left over.

    Of tiles that take the same time, the one with the most reuse.
    """
    usual = register_tile(machine)
    registers = machine.vector_registers - SPARE
    tiles = [
        RegisterTile(height, vectors)
        for vectors in range(1, WIDEST + 1)
        for height in range(2, min(rows, registers) + 1, 2)
        if vectors * lanes <= columns and height * vectors + vectors <= registers
    ]
    best = [usual, *sorted(tiles, key=lambda tile: -_reuse(tile))]
    return min(best, key=lambda tile: _cycles(machine, tile, rows, columns, lanes))


def _cycles(machine: Machine, tile: RegisterTile, rows: int, columns: int, lanes: int) -> float:
    """Return about how many cycles the products take for each term of the sums."""
    count = tile.rows * tile.vectors
    each = max(1 / machine.fma_units, LATENCY / count, (tile.rows + tile.vectors) / count / LOADS)
    width = tile.vectors * lanes
    inside = rows // tile.rows * tile.rows * (columns // width * width)
    return each * (inside + LEFT * (rows * columns - inside)) / lanes


def held_rows(machine: Machine) -> int:
    """Return how many vectors of results to hold while the terms of their sums are added.

    One and a half times as many as additions are in flight, a multiple of four, where the registers
    suffice: more only leave more rows over.
    """
    wanted = LATENCY * machine.fma_units * 3 // 2
    return max(4, min(wanted, machine.vector_registers - 2 * SPARE) // 4 * 4)


def swept_rows(machine: Machine) -> int:
    """Return how many rows to sum along together, each term also added to what all rows share.

    As many as additions are in flight, each with registers for its sum and for a term.
    """
    return min(LATENCY * machine.fma_units, machine.vector_registers // 2 - SPARE)


def few_rows(machine: Machine) -> int:
    """Return the most rows for which packing does not pay.

    Without it, each row loads the columns' operand from the second cache once more; with it, rows
    compute at full speed.
    """
    load = machine.vector_bytes / BANDWIDTH
    compute = 1 / machine.fma_units
    return min(MOST_FEW, int(PACKING / (load - compute))) if load > compute else MOST_FEW


def few_sums(machine: Machine) -> int:
    """Return the most rows for which packing does not pay where terms, not sums, are in lanes.

    Each row then loads the columns' operand once more and multiplies, too: the products of a packed
    block hide its loads, while sums of few terms end before they would.
    """
    load = machine.vector_bytes / BANDWIDTH
    return min(MOST_FEW, int(PACKING / (load + 1 / machine.fma_units)))


def strip_length(machine: Machine, element: int) -> int:
    """Return how many results a strip has, to which terms are added while it is in L1.

    It takes half of L1; results of usual number are enough strips for all threads.
    """
    strip = machine.l1 // 2 // element
    if machine.cores > 1:
        strip = min(strip, USUAL // (STRIPS * machine.cores))
    return _multiple(strip, max(1, machine.vector_bytes // element), None)


def held_tile(machine: Machine) -> RegisterTile:
    """Return the tile of results to hold where rows share the vectors of columns.

    Single vectors take a load for each multiply-add, and one more: more than there are units for.
    Pairs take little more than half as many.  Their accumulators and a row of the columns' operand
    fit the registers, and the rows are a part of those of single vectors; where accumulators are
    then too few to start one multiply-add after the other, vectors are single.
    """
    most = held_rows(machine)
    room = (machine.vector_registers - SPARE) // PAIR - 1
    rows = next((rows for rows in range(min(most, room), 0, -1) if most % rows == 0), 0)
    if rows * PAIR < LATENCY * machine.fma_units:
        return RegisterTile(most, 1)
    return RegisterTile(rows, PAIR)


def _reuse(tile: RegisterTile) -> float:
    return tile.rows * tile.vectors / (tile.rows + tile.vectors)


def contraction_sizes(machine: Machine, element: int) -> ContractionSizes:
    """Return the sizes for elements of that many bytes, for loops of any length."""
    tile = register_tile(machine)
    lanes = max(1, machine.vector_bytes // element)
    columns = tile.vectors * lanes
    first, second, _ = caches_of(machine)
    # the panel of columns stays in L1 while panels of rows pass; one way is the result's
    share = int((first.ways - 1) / (1 + tile.rows / columns))
    depth = _multiple(max(1, share) * first.way // (columns * element), STEP, None)
    most = _block(second.room(2) // element, depth, machine.cores)
    rows = _multiple(most, tile.rows, None)
    column_block = _multiple(most, columns, None)
    return ContractionSizes(rows, column_block, depth, tile.rows, columns, lanes)


def packed_sizes(
    machine: Machine,
    element: int,
    operands: int = 1,
    extents: tuple[int | None, int | None, int | None] = (None, None, None),
    products: int | None = 1,
) -> ContractionSizes:
    """Return the sizes where a block of the columns' operands is packed and stays in the second
    cache, while panels of rows pass: results come in once for many terms.

    An element of the rows' operand comes in once for each block of columns, one of the result comes
    in and goes out once for each block of terms: with as many terms as twice the columns the bytes
    for each multiply-add are the fewest.  A block has half of these columns: half the copy beside
    the operands that pass by, and small products have blocks for all threads, too.  Where there are
    few columns, there are blocks of rows for all threads; a block has rows enough to pay for the
    copy.  `extents` are the lengths of the loops over rows, columns and depth where they are known,
    `products` the number of products that run in parallel: blocks are of one size then, and there
    are enough for all threads.
    """
    lanes = max(1, machine.vector_bytes // element)
    length, span, _ = extents
    tile = register_tile(machine)
    if length is not None and span is not None:
        tile = fitting_tile(machine, length, span, lanes)
    width = tile.vectors * lanes
    second = caches_of(machine)[1]
    room = int(min(second.size * PACKED, STACK)) // (element * max(1, operands))
    best = _multiple(isqrt(room // 2), width, None)
    columns = _multiple(best // 2, width, span)
    terms = room // best
    if span is not None and span <= width:  # the panel of a single column of tiles is for L1
        terms = min(terms, machine.l1 // (width * element))
    depth = _multiple(terms, STEP, extents[2])
    rows = _multiple(max(USUAL // (2 * TURNS * machine.cores), LEAST), tile.rows, length)
    if length is not None and span is not None and products is not None:
        blocks = products * -(-span // columns)
        share = -(-length // -(-machine.cores // blocks))  # rows for a thread of its own
        rows = min(rows, _multiple(share + tile.rows - 1, tile.rows, length))
    return ContractionSizes(rows, columns, depth, tile.rows, width, lanes)


def _block(room: int, depth: int, cores: int) -> int:
    """Return the side b of a block of the result: b * b of it and 2 * b * depth of operands fit.

    There are enough blocks of a result of usual size for all threads.
    """
    fitting = isqrt(depth * depth + room) - depth
    shared = int(USUAL / sqrt(TURNS * cores))
    return max(1, min(fitting, shared))


def _multiple(value: int, of: int, extent: int | None) -> int:
    """Return a multiple of at most `value`; a loop of known length gets pieces of one size."""
    value = max(of, value // of * of)
    if extent is None:
        return value
    pieces = max(1, -(-extent // value))
    return max(of, -(-extent // (pieces * of)) * of)
