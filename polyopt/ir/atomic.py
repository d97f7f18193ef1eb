"""Updates that several threads may make to one element at the same time.

In: an assignment.  Out: its operation and term.
Refuses (`NoUpdate`): what is no `target = target op term`, operations that devices do not have.
"""

from __future__ import annotations

from polyopt.ir.expr import Binary, BinaryOp, Expr, Load
from polyopt.ir.names import reads
from polyopt.ir.types import DType

_WORDS = frozenset((DType.INT32, DType.UINT32, DType.INT64, DType.UINT64))
ATOMIC: dict[BinaryOp, frozenset[DType]] = {
    BinaryOp.ADD: _WORDS | {DType.FLOAT32, DType.FLOAT64},
    BinaryOp.MIN: _WORDS,
    BinaryOp.MAX: _WORDS,
    BinaryOp.AND: _WORDS,
    BinaryOp.OR: _WORDS,
    BinaryOp.XOR: _WORDS,
}
"""The types of elements that an operation can update at once."""


class NoUpdate(Exception):
    """An assignment is no update; the text says why."""


def update_of(target: Expr, value: Expr) -> tuple[BinaryOp, Expr]:
    """Return operation and term of `target = target op term`; raises `NoUpdate`."""
    if not isinstance(target, Load) or not isinstance(value, Binary):
        raise NoUpdate("it is no operation on what is there")
    if value.left == target:
        term = value.right
    elif value.right == target and value.op is not BinaryOp.SUB:
        term = value.left
    else:
        raise NoUpdate("it does not go on from the element that it sets")
    if any(target.array in reads(part) for part in (term, *target.index)):
        raise NoUpdate(f"it reads {target.array} elsewhere, too")
    if target.dtype not in ATOMIC.get(value.op, frozenset()):
        raise NoUpdate(f"devices have no atomic `{value.op.value}` of {target.dtype}")
    if not (value.dtype is target.dtype is term.dtype):
        raise NoUpdate("it converts what it makes")
    return value.op, term
