"""Carry a maximum and the sums of exponentials below it over blocks of columns, as in attention.

In: a program of which a product makes rows, a maximum of each row is subtracted, and sums of
products with the exponentials follow.  Out: one kernel (`transforms/online.py`): a block for each
tile of rows; its threads compute blocks of columns one after another, elements of the rows in
registers, exponentials in shared memory.  Groups of lanes combine maxima and sums by shuffles; the
first lane of each keeps what a row has.
Products for matrix instructions have their results in fragments: elements of rows are passed on in
shared memory, and exponentials are copied there once more, zeros around them.
Leaves: what the rule for processors leaves, sums of products that fill no tile, and devices without
shuffles, where the threads of a block would wait twice for each row.
The scheme is Dao et al., "FlashAttention", 2022.
"""

from __future__ import annotations

from contextlib import suppress

from polyopt.dataclass import replace
from polyopt.ir.budget import optional
from polyopt.schedule.contraction import contraction_loops
from polyopt.schedule.running_sums import maxima, sums_of_products
from polyopt.schedule.schedule import Schedule
from polyopt.schedule.tree import (
    Sequence,
    bands,
    find_band,
    fresh_label,
    only_statement,
)
from polyopt.strategy.gpu.contraction import GRID, tile_contraction
from polyopt.strategy.gpu.mapped_loops import bands_around, is_mapped, labels_in_sequence
from polyopt.strategy.gpu.matrices import WarpTile, matrix_sizes
from polyopt.strategy.gpu.model import GpuModel
from polyopt.strategy.gpu.partial_reductions import StepRefused, apply_steps, last_join
from polyopt.strategy.gpu.roles import Roles, find_roles
from polyopt.strategy.gpu.tiles import DEPTH, WIDE, TileSizes
from polyopt.strategy.tiling import outer_bands
from polyopt.transforms import (
    Combine,
    Dimension,
    Distribute,
    Fuse,
    Grid,
    Interchange,
    LayOut,
    Online,
    Rfactor,
    Strip,
    Threads,
    Tile,
    Unroll,
)
from polyopt.transforms.layout import Part

BUDGET = 60_000_000  # isl operations for one maximum
OWN = ((4, 4), (4, 2), (2, 2))
"""Rows and columns of a thread, the first that fit in shared memory are taken."""
SIDE = 16
"""Threads along rows and along columns of a tile."""
WARPS = (4, 2)
"""Warps along rows and along columns of a tile, with matrix instructions."""


class _HasMatrices(Exception):
    """A product is for matrix instructions."""


def map_online_sums(schedule: Schedule, device: GpuModel) -> Schedule:
    """Return `schedule` with a kernel for each maximum that has such sums."""
    for top in list(maxima(schedule.scop)):
        with optional("sums below a maximum", BUDGET):
            schedule = _mapped(schedule, top.name, device) or schedule
    return schedule


def _mapped(schedule: Schedule, name: str, device: GpuModel) -> Schedule | None:
    group = sums_of_products(schedule.scop, name) if device.shuffles else None
    if group is None:
        return None
    for matrices in (False, True):
        sizes = _fitting(device, group.top.target.dtype.size, matrices)
        with suppress(StepRefused, _HasMatrices):
            return (
                None if sizes is None else _Nest(schedule, name, sizes, device, matrices).on_grid()
            )
    return None


def _fitting(device: GpuModel, size: int, matrices: bool) -> TileSizes | None:
    """Return the largest tiles whose exponentials and operands fit in shared memory.

    `matrices`: there have to be elements of rows and another copy of exponentials, too.
    """
    wide = WIDE // size
    for own_rows, own_columns in OWN if min(device.block, device.threads) >= SIDE**2 else ():
        rows, columns = own_rows * SIDE, own_columns * SIDE
        operands = DEPTH * ((2 if matrices else 1) * rows + 2 * columns + 4 * wide)
        elements = (2 if matrices else 1) * columns * rows
        if (elements + operands) * size <= device.shared * 7 // 8:  # numbers of rows, too
            return TileSizes(rows, columns, DEPTH, own_rows, own_columns, min(own_columns, wide))
    return None


