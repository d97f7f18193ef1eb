"""Pipeline loops of a block that copy tiles: the next copies overlap with the computation.

In: a schedule mapped to a device.  Out: the same with loops that begin with copies in stages, as
many as fit in shared memory.
"""

from __future__ import annotations

from math import prod

from polyopt.ir.expr import Const, Load
from polyopt.ir.loops import LoopKind
from polyopt.ir.names import iterators
from polyopt.ir.scop import Statement
from polyopt.schedule.contraction import contraction_loops
from polyopt.schedule.schedule import Schedule
from polyopt.schedule.tree import (
    Band,
    Filter,
    Sequence,
    Tree,
    bands,
    children,
    path_to,
    statements_of,
)
from polyopt.strategy.gpu.model import GpuModel
from polyopt.transforms import Pipeline

MOST = 3
"""Stages of a pipeline: what is copied has two iterations' time."""
SHARE = 2
"""Blocks that should have room beside each other."""
LARGE = 2**31
"""Elements of a dimension that no number bounds."""


def pipeline_copies(schedule: Schedule, device: GpuModel) -> Schedule:
    """Return `schedule` with such loops pipelined."""
    homes = contraction_loops(schedule.scop, schedule.tree)  # pipelines change none
    for grid in _grids(schedule.tree):
        is_fast = _has_matrices(grid, device)
        room = device.asked if is_fast else device.shared
        left = room - sum(_sizes(schedule, grid, homes).values())
        written = {statement.write.array for statement in _statements(schedule, grid)}
        for band in bands(grid):
            copied = _copied(schedule, band, homes, written)
            stages = _stages(copied, left, room if is_fast else room // SHARE)
            if stages > 1:
                found = schedule.attempt(Pipeline(_last(band), stages))
                if found is not None:
                    schedule = found
                    left -= (stages - 1) * copied
    return schedule


def _stages(copied: int, left: int, most: int) -> int:
    """Return the number of stages of `copied` bytes that fit; three may take `most` in all."""
    if copied == 0:
        return 1
    if MOST * copied <= most and (MOST - 1) * copied <= left:
        return MOST
    return 2 if copied <= left else 1


def _has_matrices(grid: Band, device: GpuModel) -> bool:
    """Tell whether blocks use matrix instructions, for which two stages are too few."""
    members = (member for band in bands(grid) for member in band.members)
    return device.matrices and any(member.kind is LoopKind.MATRIX for member in members)


def _grids(tree: Tree) -> list[Band]:
    """Return the outermost bands whose loops run across blocks."""
    if isinstance(tree, Band) and any(m.kind is LoopKind.BLOCK for m in tree.members):
        return [tree]
    return [grid for child in children(tree) for grid in _grids(child)]


def _last(band: Band) -> str:
    return f"{band.label}[{len(band.members) - 1}]"


def _copied(schedule: Schedule, band: Band, homes: dict[str, str], written: set[str]) -> int:
    """Return the bytes that all threads copy first in each iteration of a band's last loop.

    0 where the loop is not sequential, where one thread copies, or more than an iteration's part,
    or elements that blocks have `written`.
    """
    if band.members[-1].kind is not LoopKind.SEQUENTIAL or not isinstance(band.child, Sequence):
        return 0
    total = 0
    for part in band.child.parts:
        statements = _statements(schedule, band, part)
        if not all(map(_is_copy, statements)):
            break
        read = {access.array for s in statements for access in s.reads}
        if not _is_distributed(part.child) or read & written:
            return 0
        if any(homes.get(s.write.array) != _last(band) for s in statements):
            return 0
        total += sum(_size(schedule, s, homes) for s in statements)
    return total


def _statements(schedule: Schedule, band: Band, part: Filter | None = None) -> list[Statement]:
    _, domain = path_to(schedule.tree, schedule.scop, band.label)
    domain = domain if part is None else domain.intersect(part.domain)
    return [schedule.scop.statement(name) for name in statements_of(schedule.scop, domain)]


def _is_copy(statement: Statement) -> bool:
    return statement.origin is not None and not statement.origin.statement


def _is_distributed(tree: Tree) -> bool:
    return any(member.kind is LoopKind.THREAD for band in bands(tree) for member in band.members)


def _sizes(schedule: Schedule, grid: Band, homes: dict[str, str]) -> dict[str, int]:
    """Return the bytes of arrays that only copies of a grid's blocks fill."""
    inside = _statements(schedule, grid)
    computed = {statement.write.array for statement in inside if not _is_copy(statement)}
    return {
        statement.write.array: _size(schedule, statement, homes)
        for statement in inside
        if statement.write.array in homes and statement.write.array not in computed
    }


def _size(schedule: Schedule, statement: Statement, homes: dict[str, str]) -> int:
    """Return the bytes of a copied array that an iteration of its loop needs."""
    assert isinstance(statement.target, Load)
    array = schedule.scop.array(statement.target.array)
    label, _, position = homes[array.name].removesuffix("]").rpartition("[")
    above, _ = path_to(schedule.tree, schedule.scop, label)
    around = set(statement.iters[: len(above) + int(position) + 1])
    extents = [
        int(extent.value.real) if isinstance(extent, Const) else LARGE
        for index, extent in zip(statement.target.index, array.shape, strict=True)
        if not iterators(index) <= around
    ]
    return prod(extents) * array.dtype.size
