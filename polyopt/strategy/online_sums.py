"""Carry a maximum and the sums of exponentials below it over blocks of columns, as in attention.

In: the source's order of a program; a product makes rows, a maximum of each row is subtracted, and
sums of products with the exponentials follow.  Out: one nest over tiles of rows, parallel, and
blocks of columns (`transforms/online.py`), in which the products are tiled for registers: no row of
the first product is in memory.
Leaves: exponentials that others read, too, since they would be computed twice; rows that no product
makes; sums that are numbers, as in a softmax: these passes stay in the cache as they are.
"""

from __future__ import annotations

from math import lcm

from polyopt.dataclass import replace
from polyopt.ir.affine import is_box
from polyopt.machine import Machine
from polyopt.model.contraction import ContractionSizes, contraction_sizes, register_tile
from polyopt.schedule.running_sums import RunningSums, maxima, sums_of_products
from polyopt.schedule.schedule import Schedule, attempt_each
from polyopt.schedule.tree import bands, find_band, only_statement
from polyopt.strategy.contraction import find_roles, tile_inner_product
from polyopt.strategy.vector import is_innermost, vectorize_band
from polyopt.transforms import Online, Parallelize

ROWS = 128
"""Rows of a tile, about: they share the packed blocks of both products."""
COLUMNS = 240
"""Columns of a block, about: exponentials of the tile stay in the second cache."""


def carry_sums(schedule: Schedule, machine: Machine) -> Schedule:
    """Return `schedule` with each maximum that has such sums in a nest with them."""
    for top in list(maxima(schedule.scop)):
        schedule = _carried(schedule, top.name, machine) or schedule
    return schedule


def _carried(schedule: Schedule, name: str, machine: Machine) -> Schedule | None:
    group = sums_of_products(schedule.scop, name)
    if group is None:
        return None
    size = group.top.target.dtype.size
    block = _block(group, machine, size)
    labels = {band.label for band in bands(schedule.tree)}
    found = schedule.attempt(Online(name, block.rows, block.columns))
    if found is None:
        return None
    made = [band.label for band in bands(found.tree) if band.label not in labels]
    products = [label for label in made if find_roles(found, label) is not None]
    summed = {one.statement.name for one in group.sums}
    for label in products:
        statement = only_statement(found.tree, found.scop, label)
        own = block
        if statement is not None and statement.name in summed:  # over the columns of a block
            own = replace(block, depth=block.columns)
        found = tile_inner_product(found, label, machine, own) or found
    inner = [b.label for b in bands(found.tree) if b.label not in labels and is_innermost(b)]
    for label in inner:
        found = vectorize_band(found, label)
    nest = find_band(found.tree, made[0])
    rows = [Parallelize(f"{nest.label}[{n}]") for n in range(len(nest.members))]
    return attempt_each(found, rows)


def _block(group: RunningSums, machine: Machine, size: int) -> ContractionSizes:
    """Return the tile of rows and columns and the register tile in it.

    A panel of the columns' operand stays in the first cache where rows have different lengths, as
    in causal attention: there it is packed for each tile of columns.
    """
    tile = register_tile(machine)
    lanes = max(1, machine.vector_bytes // size)
    width = tile.vectors * lanes
    most = COLUMNS
    if not all(is_box(s.domain) for s in group.statements):
        most = min(most, machine.l1 // (width * size))
    columns = max(width, most // width * width)
    depth = contraction_sizes(machine, size).depth
    rows = lcm(tile.rows, 2)
    rows *= max(1, ROWS // rows)
    return ContractionSizes(rows, columns, depth, tile.rows, width, lanes)
