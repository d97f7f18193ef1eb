"""Replace divisions by a divisor shared by many instances by products with its reciprocal.

In: a Program; `fp="reassociate"` allows it.  Out: the same with such quotients as `BinaryOp.RATIO`.
Leaves alone: divisors that differ for each instance, other types than float32 and float64, and what
is rounded to an integer: `int(49 / x)` would be 0 for 49, whose product with the reciprocal is a
little less than 1.
Other compilers' reciprocal arithmetic fails where the reciprocal is not a normal number, this does
not.
"""

from __future__ import annotations

from polyopt.dataclass import replace
from polyopt.ir.expr import Binary, BinaryOp, Call, Cast, Expr, MathFunc, loads, rewrite, walk
from polyopt.ir.names import iterators
from polyopt.ir.program import Program
from polyopt.ir.scop import Statement
from polyopt.ir.types import DType
from polyopt.schedule.reductions import changed_statements

_STEPS = frozenset({MathFunc.FLOOR, MathFunc.CEIL, MathFunc.TRUNC, MathFunc.RINT})
_TYPES = (DType.FLOAT32, DType.FLOAT64)


def with_reciprocals(program: Program) -> Program:
    """Return `program` with quotients by shared divisors marked."""
    statements = [s for scop in program.scops for s in scop.statements]
    exact = _rounded(statements)

    def change(statement: Statement) -> Statement:
        return statement if statement.target.array in exact else _statement(statement)

    return replace(program, parts=changed_statements(program.parts, change))


def _rounded(statements: list[Statement]) -> set[str]:
    """Return the arrays whose elements are rounded to integers, maybe after further operations."""
    found: set[str] = set()
    parts = (part for s in statements for part in walk(s.value) if _is_step(part))
    left = [load.array for part in parts for load in loads(part)]
    writers: dict[str, list[Statement]] = {}
    for statement in statements:
        writers.setdefault(statement.target.array, []).append(statement)
    while left:
        array = left.pop()
        if array not in found:
            found.add(array)
            left += [load.array for s in writers.get(array, ()) for load in loads(s.value)]
    return found


def _is_step(part: Expr) -> bool:
    """Tell whether a part is an integer made of a floating-point number."""
    match part:
        case Cast(operand=operand):
            return operand.dtype.is_float and not part.dtype.is_float
        case Call(func=func):
            return func in _STEPS
        case Binary(op=BinaryOp.FLOORDIV | BinaryOp.MOD):
            return part.dtype.is_float
        case _:
            return False


def _statement(statement: Statement) -> Statement:
    iters = set(statement.iters)

    def rule(part: Expr) -> Expr | None:
        if _is_step(part):
            return part
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
