"""Recognize exactly commutative updates, whose order is not observable, and joins.

In: statements.  Out: the operation, where `a[i] = a[i] op x` gives the same bits in any order:
associative and commutative operations on integers and booleans, `x` never reading the element
itself.  `x` may read other elements of the array: these reads keep their order with its updates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.ir.expr import Binary, BinaryOp, Load
from polyopt.ir.extremum import update_by
from polyopt.ir.identity import is_exact
from polyopt.ir.names import reads
from polyopt.ir.scop import Access, Scop, Statement

if TYPE_CHECKING:
    from polyopt.schedule.dependences import Dependence


def commutative_operation(statement: Statement) -> BinaryOp | None:
    """Return the operation of a statement's exactly commutative update, or None."""
    target, value = statement.target, statement.value
    if not isinstance(value, Binary) or not is_exact(value.op, target.dtype):
        return None
    if not statement.write.exact:
        return None
    if target not in (value.left, value.right) or value.dtype is not target.dtype:
        return None
    if statement.guard is not None and target.array in reads(statement.guard):
        return None
    return value.op if reads_itself_once(statement) else None


def reads_itself_once(statement: Statement) -> bool:
    """Tell whether a statement reads its target once, and otherwise other elements."""
    array = statement.target.array
    others = [a for a in statement.reads if a.array == array and not is_own(statement, a)]
    return sum(is_own(statement, access) for access in statement.reads) == 1 and all(
        access.relation.is_disjoint(statement.write.relation) for access in others
    )


def is_own(statement: Statement, access: Access) -> bool:
    """Tell whether an access is to its statement's target."""
    return (access.array, access.index) == (statement.target.array, statement.target.index)


# -- pairs of accesses whose order is open: those of updates, and of joins of partial results -----


def is_join(scop: Scop, dependence: Dependence) -> bool:
    """Tell whether both accesses are the accumulator of one join of partial results."""
    if dependence.source != dependence.target:
        return False
    statement = scop.statement(dependence.source)
    cell = statement.target
    own = {a.index for a in statement.reads if a.array == cell.array}
    is_update = isinstance(cell, Load) and update_by(statement.value, cell) is not None
    is_join = _joins_parts(statement) and is_update and own == {cell.index}
    return is_join and dependence.array == cell.array


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
