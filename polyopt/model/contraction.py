"""Tile sizes of a contraction, solved for from registers and caches.

In: a `Machine`, bytes of an element.  Out: `ContractionSizes`.
Registers hold a tile of the result, the first cache a panel of the columns' operand, the second one
a block of the rows' operand, the third one the columns' operand.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

from polyopt.machine import Machine
from polyopt.model.caches import caches_of

LATENCY = 4  # cycles until the result of a multiply-add can be added to
USUAL = 2000  # iterations of a loop of which nothing is known
COPY = 8  # rows of multiply-adds that take as long as copying the columns' operand
WIDEST = 4  # vectors: columns of the result in registers; the rest of a row goes by single vectors
STEP = 8  # the depth is a multiple of it


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
    """Return the tile with the most multiply-adds for each vector and element that is loaded.

    Accumulators, a row of the columns' operand and one broadcast fit the registers; there are
    enough accumulators to start one multiply-add after the other.
    """
    registers = machine.vector_registers
    tiles = [
        RegisterTile(rows, vectors)
        for vectors in range(1, WIDEST + 1)
        for rows in range(1, registers)
        if rows * vectors + vectors + 1 <= registers
    ]
    busy = [t for t in tiles if t.rows * t.vectors >= LATENCY * machine.fma_units]
    return max(busy or tiles or [RegisterTile(1, 1)], key=_reuse)


def _reuse(tile: RegisterTile) -> tuple[float, int]:
    return tile.rows * tile.vectors / (tile.rows + tile.vectors), tile.rows


def contraction_sizes(
    machine: Machine,
    element: int,
    tile: RegisterTile | None = None,
    extents: tuple[int | None, int | None, int | None] = (None, None, None),
) -> ContractionSizes:
    """Return the sizes for elements of that many bytes.

    `tile` is the register tile where it is chosen already; `extents` are the lengths of the loops
    over rows, columns and depth where they are known.
    """
    tile = tile or register_tile(machine)
    lanes = max(1, machine.vector_bytes // element)
    columns = tile.vectors * lanes
    first, second, third = caches_of(machine, machine.cores)
    # the panel of columns stays in L1 while panels of rows pass; one way is the result's
    share = int((first.ways - 1) / (1 + tile.rows / columns))
    depth = _multiple(max(1, share) * first.way // (columns * element), STEP, extents[2])
    rows = second.room(2) // (depth * element)
    rows = _multiple(min(rows, _shared_rows(machine, extents[0] or USUAL)), tile.rows, extents[0])
    column_block = third.room(1) // (depth * element)
    column_block = _multiple(min(column_block, USUAL // 2), columns, extents[1])
    return ContractionSizes(rows, column_block, depth, tile.rows, columns, lanes)


def _shared_rows(machine: Machine, extent: int) -> int:
    """Return how many rows a thread takes at a time.

    Each block of rows copies the columns' operand, COPY / rows of the work; at the end a thread
    waits for half a block, cores * rows / (2 * extent) of the work.  The sum is least here.
    """
    return max(1, isqrt(2 * extent * COPY // machine.cores))


def _multiple(value: int, of: int, extent: int | None) -> int:
    """Return a multiple of at most `value`; a loop of known length gets pieces of one size."""
    value = max(of, value // of * of)
    if extent is None:
        return value
    pieces = max(1, -(-extent // value))
    return max(of, -(-extent // (pieces * of)) * of)
