"""Statements that join partial results, or add to what they read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.ir.scop import Access, Scop, Statement
from polyopt.schedule.commutative_updates import commutative_operation, is_own

if TYPE_CHECKING:
    from polyopt.schedule.dependences import Dependence


def is_join(scop: Scop, dependence: Dependence) -> bool:
    """Tell whether both accesses are the accumulator of one join of partial results."""
    if dependence.source != dependence.target:
        return False
    statement = scop.statement(dependence.source)
    cell = statement.target
    own = [a for a in statement.reads if a.array == cell.array]
    is_update = _joins_parts(statement) and [a.index for a in own] == [cell.index]
    return is_update and dependence.array == cell.array


def _joins_parts(statement: Statement) -> bool:
    """Tell whether the statement joins partial results of a split reduction."""
    is_copy = statement.origin is not None and not statement.origin.statement
    return is_copy and statement.reduction is not None


def is_reduction(source: Statement, target: Statement, first: Access, second: Access) -> bool:
    """Tell whether both accesses are the target of updates in any order.

    The updates are those of one reassociable reduction, or exactly commutative.
    """
    if not (is_own(source, first) and is_own(target, second)):
        return False
    if source is target and source.is_reassociable:
        return True
    if _joins_parts(source):
        return False
    op = commutative_operation(source)
    return op is not None and (source is target or op is commutative_operation(target))
