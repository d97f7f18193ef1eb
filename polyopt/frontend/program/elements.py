"""One element is written: `A[i, j] = value`, and the reductions that explicit loops spell out.

In: the element and the expression.  Out: a statement, marked as a reduction when it is one.
"""

from __future__ import annotations

from polyopt.frontend.program.builder import Builder
from polyopt.frontend.values.values import iterators
from polyopt.ir.expr import Binary, BinaryOp, Expr, Load, Unary, UnaryOp, loads
from polyopt.ir.scop import Reduction
from polyopt.ir.types import DType, Kind

_REDUCING = (
    BinaryOp.ADD, BinaryOp.MUL, BinaryOp.MIN, BinaryOp.MAX, BinaryOp.AND, BinaryOp.OR, BinaryOp.XOR,
)  # fmt: skip


def store_element(b: Builder, target: Load, value: Expr) -> None:
    """Emit `target = value`; `value` has the target's dtype."""
    b.emit((), target, *as_reduction(b, target, value))


def as_reduction(b: Builder, target: Load, value: Expr) -> tuple[Expr, Reduction | None]:
    """Return `value`, and the reduction that `target = value` is, if it is one."""
    accumulated = _accumulation(b, target, value)
    if accumulated is None:
        return value, None
    op, term = accumulated
    return Binary(op, target, term, value.dtype), Reduction(op, is_exact(value.dtype))


def is_exact(dtype: DType) -> bool:
    """Tell whether sums, products, extrema and bits of `dtype` are the same in any order."""
    return dtype.kind in (Kind.BOOL, Kind.SIGNED, Kind.UNSIGNED)


def _accumulation(b: Builder, target: Load, value: Expr) -> tuple[BinaryOp, Expr] | None:
    """Return operator and term of `target = target op term`, if some loop leaves `target` alone."""
    if not isinstance(value, Binary) or not _is_repeated(b, target):
        return None
    if any(load.array == target.array for load in loads(b.scope.guard)):
        return None
    op, left, right = value.op, value.left, value.right
    if op in _REDUCING and right == target:
        left, right = right, left
    if op is BinaryOp.SUB and left == target and value.dtype is not DType.BOOL:
        op, right = BinaryOp.ADD, Unary(UnaryOp.NEG, right, value.dtype)
    if op not in _REDUCING or left != target:
        return None
    if any(load.array == target.array for load in loads(right)):
        return None
    return op, right


def _is_repeated(b: Builder, target: Load) -> bool:
    used = frozenset(name for part in target.index for name in iterators(part))
    return any(name not in used for name in b.scope.iters)
