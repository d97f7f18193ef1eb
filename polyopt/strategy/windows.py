"""Temporaries of rows that run in parallel: a row for each hand instead of one for each iteration.

In: a schedule with parallel loops.  Out: hands of iterations in parallel, the iterations of a hand
in turn, in the same cells of the temporaries that each of them makes and uses.
Leaves: temporaries that one iteration alone keeps in a few cells, as many as the program says.
"""

from __future__ import annotations

from polyopt.ir.expr import Const, Iter
from polyopt.ir.loops import LoopKind
from polyopt.ir.scop import Array, Scop
from polyopt.machine import Machine
from polyopt.schedule.contraction import contraction_nests
from polyopt.schedule.isl_bridge import coefficients
from polyopt.schedule.schedule import Schedule
from polyopt.schedule.tree import Band, BandMember, bands, find_band
from polyopt.transforms import Contract, Deal, Parallelize

HANDS = 4  # for each core: a late one does not keep the others waiting for long


def share_rows(schedule: Schedule, machine: Machine) -> Schedule:
    """Return `schedule` with what parallel iterations keep for themselves in fewer cells."""
    for label in [band.label for band in bands(schedule.tree)]:
        band = find_band(schedule.tree, label)
        kinds = [member.kind for member in band.members]
        if LoopKind.PARALLEL in kinds:
            schedule = _shared(schedule, band, kinds.index(LoopKind.PARALLEL), machine)
    return schedule


def _shared(schedule: Schedule, band: Band, position: int, machine: Machine) -> Schedule:
    rows, hands = f"{band.label}[{position}]", HANDS * machine.cores
    contracts = [
        Contract(name, sizes)
        for name, homes in contraction_nests(schedule.scop, schedule.tree).items()
        if rows in homes and (sizes := _sizes(schedule, name, homes, rows, hands))
    ]
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
    cells = {
        it: hands if home == rows else 1
        for home in homes
        if (it := _iterator(_member(schedule, home), scop, writer.name)) is not None
    }
    sizes = tuple(
        cells.get(index.name, 0) if isinstance(index, Iter) else 0 for index in writer.target.index
    )
    return sizes if hands in sizes and _is_large(array, sizes) else ()


def _is_large(array: Array, sizes: tuple[int, ...]) -> bool:
    """Tell whether an iteration's own cells are as many as a size of the program says."""
    kept = [extent for extent, size in zip(array.shape, sizes, strict=True) if size == 0]
    return any(not isinstance(extent, Const) for extent in kept)


def _member(schedule: Schedule, home: str) -> BandMember:
    label, _, position = home.partition("[")
    return find_band(schedule.tree, label).members[int(position.rstrip("]"))]


def _iterator(member: BandMember, scop: Scop, statement: str) -> str | None:
    """Return the iterator that a loop counts for a statement, None where it counts another way."""
    found = [(name, number) for name, number in coefficients(member, scop, statement).items()]
    moved = [name for name, number in found if number != 0]
    return moved[0] if len(moved) == 1 and dict(found)[moved[0]] == 1 else None
