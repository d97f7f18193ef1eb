"""The value that an operator leaves as it is, per dtype, and where order does not matter.

In: an operator, a dtype.  Out: a constant, or None where there is none.
Updates that several threads may make to one element at the same time.
"""

from __future__ import annotations

import math

import numpy as np

from polyopt.ir.expr import Binary, BinaryOp, Const, Expr, Load
from polyopt.ir.names import reads
from polyopt.ir.types import DType, Kind

_LATTICE = (BinaryOp.MIN, BinaryOp.MAX)
_BITS = (BinaryOp.AND, BinaryOp.OR, BinaryOp.XOR)


def identity(op: BinaryOp, dtype: DType) -> Const | None:
    """Return `e` with `e op x == x` for every `x` of the dtype, bit for bit.

    >>> identity(BinaryOp.MAX, DType.INT8)
    Const(value=-128, dtype=<DType.INT8: 'int8'>)
    >>> identity(BinaryOp.ADD, DType.FLOAT64)
    Const(value=-0.0, dtype=<DType.FLOAT64: 'float64'>)
    """
    match dtype.kind:
        case Kind.BOOL:
            return _of_bool(op)
        case Kind.SIGNED | Kind.UNSIGNED:
            return _of_integer(op, dtype)
        case Kind.FLOAT:
            values = {
                BinaryOp.ADD: -0.0,
                BinaryOp.MUL: 1.0,
                BinaryOp.MIN: math.inf,
                BinaryOp.MAX: -math.inf,
            }
            return Const(values[op], dtype) if op in values else None
        case Kind.COMPLEX:
            sums = {BinaryOp.ADD: complex(-0.0, -0.0)}
            return Const(sums[op], dtype) if op in sums else None


def _of_bool(op: BinaryOp) -> Const | None:
    values = {BinaryOp.AND: True, BinaryOp.OR: False, BinaryOp.XOR: False}
    return Const(values[op], DType.BOOL) if op in values else None


def _of_integer(op: BinaryOp, dtype: DType) -> Const | None:
    info = np.iinfo(dtype.value)
    ones = -1 if dtype.kind is Kind.SIGNED else int(info.max)
    values = {
        BinaryOp.ADD: 0,
        BinaryOp.MUL: 1,
        BinaryOp.MIN: int(info.max),
        BinaryOp.MAX: int(info.min),
        BinaryOp.AND: ones,
        BinaryOp.OR: 0,
        BinaryOp.XOR: 0,
    }
    return Const(values[op], dtype) if op in values else None


def is_exact(op: BinaryOp, dtype: DType) -> bool:
    """Tell whether the operations' order cannot be seen in the result."""
    if dtype.kind in (Kind.SIGNED, Kind.UNSIGNED):
        return op in (BinaryOp.ADD, BinaryOp.MUL, *_LATTICE, *_BITS)
    return dtype.kind is Kind.BOOL and op in _BITS


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
