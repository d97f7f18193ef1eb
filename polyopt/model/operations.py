"""What expressions make a core do.

In: an expression.  Out: `Work`: floating-point operations, and their places in a vector unit.
"""

from __future__ import annotations

from polyopt.dataclass import dataclass
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Broadcast,
    Call,
    Compare,
    Const,
    Expr,
    Load,
    MathFunc,
    Select,
    Unary,
    VectorLoad,
    children,
)
from polyopt.ir.types import DType, Kind

SLOW = {BinaryOp.DIV: 8.0, BinaryOp.POW: 60.0, BinaryOp.FLOORDIV: 8.0, BinaryOp.MOD: 8.0}
ROOT, FUNCTION = 10.0, 20.0  # places of a square root, of exp and the like
WORD, QUANTILE = 48.0, 100.0  # of a random word beside others of its counter, of its normal number
_CHEAP = frozenset((MathFunc.FMA, MathFunc.FLOOR, MathFunc.CEIL, MathFunc.TRUNC, MathFunc.RINT))


@dataclass(frozen=True, slots=True)
class Work:
    """Of one execution: operations of one lane, places in a vector unit whatever the lanes.

    `steps` are instructions.
    """

    operations: float = 0.0
    places: float = 0.0
    steps: float = 0.0

    def __add__(self, other: Work) -> Work:
        """Return both."""
        return Work(
            self.operations + other.operations,
            self.places + other.places,
            self.steps + other.steps,
        )


def work_of(expr: Expr) -> Work:
    """Return the work of an expression; subscripts are left to the integer units."""
    match expr:
        case Load() | VectorLoad():
            return Work()
        case Broadcast():
            return work_of(expr.operand)
        case _:
            result = _own(expr)
            result += Work(
                steps=result.places if isinstance(expr, Call) else min(1.0, result.places)
            )
            for child in children(expr):
                result += work_of(child)
            return result


def _own(expr: Expr) -> Work:
    match expr:
        case Binary() if counts(expr.dtype):
            return Work(1.0, SLOW.get(expr.op, 1.0))
        case Binary() | Unary() | Compare() | Select():
            return Work(0.0, 1.0)
        case Call(func=MathFunc.FMA):
            return Work(2.0, 1.0)
        case Call(func=func) if func in _CHEAP:
            return Work(1.0, 1.0)
        case Call(func=MathFunc.SQRT):
            return Work(1.0, ROOT)
        case Call(func=MathFunc.POWER, args=(_, Const(value=exponent))):
            return _products(float(exponent.real))
        case Call(func=MathFunc.PHILOX):
            return Work(0.0, WORD)
        case Call(func=MathFunc.NORMAL):
            return Work(1.0, QUANTILE)
        case Call():
            return Work(1.0, FUNCTION)
        case _:
            return Work()


def _products(exponent: float) -> Work:
    """Return the work of a power that is made of products, at most a quotient and a root."""
    places = 2.0 + (SLOW[BinaryOp.DIV] if exponent < 0 else 0.0)
    return Work(1.0, places + (0.0 if exponent.is_integer() else ROOT))


def counts(dtype: DType) -> bool:
    """Tell whether operations on numbers of this type are floating-point operations."""
    return dtype.kind in (Kind.FLOAT, Kind.COMPLEX)
