"""Mark the statements whose sums of products may be regrouped, each sum rounded once.

In: a Program, its other freedoms marked.  Out: the Program, `Statement.fuses` set.
Leaves alone: functions that polyopt wrote, which may depend on each rounding; scans, which depend
on the form of the value; updates that round their own products once anyway.
"""

from __future__ import annotations

from polyopt.dataclass import replace
from polyopt.ir.expr import children
from polyopt.ir.program import Program
from polyopt.ir.scop import Statement
from polyopt.ir.sums import added_products, has_sums
from polyopt.schedule.reductions import changed_statements


def with_fusible_products(program: Program) -> Program:
    """Return `program` with these statements marked."""
    return replace(program, parts=changed_statements(program.parts, _marked))


def _marked(statement: Statement) -> Statement:
    return replace(statement, fuses=True) if _fuses(statement) else statement


def _fuses(statement: Statement) -> bool:
    if statement.written or statement.regroups:
        return False
    value = statement.value
    if not statement.is_reassociable:
        return has_sums(value)
    found = added_products(value)
    is_update = found is not None and found[0] == statement.target
    parts = found[1] if found is not None and is_update else ((False, value),)
    return any(has_sums(side) for _, part in parts for side in children(part)) or (
        is_update and len(parts) > 1
    )
