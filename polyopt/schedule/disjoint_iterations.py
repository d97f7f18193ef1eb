"""Tell whether iterations of a loop access disjoint elements.

In: statements, the loops around, a loop.  Out: whether no two of its iterations share an element.
This is one question for each array, instead of one for each pair of statements.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import islpy as isl

from polyopt.ir.scop import Role, Scop, Statement
from polyopt.schedule.tree import BandMember

MOST = 32
"""Different relations of an array's elements and iterations; of more, nothing is said."""


def has_disjoint_iterations(
    scop: Scop, names: Collection[str], outer: Sequence[BandMember], loop: BandMember
) -> bool:
    """Tell whether no element written by statements `names` is accessed in two iterations.

    Compares iterations that agree on the `outer` loops.  False may mean unknown.
    """
    statements = [s for s in scop.statements if s.name in names]
    faults = {array.name for array in scop.arrays if array.role is Role.FAULT}
    written = {s.write.array for s in statements} - faults
    if any(s.name not in member.pieces for s in statements for member in (*outer, loop)):
        return False
    iterations: dict[str, list[isl.Map]] = {array: [] for array in sorted(written)}
    for statement in statements:
        for access in (statement.write, *statement.reads):
            found = iterations.get(access.array)
            if found is None:
                continue
            one = _iterations(scop, statement, access.relation, outer, loop)
            if not any(one.plain_is_equal(other) for other in found):
                found.append(one)
            if len(found) > MOST:
                return False
    return all(_is_function(found) for found in iterations.values())


def _iterations(
    scop: Scop,
    statement: Statement,
    touched: isl.Map,
    outer: Sequence[BandMember],
    loop: BandMember,
) -> isl.Map:
    """Return element and iterators of outer loops -> iterator of `loop`, for an access."""
    place = touched.intersect_params(scop.context)
    for member in outer:
        place = place.flat_range_product(isl.Map.from_pw_aff(member.pieces[statement.name]))
    return place.reverse().apply_range(isl.Map.from_pw_aff(loop.pieces[statement.name]))


def _is_function(relations: list[isl.Map]) -> bool:
    whole = relations[0]
    for one in relations[1:]:
        whole = whole.union(one)
    return bool(whole.is_single_valued())
