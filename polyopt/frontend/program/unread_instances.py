"""Values that no iteration reads are not computed: those of numbers used under affine conditions.

In: the statements of a program that is one static control part.  Out: the same, each number that is
set once per iteration and read in that iteration alone set where something reads it.
Leaves: numbers with several writers; those that a later iteration reads.
"""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from polyopt.dataclass import replace
from polyopt.frontend.program.control_flow import place_of, shared_loops
from polyopt.ir.affine import coalesced
from polyopt.ir.scop import Array, Role, Statement


def without_unread_instances(
    statements: Sequence[Statement], arrays: Sequence[Array]
) -> tuple[Statement, ...]:
    """Return `statements` without the instances whose result no instance reads."""
    found = {statement.name: statement for statement in statements}
    numbers = {a.name for a in arrays if a.role is Role.TEMP and not a.shape}
    for name in [statement.name for statement in reversed(statements)]:
        statement = found[name]
        if statement.target.array in numbers and statement.guard is None and statement.iters:
            readers = [s for s in found.values() if _reads(s, statement.target.array)]
            writers = [s for s in found.values() if s.target.array == statement.target.array]
            if len(writers) == 1 and readers and all(_follows(r, statement) for r in readers):
                found[name] = _restricted(statement, readers)
    return tuple(found.values())


def _reads(statement: Statement, array: str) -> bool:
    return any(access.array == array for access in statement.reads)


def _follows(reader: Statement, writer: Statement) -> bool:
    """Tell whether a reader runs after the writer in the same iteration of all its loops."""
    shared = shared_loops(writer.order, reader.order)
    return shared == len(writer.iters) and place_of(writer.order) < place_of(reader.order)


def _restricted(writer: Statement, readers: Sequence[Statement]) -> Statement:
    """Return the writer for the iterations in which there is a reader."""
    needed = isl.Set.empty(writer.domain.get_space())
    for reader in readers:
        inner = len(reader.iters) - len(writer.iters)
        outer = reader.domain.project_out(isl.dim_type.set, len(writer.iters), inner)
        needed = needed.union(outer.set_tuple_name(writer.name))
    if writer.domain.is_subset(needed):
        return writer
    return replace(writer, domain=coalesced(writer.domain.intersect(needed)))
