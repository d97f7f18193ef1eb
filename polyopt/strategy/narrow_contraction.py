"""Give contractions with few rows or few columns a version of their own.

In: a schedule whose nests are still apart; a contraction with few rows, with one column, or with
a few columns whose rows lie next to each other in the other operand.
Out: the schedule with a version for the sizes for which all of its contractions are narrow; the
contraction with its sums jammed: each operand passes by once, because what is packed or held in
registers would not be used again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import islpy as isl

from polyopt import transforms
from polyopt.ir.budget import optional
from polyopt.ir.expr import Expr, Param, add, integer, walk
from polyopt.ir.isl_ast import bound_expr
from polyopt.ir.linear import normalize
from polyopt.ir.scop import Role
from polyopt.machine import Machine
from polyopt.model.contraction import few_rows, few_sums
from polyopt.schedule.schedule import Schedule, Transform
from polyopt.schedule.tree import (
    find_band,
    member_map,
    only_statement,
    path_to,
)
from polyopt.strategy.contraction import Roles, find_roles
from polyopt.strategy.epilogues import prologue_of
from polyopt.strategy.interchanges import order_steps
from polyopt.strategy.short_loop_unrolling import most_iterations
from polyopt.strategy.strides import Stride, loop_moves
from polyopt.strategy.sums import Sum, find_sum, other_loops, strip_of, tile_steps
from polyopt.strategy.tiling import outer_bands
from polyopt.transforms import (
    Bound,
    Cut,
    Fuse,
    Interchange,
    Parallelize,
    Tile,
    Vectorize,
    Version,
)
from polyopt.transforms.amount import Amount

MOST = 4  # statements: a contraction, what begins it and what uses its results
MOST_COLUMNS = 3  # each loads the operand of the rows again
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
            bounds = tuple(_bounds(schedule, found, machine))
    return (schedule.attempt(Version(bounds)) if bounds else None) or schedule


def narrow_contraction(schedule: Schedule, label: str, machine: Machine) -> Schedule | None:
    """Return `schedule` with a contraction that has few rows or one column jammed, or None."""
    positions = range(len(find_band(schedule.tree, label).members))
    roles = find_roles(schedule, label)
    if roles is None:
        return None
    lengths = {p: most_iterations(schedule, label, p) for p in positions}
    short = {p: length for p, length in lengths.items() if length is not None}
    most = _most_columns(schedule, label, machine)
    if short.get(roles.column, most + 1) <= most:
        found = _across(schedule, label, roles)
        if found is not None:
            return _few_columns(schedule, label, found, machine)
    found = _narrow(schedule, label, short, few_rows(machine)) if short else None
    if found is None:
        return None
    if found.contiguous:
        return _few_rows(schedule, label, found, machine)
    return _one_column(schedule, label, found)


def _bounds(schedule: Schedule, found: Mapping[str, Roles], machine: Machine) -> Iterator[Bound]:
    """Yield the bounds, that of columns first where their lanes do not run across rows."""
    columns = {label: roles.column for label, roles in found.items()}
    rows = {label: roles.row for label, roles in found.items()}
    few = few_rows(machine)
    across = all(_across(schedule, label, roles) for label, roles in found.items())
    most_columns = min(_most_columns(schedule, label, machine) for label in found) if across else 1
    bounds = [(columns, rows, most_columns), (rows, columns, few)]
    for narrow, wide, most in reversed(bounds) if across else bounds:
        extent = _extent(schedule, narrow)
        if extent is None or extent == _extent(schedule, wide):
            continue
        if across and narrow is columns:
            yield Bound(Amount(extent), most)
            continue
        sums = [_narrow(schedule, label, {p: most}, few) for label, p in narrow.items()]
        if all(sums):
            in_lanes = all(one is not None and one.contiguous for one in sums)
            yield Bound(Amount(extent), most if in_lanes else min(most, few_sums(machine)))


def _most_columns(schedule: Schedule, label: str, machine: Machine) -> int:
    """Return the most columns for which lanes run across rows: those of a vector would be idle."""
    statement = only_statement(schedule.tree, schedule.scop, label)
    assert statement is not None
    element = schedule.scop.array(statement.target.array).dtype.size
    return max(1, min(MOST_COLUMNS, machine.vector_bytes // element // 2 - 1))


def _across(schedule: Schedule, label: str, roles: Roles) -> Sum | None:
    """Return the sums of a contraction whose lanes may run across rows, or None.

    Rows lie next to each other in the operand that they do not share, its terms do not.
    """
    statement = only_statement(schedule.tree, schedule.scop, label)
    assert statement is not None
    moves = loop_moves(schedule, label, statement)
    if len(moves) != 3 or not statement.is_reassociable:
        return None
    row, column, depth = moves[roles.row], moves[roles.column], moves[roles.depth]
    own = {ref for ref, step in row.items() if step is not Stride.INVARIANT} - {statement.write.ref}
    fits = own and all(
        row[ref] is Stride.CONTIGUOUS
        and column[ref] is Stride.INVARIANT
        and depth[ref] is Stride.STRIDED
        for ref in own
    )
    return Sum(roles.row, roles.depth, True, True) if fits else None


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
        Tile(label, (strip,)),
        *tile_steps(f"{label}.point", found, strip, len(others)),
    ]
    before = prologue_of(schedule, label, 0)
    if before is not None:
        turn = Interchange(f"{before}[0]", f"{before}[1]")
        joint = _in_strips(schedule, label, steps, before, strip, (turn,))
        if joint is not None:
            tile = f"{before}.tile"
            return joint.attempt(Parallelize(f"{tile}[0]")) or joint
    tile = f"{label}.tile[0]"
    return schedule.attempt(*steps, Parallelize(tile)) or schedule.attempt(*steps)


def _in_strips(
    schedule: Schedule,
    label: str,
    steps: Sequence[Transform],
    before: str,
    strip: int,
    first: Sequence[Transform],
) -> Schedule | None:
    """Return `schedule` with the nest `before`, after the steps `first`, in the strips of sums."""
    point = f"{before}.point"
    lanes = (Interchange(f"{point}[0]", f"{point}[1]"), Vectorize(f"{point}[1]"))
    fused = (Tile(before, (strip,)), Fuse(f"{before}.tile", f"{label}.tile", 1))
    return schedule.attempt(*steps, *first, *fused, *lanes)


def _few_columns(schedule: Schedule, label: str, found: Sum, machine: Machine) -> Schedule | None:
    """Return `schedule` with columns inside strips of rows and a few terms.

    Results of a strip are in a transposed copy, so that those of neighbouring rows are contiguous;
    the nest that initializes them does so in the copy.
    """
    band = find_band(schedule.tree, label)
    others = other_loops(schedule, label, found)
    statement = only_statement(schedule.tree, schedule.scop, label)
    assert statement is not None
    strip = strip_of(schedule, label, machine)
    target = schedule.scop.array(statement.target.array)
    steps: list[Transform] = [
        *order_steps(label, band, (found.sums, found.terms, *others)),
        Tile(label, (strip,)),
        *tile_steps(f"{label}.point", found, strip, len(others)),
    ]
    before = prologue_of(schedule, label, 0)
    joint = None if before is None else _in_strips(schedule, label, steps, before, strip, ())
    tile = f"{label}.tile" if joint is None else f"{before}.tile"
    tiled = joint or schedule.attempt(*steps)
    transposed = tuple(map(transforms.Dimension, (*range(1, len(target.shape)), 0)))
    copy = transforms.Pack(target.name, f"{tile}[0]", transposed)
    return tiled and (tiled.attempt(copy, Parallelize(f"{tile}[0]")) or tiled.attempt(copy))


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
