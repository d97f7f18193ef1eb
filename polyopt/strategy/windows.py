"""Temporaries of rows that run in parallel: a row for each hand instead of one for each iteration.

In: a schedule with parallel loops.  Out: hands of iterations in parallel, the iterations of a hand
in turn, in the same cells of the temporaries that each of them makes and uses.
Leaves: temporaries that one iteration alone keeps in a few cells, as many as the program says.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import islpy as isl

from polyopt.ir.expr import Const, Iter
from polyopt.ir.loops import LoopKind
from polyopt.ir.scop import Array, Scop, Statement
from polyopt.machine import Machine
from polyopt.schedule.contraction import contraction_nests
from polyopt.schedule.isl_bridge import coefficients
from polyopt.schedule.schedule import Schedule
from polyopt.schedule.sizes import value_of
from polyopt.schedule.tree import Band, BandMember, bands, find_band, statement_function
from polyopt.transforms import Contract, Deal, Parallelize, Tile

HANDS = 4  # for each core: a late one does not keep the others waiting for long


def share_rows(schedule: Schedule, machine: Machine, skip: Collection[str] = ()) -> Schedule:
    """Return `schedule` with what parallel iterations keep for themselves in fewer cells.

    The nests in `skip`, and what steps made of them, are left alone.
    """
    nests = None
    for label in [band.label for band in bands(schedule.tree)]:
        if any(label == nest or label.startswith(f"{nest}.") for nest in skip):
            continue
        band = find_band(schedule.tree, label)
        kinds = [member.kind for member in band.members]
        if LoopKind.PARALLEL in kinds:
            before = schedule
            nests = nests or contraction_nests(schedule.scop, schedule.tree)
            schedule = _shared(schedule, band, kinds.index(LoopKind.PARALLEL), nests, machine)
            nests = nests if schedule is before else None
    return schedule


def _shared(
    schedule: Schedule,
    band: Band,
    position: int,
    nests: Mapping[str, tuple[str, ...]],
    machine: Machine,
) -> Schedule:
    rows, hands = f"{band.label}[{position}]", HANDS * machine.cores
    contracts = fewer_cells(schedule, rows, nests, hands)
    if not contracts:
        return schedule
    dealt = schedule.attempt(Deal(rows, hands))
    if dealt is None:
        return schedule
    found = False
    for contract in contracts:
        fewer = dealt.attempt(contract)
        if fewer is not None:
            dealt, found = fewer, True
    return (dealt.attempt(Parallelize(rows)) if found else None) or schedule


def fewer_cells(
    schedule: Schedule, rows: str, nests: Mapping[str, tuple[str, ...]], hands: int
) -> list[Contract]:
    """Return what lets a hand's iterations of loop `rows` take turns with the same cells.

    `nests` has for each temporary the loops that its values stay inside.
    """
    return [
        Contract(name, sizes)
        for name, homes in nests.items()
        if rows in homes and (sizes := _sizes(schedule, name, homes, rows, hands))
    ]


def _sizes(
    schedule: Schedule, name: str, homes: tuple[str, ...], rows: str, hands: int
) -> tuple[int, ...]:
    """Return cells per dimension: one a hand, one for loops of a life, all of the others; or ()."""
    scop = schedule.scop
    array = scop.array(name)
    uses = [a for s in scop.statements for a in (s.write, *s.reads) if a.array == name]
    writer = next((s for s in scop.statements if s.target.array == name), None)
    if writer is None or not all(access.exact for access in uses):
        return ()
    cells: dict[str, int] = {}
    own: set[str] = set()  # iterators that count rows, or the rows of a tile
    for home in homes:
        member = _member(schedule, home)
        it = _iterator(member, scop, writer.name)
        if it is not None:
            cells[it] = hands if home == rows else 1
        elif home == rows:
            moved, size = _strips(member, scop, writer), _tile_size(schedule, rows)
            it = moved[0] if len(moved) == 1 and size else None
            cells |= {} if it is None else {it: hands * size}
        own |= {it} if it is not None and home == rows else set()
    index = writer.target.index
    sizes = tuple(cells.get(part.name, 0) if isinstance(part, Iter) else 0 for part in index)
    strips = {it for home in homes for it in _strips(_member(schedule, home), scop, writer)}
    whole = tuple(not (isinstance(part, Iter) and part.name in strips) for part in index)
    shares = any(isinstance(part, Iter) and part.name in own for part in index)
    return sizes if shares and _is_large(array, sizes, whole) else ()


def _tile_size(schedule: Schedule, loop: str) -> int:
    """Return how many iterations a loop over tiles has in one of its own; 0 for any other loop."""
    label, _, position = loop.partition("[")
    for step in schedule.trace:
        if isinstance(step, Tile) and label == f"{step.band}.tile":
            return value_of(step.sizes[int(position.rstrip("]"))])
    return 0


def _is_large(array: Array, sizes: tuple[int, ...], whole: tuple[bool, ...]) -> bool:
    """Tell whether an iteration's own cells are as many as a size of the program says.

    Of dimensions that are not `whole`, an iteration has a strip only.
    """
    kept = zip(array.shape, sizes, whole, strict=True)
    return any(size == 0 and far and not isinstance(extent, Const) for extent, size, far in kept)


def _strips(member: BandMember, scop: Scop, statement: Statement) -> list[str]:
    """Return the iterators that a loop moves, by strips or one by one."""
    values: list[isl.Aff] = []
    function = statement_function(member, scop, statement.name)
    function.foreach_piece(lambda _, value: values.append(value))
    return [
        name
        for position, name in enumerate(statement.iters)
        if any(value.involves_dims(isl.dim_type.in_, position, 1) for value in values)
    ]


def _member(schedule: Schedule, home: str) -> BandMember:
    label, _, position = home.partition("[")
    return find_band(schedule.tree, label).members[int(position.rstrip("]"))]


def _iterator(member: BandMember, scop: Scop, statement: str) -> str | None:
    """Return the iterator that a loop counts for a statement, None where it counts another way."""
    found = [(name, number) for name, number in coefficients(member, scop, statement).items()]
    moved = [name for name, number in found if number != 0]
    return moved[0] if len(moved) == 1 and dict(found)[moved[0]] == 1 else None
