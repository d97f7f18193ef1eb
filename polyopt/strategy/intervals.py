"""Block dynamic programming over intervals: elements combine pairs to their left and below.

In: a permutable band of two loops around a loop over splits, whose update reads two elements of its
own array: one earlier along the first loop, the other along the second (the best cut of an
interval: RNA structures, orders of products, parsing).
Out: a wavefront of tiles; in each tile first all splits between elements of earlier tiles, a
contraction in register tiles, then the others, row by row in lanes.  As in Galil and Park,
"Parallel algorithms for dynamic programming recurrences with more than O(1) dependency", 1994.
"""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from polyopt import transforms
from polyopt.dataclass import dataclass
from polyopt.ir.scop import Statement
from polyopt.machine import Machine
from polyopt.schedule.commutative_updates import is_own
from polyopt.schedule.schedule import Schedule, Transform
from polyopt.schedule.tree import (
    Band,
    Leaf,
    Sequence,
    bands,
    find_band,
    only_statement,
    path_to,
    statement_function,
)
from polyopt.strategy.blocked_factorization import BlockSizes, register_tile
from polyopt.strategy.contraction import find_roles
from polyopt.strategy.interchanges import order_steps
from polyopt.transforms import Distribute, Interchange, Parallelize, Skew, Tile


@dataclass(frozen=True, slots=True)
class _Operand:
    """An operand of the update, written where loop `loop` is `sign * split + offset`."""

    loop: int
    sign: int
    offset: int


@dataclass(frozen=True, slots=True)
class _Splits:
    """The nest over splits and its operands: `grows` with the split, `falls` against it."""

    inner: str
    grows: _Operand
    falls: _Operand
    size: int


def intervals(schedule: Schedule, label: str, machine: Machine) -> Schedule | None:
    """Return `schedule` with the intervals at band `label` in blocks, or None for other nests."""
    found = _find(schedule, label)
    if found is None:
        return None
    sizes = BlockSizes.of(machine, found.size)
    apart = schedule.attempt(*_blocks(find_band(schedule.tree, label), found, sizes.block))
    if apart is None:
        return None
    far = [band.label for band in bands(apart.tree) if band.label.startswith(f"{label}.point.0")]
    products = [one for one in far if not path_to(apart.tree, apart.scop, one)[1].is_empty()]
    return _register_tiles(apart, products[0], sizes) if len(products) == 1 else None


def _blocks(band: Band, found: _Splits, block: int) -> list[Transform]:
    """Return the steps that run splits between elements of earlier tiles first in each tile."""
    label, names = band.label, [f"{member.name}_tile" for member in band.members]
    column, row = found.grows.loop, found.falls.loop
    near = f"{block}*{names[column]} - {found.grows.offset}"
    below = f"{found.falls.offset + 1} - {block}*{names[row]}"
    tile, point = f"{label}.tile", f"{label}.point"
    order = [Interchange(f"{point}[1]", f"{point}[2]")]
    if row != 0:
        order.insert(0, Interchange(f"{point}[0]", f"{point}[1]"))
    steps: list[Transform] = [
        *_nest_last(band),
        transforms.Embed(found.inner, f"{label}[{column}]"),
        Tile(label, (block, block)),
        *order,
        transforms.Split(f"{point}[1]", transforms.read_amount(below, {})),
        transforms.Split(f"{point}.high[0]", transforms.read_amount(near, {})),
        transforms.Reorder(point, (1, 0, 2)),
        Distribute(point, 1, -2),
    ]
    if isinstance(band.child, Sequence):
        steps += [
            Distribute(f"{point}.0"),
            Distribute(f"{point}.low", 1),
            Distribute(f"{point}.high.high", 1),
        ]
    return [*steps, Skew(f"{tile}[0]", f"{tile}[1]", 1), Parallelize(f"{tile}[1]")]


def _nest_last(band: Band) -> list[Transform]:
    """Return the step that moves the nest in the band's body behind the other statements."""
    parts = band.child.parts if isinstance(band.child, Sequence) else ()
    order = sorted(range(len(parts)), key=lambda n: isinstance(parts[n].child, Band))
    is_kept = order == list(range(len(parts)))
    return [] if is_kept else [transforms.Reorder(band.label, tuple(order))]


def _register_tiles(schedule: Schedule, label: str, sizes: BlockSizes) -> Schedule | None:
    """Return `schedule` with the contraction at band `label` in register tiles, or None."""
    roles = find_roles(schedule, label)
    if roles is None or roles.batch:
        return None
    order = (roles.row, roles.column, roles.depth)
    steps = order_steps(label, find_band(schedule.tree, label), order)
    return schedule.attempt(*steps, *register_tile(label, sizes))


def _find(schedule: Schedule, label: str) -> _Splits | None:
    """Return the nest over splits in the band, or None for other nests."""
    band = find_band(schedule.tree, label)
    below = list(bands(band.child))
    if not band.permutable or len(band.members) != 2 or len(below) != 1:
        return None
    (inner,) = below
    statement = only_statement(schedule.tree, schedule.scop, inner.label)
    if len(inner.members) != 1 or not isinstance(inner.child, Leaf) or statement is None:
        return None
    if not any(is_own(statement, access) for access in statement.reads):
        return None
    operands = set(_operands(schedule, band, inner, statement))
    if {one.sign for one in operands} != {1, -1} or len(operands) != 2:
        return None
    falls, grows = sorted(operands, key=lambda one: one.sign)
    if falls.loop == grows.loop:
        return None
    size = schedule.scop.array(statement.target.array).dtype.size
    return _Splits(inner.label, grows, falls, size)


def _operands(
    schedule: Schedule, band: Band, inner: Band, statement: Statement
) -> Iterator[_Operand]:
    """Yield the operands of the update that are elements of its own array."""
    scop, name = schedule.scop, statement.name
    _, domain = path_to(schedule.tree, scop, inner.label)
    own = domain.extract_set(statement.domain.get_space())
    split = statement_function(inner.members[0], scop, name)
    for access in statement.reads:
        if access.array != statement.target.array or is_own(statement, access):
            continue
        makers = access.relation.apply_range(statement.write.relation.reverse())
        for number, member in enumerate(band.members):
            made = statement_function(member, scop, name)
            values = makers.apply_range(isl.Map.from_pw_aff(made)).intersect_domain(own)
            if values.is_empty() or not values.is_single_valued():
                continue
            value = isl.PwMultiAff.from_map(values).get_pw_aff(0)
            for sign in (1, -1):
                offset = _constant(value.sub(split) if sign == 1 else value.add(split), own)
                if offset is not None:
                    yield _Operand(number, sign, offset)


def _constant(value: isl.PwAff, domain: isl.Set) -> int | None:
    """Return the constant that `value` is everywhere in `domain`, or None."""
    pieces: list[isl.Aff] = []
    value.gist(domain).coalesce().foreach_piece(lambda _, piece: pieces.append(piece))
    if len(pieces) != 1 or not pieces[0].is_cst():
        return None
    return int(pieces[0].get_constant_val().to_python())
