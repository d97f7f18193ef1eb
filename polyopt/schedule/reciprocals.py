"""Replace divisions by a divisor shared by many instances by products with its reciprocal.

In: a Program; `fp="reassociate"` allows it.  Out: the same with such quotients as `BinaryOp.RATIO`.
Leaves alone: divisors that differ for each instance, other types than float32 and float64.
Other compilers' reciprocal arithmetic fails where the reciprocal is not a normal number, this does
not.
"""

from __future__ import annotations

from polyopt.dataclass import replace
from polyopt.ir.expr import Binary, BinaryOp, Expr, rewrite
from polyopt.ir.names import iterators
from polyopt.ir.program import Program
from polyopt.ir.scop import Statement
from polyopt.ir.types import DType
from polyopt.schedule.reductions import changed_statements

_TYPES = (DType.FLOAT32, DType.FLOAT64)


def with_reciprocals(program: Program) -> Program:
    """Return `program` with quotients by shared divisors marked."""
    return replace(program, parts=changed_statements(program.parts, _statement))


def _statement(statement: Statement) -> Statement:
    iters = set(statement.iters)

    def rule(part: Expr) -> Expr | None:
        if not isinstance(part, Binary) or part.op is not BinaryOp.DIV or part.dtype not in _TYPES:
            return None
        if not _is_shared(part.right, iters):
            return None
        left, right = rewrite(part.left, rule), rewrite(part.right, rule)
        return Binary(BinaryOp.RATIO, left, right, part.dtype)

    value = rewrite(statement.value, rule)
    return statement if value is statement.value else replace(statement, value=value)


def _is_shared(divisor: Expr, iters: set[str]) -> bool:
    """Tell whether an expression has fewer iterators than its statement."""
    return iterators(divisor) < iters
