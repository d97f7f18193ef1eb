"""Recurrences `a[i] = a[i - 1] op x` along a cut axis: ranks begin anew, a scan completes them.

In: a statement, the loops around its phase.  Out: what it writes, from which it begins.
Each rank runs its part as if it was the first one; then it combines its elements with what the
ranks before it have made together: an exclusive scan of their last elements (Blelloch, "Prefix sums
and their applications", 1990).
"""

from __future__ import annotations

from collections.abc import Mapping

import islpy as isl

from polyopt.dataclass import dataclass
from polyopt.distribution.mesh import Sign
from polyopt.distribution.ownership import Ownership, moved_by
from polyopt.ir.affine import time_map
from polyopt.ir.expr import Binary, Iter
from polyopt.ir.names import iterators
from polyopt.ir.scan import is_open, loop_of, parted
from polyopt.ir.scop import Statement


@dataclass(frozen=True, eq=False)
class Scanned:
    """The elements of a scan along `axis`: all that are `written`, and those of this rank.

    `begun`: elements of other ranks, by how they lie, for which this rank takes the neutral one.
    """

    axis: int
    written: isl.Set
    mine: isl.Set
    begun: Mapping[Sign, isl.Set]


def around(own: Ownership, statement: Statement, depth: int) -> isl.Map:
    """Return instance -> its place in the outer `depth` loops."""
    domain = isl.Set.align_params(statement.domain, own.context.get_space())
    places = statement.order[1 : 2 * depth : 2]
    return time_map(domain, places, depth) if places else isl.Map.from_domain(domain)


def axis_of_scan(own: Ownership, statement: Statement) -> int | None:
    """Return the cut axis that a recurrence runs upwards along, in a loop of its own.

    None for others, and where the order of its operations is part of the program.
    """
    cuts, name = own.cuts.get(statement.target.array, ()), loop_of(statement)
    if name is None or own.mesh_axes != 1 or not is_open(statement):
        return None
    (cut,) = cuts
    target, value = statement.target, statement.value
    assert isinstance(value, Binary)
    before = parted(target, value)[0]
    along = [axis for axis, index in enumerate(target.index) if name in iterators(index)]
    last, here = moved_by(before.index[cut.axis]), moved_by(target.index[cut.axis])
    if along != [cut.axis] or here is None or last != (name, here[1] - 1):
        return None
    depths = range(len(statement.order) // 2)
    depth = next((d for d in depths if _is_loop(statement, d, name)), None)
    if depth is None or _shares_loop(own, statement, depth):
        return None
    return cut.axis if is_complete(own, statement, cut.axis, depth) else None


def _is_loop(statement: Statement, depth: int, name: str) -> bool:
    one = statement.order[2 * depth + 1]
    return isinstance(one, Iter) and one.name == name


def _shares_loop(own: Ownership, statement: Statement, depth: int) -> bool:
    """Tell whether another statement is in the same loop."""
    place = statement.order[: 2 * depth + 1 : 2]
    return any(
        other is not statement and other.order[: 2 * depth + 1 : 2] == place
        for other in own.scop.statements
    )


def is_complete(own: Ownership, statement: Statement, axis: int, depth: int) -> bool:
    """Tell whether one iteration of the `depth` loops around writes each element of a box once."""
    place = around(own, statement, depth)
    write = isl.Map.align_params(statement.write.relation, place.get_space())
    write = write.intersect_params(own.context)
    again = write.apply_range(write.reverse()).intersect(place.apply_range(place.reverse()))
    if not again.is_subset(isl.Map.identity(again.get_space())):
        return False
    written = place.reverse().apply_range(write)
    kind, line = isl.dim_type.out, written
    for position in range(written.dim(kind)):
        if position != axis:
            line = line.eliminate(kind, position, 1)
    if not line.intersect(written.eliminate(kind, axis, 1)).is_subset(written):
        return False
    line = line.project_out(kind, axis + 1, written.dim(kind) - axis - 1)
    line = line.project_out(kind, 0, axis).reset_tuple_id(kind)
    space = line.range().get_space()
    up, down = isl.Map.lex_le(space), isl.Map.lex_ge(space)
    return bool(line.apply_range(up).intersect(line.apply_range(down)).is_subset(line))
