"""Compute powers with small constant exponents as products, as `fp="reassociate"` allows.

In: a Program.  Out: the same with its statements' powers as calls of `MathFunc.POWER`.
"""

from __future__ import annotations

from polyopt.dataclass import replace
from polyopt.ir.powers import by_products
from polyopt.ir.program import Program
from polyopt.ir.scop import Statement
from polyopt.schedule.reductions import changed_statements


def with_products(program: Program) -> Program:
    """Return `program` with powers to small constants as products."""
    return replace(program, parts=changed_statements(program.parts, _statement))


def _statement(statement: Statement) -> Statement:
    guard = None if statement.guard is None else by_products(statement.guard)
    value = by_products(statement.value)
    if value is statement.value and guard is statement.guard:
        return statement
    return replace(statement, value=value, guard=guard)
