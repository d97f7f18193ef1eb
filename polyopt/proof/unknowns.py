"""Values that loops find while they run: what of them is known, and under which names."""

from __future__ import annotations

from polyopt.dataclass import dataclass, field
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Call,
    Cast,
    Compare,
    CompareOp,
    Const,
    Expr,
    Iter,
    Load,
    Param,
    Select,
    Symbol,
    Unary,
    UnaryOp,
    VectorLoad,
    children,
    integer,
    walk,
    with_children,
)
from polyopt.ir.types import DType

AFFINE = (BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MIN, BinaryOp.MAX)


@dataclass
class ValueRange:
    """The smallest and the largest constant beside the same terms."""

    low: int
    high: int


@dataclass
class Unknowns:
    """Parameters for values that are not affine, one for each expression."""

    names: dict[Expr, str] = field(default_factory=dict)
    products: set[str] = field(default_factory=set)
    truths: set[str] = field(default_factory=set)

    def of(self, expr: Expr) -> Param:
        """Return the parameter for `expr`."""
        return Param(self.names.setdefault(expr, f"?{len(self.names)}"))

    def abstracted(self, expr: Expr) -> Expr:
        """Return `expr` with values that are not affine as unknown parameters."""
        match expr:
            case Const() | Iter() | Param():
                return expr
            case Symbol(lanes=1, dtype=DType.INT64):
                return Param(expr.name)
            case Load() | VectorLoad() | Call() | Cast() | Symbol():
                return self.of(expr) if expr.dtype.is_integer else expr
            case Binary(op=BinaryOp.MUL | BinaryOp.FLOORDIV | BinaryOp.MOD):
                left, right = self.abstracted(expr.left), self.abstracted(expr.right)
                fixed = isinstance(right, Const) or (
                    expr.op is BinaryOp.MUL and isinstance(left, Const)
                )
                if fixed:
                    return with_children(expr, (left, right))
                if not any(isinstance(p, Load | VectorLoad) for p in walk(expr)):
                    self.products.add(self.of(expr).name)
                return self.of(expr)
            case Binary() if expr.dtype is DType.INT64 and expr.op not in AFFINE:
                return self.of(expr)
            case Select():
                arms = map(self.abstracted, (expr.then, expr.otherwise))
                return with_children(expr, (self.decided(expr.condition), *arms))
            case Binary() | Unary() | Compare():
                return with_children(expr, tuple(map(self.abstracted, children(expr))))
            case _:
                return expr

    def decided(self, condition: Expr) -> Expr:
        """Return the condition of a choice, parts that are not affine as unknown truth values."""
        match condition:
            case Const():
                return condition
            case Unary(op=UnaryOp.INVERT) | Binary(op=BinaryOp.AND | BinaryOp.OR | BinaryOp.XOR):
                return with_children(condition, tuple(map(self.decided, children(condition))))
            case Compare():
                plain = self.abstracted(condition)
                sides = children(plain)
                if all(isinstance(s, Const | Param) or s.dtype is DType.INT64 for s in sides):
                    return plain
            case _:
                pass
        self.truths.add(self.of(condition).name)
        return Compare(CompareOp.NE, self.of(condition), integer(0))