class _Nest:
    """Maps the nest that one step makes; every method raises `StepRefused` where that fails."""

    def __init__(
        self,
        schedule: Schedule,
        maximum: str,
        sizes: TileSizes,
        device: GpuModel,
        matrices: bool,
    ) -> None:
        self.sizes, self.device, self.matrices = sizes, device, matrices
        known = {band.label for band in bands(schedule.tree)}
        self.schedule = apply_steps(schedule, Online(maximum, sizes.rows, sizes.columns))
        made = [band.label for band in bands(self.schedule.tree) if band.label not in known]
        self.label = made[0]
        around = bands_around(self.schedule, maximum)
        self.blocks = around[[band.label for band in around].index(self.label) + 1].label

    def on_grid(self) -> Schedule:
        """Return the schedule with the nest as a kernel."""
        self.distribute()
        for label in self.parts():
            if label in self.parts():  # not fused with another product
                roles = find_roles(self.schedule, label)
                if roles is not None:
                    self.product(label, roles)
        for label in self.parts():
            self.part(label)
        self.join_next()
        count = len(find_band(self.schedule.tree, self.label).members)
        loops = tuple(f"{self.label}[{p}]" for p in range(min(count, GRID)))
        return apply_steps(self.schedule, Grid(loops))

    def parts(self) -> list[str]:
        """Return the bands in and around the blocks that no thread runs yet."""
        tree = self.schedule.tree
        found = outer_bands(find_band(tree, self.label).child)
        place = found.index(self.blocks)
        found[place : place + 1] = outer_bands(find_band(tree, self.blocks).child)
        return [label for label in found if not is_mapped(find_band(tree, label))]

    def distribute(self) -> None:
        """Give every statement loops of its own."""
        while shared := [
            label
            for label in self.parts()
            if isinstance(find_band(self.schedule.tree, label).child, Sequence)
        ]:
            self.schedule = apply_steps(self.schedule, Distribute(shared[0]))

    def product(self, label: str, roles: Roles) -> None:
        """Tile a product; an operand that the block computes is in shared memory already.

        Raises `_HasMatrices` where the sizes of tiles are not for matrix instructions.
        """
        homes = contraction_loops(self.schedule.scop, self.schedule.tree)
        own = [name for name in roles.operands if homes.get(name, "").startswith(self.blocks)]
        sizes, warp = self.sizes, None
        matrix = matrix_sizes(self.schedule, label, roles, sizes, self.device)
        if matrix is not None:
            if not self.matrices:
                raise _HasMatrices
            sizes = replace(sizes, depth=matrix[0].depth)
            warp = WarpTile(sizes.rows // WARPS[0], sizes.columns // WARPS[1])
        elif own:
            roles = replace(roles, operands=tuple(n for n in roles.operands if n not in own))
        tiled = tile_contraction(self.schedule, label, roles, sizes, warp)
        if tiled is None:
            raise StepRefused
        self.schedule = tiled.schedule
        for name in own if warp is None else ():
            self.transpose(name)

    def transpose(self, name: str) -> None:
        """Keep the neighbouring rows of a thread side by side, in rows without bank conflicts."""
        array = self.schedule.scop.array(name)
        *others, row, column = range(len(array.shape))
        wide = WIDE // array.dtype.size
        order = (*map(Dimension, others), Dimension(column), Dimension(row, Part.PADDED, wide))
        self.schedule = self.schedule.attempt(LayOut(name, order)) or self.schedule

    def part(self, label: str) -> None:
        """Give each thread its rows of a nest, and its columns where it has columns."""
        band = find_band(self.schedule.tree, label)
        statement = only_statement(self.schedule.tree, self.schedule.scop, label)
        rows = Strip(f"{label}[0]", self.sizes.own_rows)
        if not band.members[0].coincident or statement is None or len(band.members) > 2:
            raise StepRefused
        if len(band.members) == 1:
            self.schedule = apply_steps(self.schedule, rows, Threads((f"{label}[0]",)))
        elif band.members[1].coincident:
            self.points(label, 0)
        else:
            columns = Strip(f"{label}[2]", self.sizes.own_columns)
            swap = Interchange(f"{label}[1]", f"{label}[2]")
            self.schedule = apply_steps(self.schedule, rows, columns, swap)
            self.combine(label, statement.name)

    def points(self, label: str, outer: int) -> None:
        """Run the last two loops of a band in tiles, whose points threads share."""
        point = fresh_label(self.schedule.tree, f"{label}.point")
        row, column = self.sizes.own_rows, self.sizes.own_columns
        tile = Tile(label, (*[1] * outer, self.sizes.rows, self.sizes.columns))
        first, second, third = (f"{point}[{outer + n}]" for n in range(3))
        steps = (tile, Strip(first, row), Strip(third, column), Interchange(second, third))
        self.schedule = apply_steps(self.schedule, *steps, Threads((first, second)))

    def combine(self, label: str, name: str) -> None:
        """Reduce the columns of each thread, then those of the lanes of a row."""
        found = apply_steps(self.schedule, Rfactor(name, f"{label}[1]"), Distribute(label))
        join = last_join(found)
        around = [band.label for band in bands_around(found, name)]
        own = around[around.index(self.blocks) + 1]
        found = apply_steps(found, Threads((f"{own}[0]", f"{own}[1]")))
        last = bands_around(found, join)[-1].label
        rows, lanes, each = (f"{last}[{n}]" for n in range(3))
        order = Interchange(lanes, each), Interchange(rows, lanes)
        threads, combined = Threads((lanes,)), Combine(each)
        self.schedule = apply_steps(found, *order, threads, combined, Unroll(rows))

    def join_next(self) -> None:
        """Fuse the nests that follow over the same rows, as where sums are divided."""
        labels = labels_in_sequence(self.schedule, self.label)
        for label in labels[labels.index(self.label) + 1 :]:
            before = self.schedule
            try:
                self.join(label)
            except StepRefused:
                self.schedule = before
                return

    def join(self, label: str) -> None:
        count = len(find_band(self.schedule.tree, self.label).members)
        band = find_band(self.schedule.tree, label)
        if is_mapped(band) or len(band.members) != count + 1:
            raise StepRefused
        tile = fresh_label(self.schedule.tree, f"{label}.tile")
        self.points(label, count - 1)
        self.schedule = apply_steps(self.schedule, Fuse(self.label, tile, count))
        if not all(m.coincident for m in find_band(self.schedule.tree, self.label).members):
            raise StepRefused
