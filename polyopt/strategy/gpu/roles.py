"""Recognize contractions: sums of products that reuse operands along loops of the result.

In: a band around one statement.  Out: the roles of its loops, or None.
"""

from __future__ import annotations

from fractions import Fraction

from polyopt.dataclass import dataclass
from polyopt.ir.expr import Iter
from polyopt.ir.linear import linear
from polyopt.ir.scop import Statement
from polyopt.schedule.schedule import Schedule
from polyopt.schedule.tree import Band, Leaf, find_band, path_to, statements_of
from polyopt.strategy.extents import constant_extent
from polyopt.strategy.strides import Stride, accesses, directions, stride_of

LEAST = 8
"""Iterations that a loop needs for a tile to be worth copies."""

ENOUGH = 32
"""Iterations that make good rows of a tile."""

_Moves = dict[str, Stride]


@dataclass(frozen=True, slots=True)
class Roles:
    """Roles of a band's loops, by position, and the operands that are copied.

    `sizes` has the maximal trip count of each loop, where it is constant.
    """

    batch: tuple[int, ...]  # move the result; no operand stays along them
    row: int  # moves the result; an operand stays
    column: int  # moves the result, another operand stays; neighbouring threads
    depth: tuple[int, ...]  # leave the result in place: the sum; the last one is tiled
    result: str
    operands: tuple[str, ...]
    sizes: tuple[int | None, ...]
    is_transposed: bool  # columns move an earlier subscript of the result than rows


def find_roles(schedule: Schedule, label: str) -> Roles | None:
    """Return the roles of the loops, or None when the band is not a contraction."""
    band = find_band(schedule.tree, label)
    if not band.permutable or len(band.members) < 3 or not isinstance(band.child, Leaf):
        return None
    path, domain = path_to(schedule.tree, schedule.scop, label)
    names = statements_of(schedule.scop, domain)
    if len(names) != 1 or schedule.scop.statement(names[0]).reduction is None:
        return None
    statement = schedule.scop.statement(names[0])
    own = directions((*path, *band.members), schedule.scop, statement)[len(path) :]
    parts = accesses(statement)
    moves = [{a.ref: stride_of(a, schedule.scop, statement, d) for a in parts} for d in own]
    sizes = tuple(constant_extent(member, domain) for member in band.members)
    write = statement.write.ref
    depth = tuple(p for p, move in enumerate(moves) if move[write] is Stride.INVARIANT)
    wide = [p for p in _result_loops(band, moves, write) if _is_wide(sizes[p])]
    deep = [p for p in depth if _is_wide(sizes[p])]
    if not deep:
        return None
    order = sorted(wide, key=lambda p: moves[p][write] is not Stride.CONTIGUOUS)
    rows = sorted(wide, key=lambda p: (_is_short(sizes[p]), -_subscript(statement, own[p]), -p))
    for column in order:
        for row in rows:
            used = () if row == column else _reused_reads(moves, row, column, deep[-1], write)
            if used:
                batch = tuple(p for p in range(len(moves)) if p not in (row, column, *depth))
                if not all(band.members[p].coincident for p in batch):
                    return None
                sums = (*(p for p in depth if p != deep[-1]), deep[-1])
                arrays = dict.fromkeys(a.array for a in parts if a.ref in used)
                operands = tuple(name for name in arrays if name != statement.write.array)
                is_transposed = _subscript(statement, own[column]) < _subscript(statement, own[row])
                result = statement.write.array
                return Roles(batch, row, column, sums, result, operands, sizes, is_transposed)
    return None


def _subscript(statement: Statement, direction: tuple[Fraction, ...] | None) -> int:
    """Return the position of the first subscript of the result that a loop moves."""
    change = dict(zip(statement.iters, direction or (), strict=False))
    for number, index in enumerate(statement.write.index):
        if sum(change.get(a.name, 0) * c for a, c in linear(index).terms if isinstance(a, Iter)):
            return number
    return len(statement.write.index)


def _result_loops(band: Band, moves: list[_Moves], write: str) -> list[int]:
    return [
        p
        for p, move in enumerate(moves)
        if band.members[p].coincident and move[write] is not Stride.INVARIANT
    ]


def _is_wide(size: int | None) -> bool:
    return size is None or size >= LEAST


def _is_short(size: int | None) -> bool:
    return size is not None and size < ENOUGH


def _reused_reads(
    moves: list[_Moves], row: int, column: int, depth: int, write: str
) -> tuple[str, ...]:
    """Return the reads invariant along one of two loops, if there are some for both."""
    along: dict[bool, list[str]] = {}
    for ref, step in moves[depth].items():
        stays = moves[row][ref] is Stride.INVARIANT, moves[column][ref] is Stride.INVARIANT
        if ref != write and step is not Stride.INVARIANT and stays[0] != stays[1]:
            along.setdefault(stays[0], []).append(ref)
    return tuple(ref for refs in along.values() for ref in refs) if len(along) == 2 else ()
