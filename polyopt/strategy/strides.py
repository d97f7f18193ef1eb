"""Classify how a loop moves each access: invariant, contiguous or strided.

In: a band, the loops above it, a statement.  Out: per access INVARIANT, CONTIGUOUS or STRIDED.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, unique
from fractions import Fraction
from functools import lru_cache

from polyopt.ir.expr import MOST_APART, Iter, integer, walk
from polyopt.ir.linear import linear
from polyopt.ir.names import reads
from polyopt.ir.scop import Access, Scop, Statement
from polyopt.ir.source import Layout
from polyopt.schedule.isl_bridge import coefficients
from polyopt.schedule.schedule import Schedule
from polyopt.schedule.tree import BandMember, find_band, path_to, statements_of


@unique
class Stride(Enum):
    """How one step of a loop changes an access's address."""

    INVARIANT = "invariant"  # the same element
    CONTIGUOUS = "contiguous"  # the next element in memory
    STRIDED = "strided"  # an element elsewhere


def directions(
    members: tuple[BandMember, ...], scop: Scop, statement: Statement
) -> tuple[tuple[Fraction, ...] | None, ...]:
    """Return for each loop the change of the statement's iterators when only it advances.

    None where the loops do not determine it (the loop alone does not move the statement).
    """
    rules = [coefficients(member, scop, statement.name) for member in members]
    return _solved(tuple(tuple(rule[it] for it in statement.iters) for rule in rules))


@lru_cache(maxsize=1 << 10)
def _solved(rows: tuple[tuple[int, ...], ...]) -> tuple[tuple[Fraction, ...] | None, ...]:
    """Return for each row p the d with rows[p] . d = 1 and rows[q] . d = 0 for all others.

    Free unknowns are 0; None where there is no such d.  One elimination serves all rows.
    """
    unknowns = len(rows[0]) if rows else 0
    numbers = range(len(rows))
    system = [[Fraction(c) for c in (*rows[q], *(int(q == p) for p in numbers))] for q in numbers]
    pivots: list[int] = []
    for column in range(unknowns):
        rank = len(pivots)
        pivot = next((r for r in range(rank, len(system)) if system[r][column] != 0), None)
        if pivot is None:
            continue
        system[rank], system[pivot] = system[pivot], system[rank]
        scale = system[rank][column]
        system[rank] = [value / scale if value else value for value in system[rank]]
        for other in range(len(system)):
            if other != rank and system[other][column] != 0:
                factor = system[other][column]
                system[other] = [
                    a - factor * b if b else a
                    for a, b in zip(system[other], system[rank], strict=True)
                ]
        pivots.append(column)
    found: list[tuple[Fraction, ...] | None] = []
    for p in range(unknowns, unknowns + len(rows)):
        if any(row[p] != 0 for row in system[len(pivots) :]):
            found.append(None)
            continue
        solution = [Fraction(0)] * unknowns
        for number, column in enumerate(pivots):
            solution[column] = system[number][p]
        found.append(tuple(solution))
    return tuple(found)


def stride_of(
    access: Access,
    scop: Scop,
    statement: Statement,
    direction: tuple[Fraction, ...] | None,
    written: frozenset[str] | None = None,
) -> Stride:
    """Return the stride of `access` for a step along `direction`; for `written` see `along_row`."""
    moved = along_row(access, scop, statement, direction, written)
    if moved == 0:
        return Stride.INVARIANT
    return Stride.CONTIGUOUS if moved == 1 else Stride.STRIDED


def along_row(
    access: Access,
    scop: Scop,
    statement: Statement,
    direction: tuple[Fraction, ...] | None,
    written: frozenset[str] | None = None,
) -> Fraction | None:
    """Return by how many elements of a row a step along `direction` moves `access`.

    None where the step leaves the row, or where the distance is not constant.  A row that data
    choose stays the same if the loop, which writes the arrays `written`, does not change the data.
    """
    change = change_of(access, statement, direction, written)
    if change is None:
        return None
    if not any(change):
        return Fraction(0)
    deltas = list(change)
    array = scop.array(access.array)
    while (
        len(deltas) > 1 and array.layout is Layout.C and array.shape[len(deltas) - 1] == integer(1)
    ):
        deltas.pop()  # rows of one element lie next to each other
    is_row = array.layout in (Layout.C, Layout.ROWS)
    return deltas[-1] if is_row and not any(deltas[:-1]) else None


def is_near(moved: Fraction | None) -> bool:
    """Tell whether lanes this far apart along a row are loaded as one vector."""
    return moved is not None and moved.denominator == 1 and 1 <= moved <= MOST_APART


def _is_settled(access: Access, written: frozenset[str] | None) -> bool:
    """Tell whether nothing that the subscripts of `access` read is in `written`."""
    return written is not None and written.isdisjoint(reads(*access.index))


def change_of(
    access: Access,
    statement: Statement,
    direction: tuple[Fraction, ...] | None,
    written: frozenset[str] | None = None,
) -> tuple[Fraction, ...] | None:
    """Return the change of an access's subscripts when iterators move by `direction`.

    For `written` see `along_row`.
    """
    if direction is None or not (access.exact or _is_settled(access, written)):
        return None
    step = dict(zip(statement.iters, direction, strict=True))
    atoms = [a for i in access.index for a, _ in linear(i).terms if not isinstance(a, Iter)]
    if any(isinstance(p, Iter) and step[p.name] for atom in atoms for p in walk(atom)):
        return None
    return tuple(
        sum((step[a.name] * c for a, c in linear(i).terms if isinstance(a, Iter)), Fraction(0))
        for i in access.index
    )


def accesses(statement: Statement) -> tuple[Access, ...]:
    """Return the write and the distinct reads of a statement."""
    seen = {(statement.write.array, statement.write.index)}
    found = [statement.write]
    for access in statement.reads:
        if (access.array, access.index) not in seen:
            seen.add((access.array, access.index))
            found.append(access)
    return tuple(found)


def loop_directions(
    schedule: Schedule, label: str
) -> Iterator[tuple[Statement, tuple[tuple[Fraction, ...] | None, ...]]]:
    """Yield each statement below a band with the directions in which the band's loops move it."""
    path, domain = path_to(schedule.tree, schedule.scop, label)
    members = (*path, *find_band(schedule.tree, label).members)
    for name in statements_of(schedule.scop, domain):
        statement = schedule.scop.statement(name)
        yield statement, directions(members, schedule.scop, statement)[len(path) :]


def loop_moves(schedule: Schedule, label: str, statement: Statement) -> list[dict[str, Stride]]:
    """Return for each loop of the band how a step changes each access, by reference."""
    path, _ = path_to(schedule.tree, schedule.scop, label)
    members = find_band(schedule.tree, label).members
    found = directions((*path, *members), schedule.scop, statement)[len(path) :]
    return [
        {a.ref: stride_of(a, schedule.scop, statement, d) for a in accesses(statement)}
        for d in found
    ]
