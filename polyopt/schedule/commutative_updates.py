"""Recognize exactly commutative updates, whose order is not observable.

In: a statement.  Out: its operation, where `a[i] = a[i] op x` gives the same bits in any order:
associative and commutative operations on integers and booleans, `x` never reading the element
itself.  `x` may read other elements of the array: these reads keep their order with its updates.
"""

from __future__ import annotations

from polyopt.ir.expr import Binary, BinaryOp, loads
from polyopt.ir.identity import is_exact
from polyopt.ir.scop import Access, Statement


def commutative_operation(statement: Statement) -> BinaryOp | None:
    """Return the operation of a statement's exactly commutative update, or None."""
    target, value = statement.target, statement.value
    if not isinstance(value, Binary) or not is_exact(value.op, target.dtype):
        return None
    if not statement.write.exact:
        return None
    if target not in (value.left, value.right) or value.dtype is not target.dtype:
        return None
    if statement.guard is not None and target.array in {x.array for x in loads(statement.guard)}:
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
