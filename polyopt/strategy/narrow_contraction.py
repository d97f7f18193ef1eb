"""Give contractions with few rows or one column a version of their own.

In: a schedule whose nests are still apart; a contraction with few rows or one column.
Out: the schedule with a version for the sizes for which all of its contractions are narrow; the
contraction with its sums jammed: each operand passes by once, because what is packed or held in
registers would not be used again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import islpy as isl

from polyopt import transforms
from polyopt.ir.budget import optional
from polyopt.ir.expr import Expr, Param, add, integer, walk
from polyopt.ir.isl_ast import bound_expr
from polyopt.ir.linear import normalize
from polyopt.ir.scop import Role
from polyopt.machine import Machine
from polyopt.model.contraction import few_rows
from polyopt.schedule.schedule import Schedule, Transform
from polyopt.schedule.tree import (
    find_band,
    member_map,
    only_statement,
    path_to,
)
from polyopt.strategy.contraction import Roles, find_roles
from polyopt.strategy.interchanges import order_steps
from polyopt.strategy.short_loop_unrolling import most_iterations
from polyopt.strategy.strides import Stride, loop_moves
from polyopt.strategy.sums import Sum, find_sum, other_loops, strip_of, tile_steps
from polyopt.strategy.tiling import outer_bands
from polyopt.transforms import Bound, Cut, Parallelize, Version
from polyopt.transforms.amount import Amount

MOST = 4  # statements: a contraction, what begins it and what uses its results
QUOTA = 200_000  # isl operations to find out how long loops are


def add_versions(schedule: Schedule, machine: Machine) -> Schedule:
    """Return `schedule` with versions for the sizes that make all of its contractions narrow.

    Each version is a copy of all nests: programs with more than `MOST` statements have one, and
    those with temporaries, whose memory would be that of the version that needs most.
    """
    scop = schedule.scop
    has_temporaries = any(array.shape for array in scop.arrays if array.role is Role.TEMP)
    if has_temporaries or len(scop.statements) > MOST:
        return schedule
    roles = {label: find_roles(schedule, label) for label in outer_bands(schedule.tree)}
    found = {label: one for label, one in roles.items() if one is not None and not one.batch}
    bounds: tuple[Bound, ...] = ()
    if found and not any(narrow_contraction(schedule, label, machine) for label in found):
        with optional("versions of contractions", QUOTA):
            bounds = tuple(_bounds(schedule, found, few_rows(machine)))
    return (schedule.attempt(Version(bounds)) if bounds else None) or schedule


def narrow_contraction(schedule: Schedule, label: str, machine: Machine) -> Schedule | None:
    """Return `schedule` with a contraction that has few rows or one column jammed, or None."""
    positions = range(len(find_band(schedule.tree, label).members))
    if find_roles(schedule, label) is None:
        return None
    lengths = {p: most_iterations(schedule, label, p) for p in positions}
    short = {p: length for p, length in lengths.items() if length is not None}
    found = _narrow(schedule, label, short, few_rows(machine)) if short else None
    if found is None:
        return None
    if found.contiguous:
        return _few_rows(schedule, label, found, machine)
    return _one_column(schedule, label, found)


def _bounds(schedule: Schedule, found: Mapping[str, Roles], few: int) -> Iterator[Bound]:
    """Yield the bounds, that of one column first."""
    columns = {label: roles.column for label, roles in found.items()}
    rows = {label: roles.row for label, roles in found.items()}
    for narrow, wide, most in ((columns, rows, 1), (rows, columns, few)):
        extent = _extent(schedule, narrow)
        if extent is None or extent == _extent(schedule, wide):
            continue
        if all(_narrow(schedule, label, {p: most}, few) for label, p in narrow.items()):
            yield Bound(Amount(extent), most)


def _extent(schedule: Schedule, positions: Mapping[str, int]) -> Expr | None:
    """Return the number of values of the loops at these positions of bands.

    None where they differ, or for a constant.
    """
    extents = set()
    for label, position in positions.items():
        _, domain = path_to(schedule.tree, schedule.scop, label)
        member = find_band(schedule.tree, label).members[position]
        values = isl.Set.from_union_set(member_map(member, domain).range())
        length = values.dim_max(0).sub(values.dim_min(0))
        last = bound_expr(length, frozenset(schedule.scop.params))
        extents.add(normalize(add(last, integer(1))))
    extent = extents.pop()
    has_size = any(isinstance(part, Param) for part in walk(extent))
    return extent if has_size and not extents else None


def _narrow(schedule: Schedule, label: str, lengths: Mapping[int, int], few: int) -> Sum | None:
    """Return the sums of a contraction of which the loops in `lengths` are bounded, or None."""
    single = frozenset(p for p, most in lengths.items() if most <= 1)
    found = find_sum(schedule, label, recurrent=False, skip=single)
    if found is None or not found.is_open:
        return None
    others = other_loops(schedule, label, found)
    return found if len(others) == 1 and lengths.get(others[0], few + 1) <= few else None


def _few_rows(schedule: Schedule, label: str, found: Sum, machine: Machine) -> Schedule | None:
    """Return `schedule` with rows inside strips of columns and a few terms."""
    band = find_band(schedule.tree, label)
    others = other_loops(schedule, label, found)
    strip = strip_of(schedule, label, machine)
    steps: list[Transform] = [
        *order_steps(label, band, (found.sums, found.terms, *others)),
        *tile_steps(label, found, strip, len(others)),
    ]
    return schedule.attempt(*steps, Parallelize(f"{label}.tile[0]")) or schedule.attempt(*steps)


def _one_column(schedule: Schedule, label: str, found: Sum) -> Schedule | None:
    """Return `schedule` with rows jammed, terms in lanes, and copies of the strided operands."""
    band = find_band(schedule.tree, label)
    others = other_loops(schedule, label, found)
    inner = f"{label}.inner"
    steps: list[Transform] = [
        *order_steps(label, band, (*others, found.sums, found.terms)),
        Cut(label, len(others)),
        *tile_steps(inner, found, 0, 0),
        *(transforms.Pack(array, f"{label}[0]") for array in _strided(schedule, label, found)),
    ]
    return schedule.attempt(*steps, Parallelize(f"{inner}.tile[0]")) or schedule.attempt(*steps)


def _strided(schedule: Schedule, label: str, found: Sum) -> list[str]:
    """Return the arrays whose terms are not contiguous."""
    statement = only_statement(schedule.tree, schedule.scop, label)
    assert statement is not None
    along = loop_moves(schedule, label, statement)[found.terms]
    return sorted({a.array for a in statement.reads if along.get(a.ref) is Stride.STRIDED})
