"""Hash semantics: every instance mixes its operands, so any change of order changes the result.

In: a Scop of any dtypes.  Out: the same domains, accesses and order over uint64 arrays.
Refuses: subscripts that read arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Cast,
    Compare,
    CompareOp,
    Const,
    Expr,
    Iter,
    Load,
    children,
    loads,
    walk,
)
from polyopt.ir.integers import evaluate
from polyopt.ir.scop import Array, Role, Scop, Statement
from polyopt.ir.types import DType

U64 = DType.UINT64
ODD = 0x9E3779B97F4A7C15
OTHER_ODD = 0xC2B2AE3D27D4EB4F
_JOINING = (
    *(BinaryOp.ADD, BinaryOp.MUL, BinaryOp.MIN, BinaryOp.MAX),
    *(BinaryOp.AND, BinaryOp.OR, BinaryOp.XOR),
)


def hashed(scop: Scop, keep_reductions: bool = True) -> Scop:
    """Return `scop` with every value replaced by a hash of what the value reads.

    With `keep_reductions` a reassociable reduction joins a hash of the rest to its target by its
    own operator; on these numbers all are exact in any order.  Guards keep their reads.
    """
    for statement in scop.statements:
        for part in walk(statement.value):
            if isinstance(part, Load) and any(isinstance(p, Load) for p in _inside(part)):
                raise TypeError(f"{statement.name} reads an array in a subscript")
    statements = tuple(
        _hash_statement(statement, number, keep_reductions)
        for number, statement in enumerate(scop.statements)
    )
    arrays = tuple(replace(array, dtype=U64) for array in scop.arrays)
    return replace(scop, arrays=arrays, statements=statements)


def exact(scop: Scop, dtype: DType) -> Scop:
    """Return `scop` over floats whose operations are exact on small integers in any order.

    A value is the sum of what it reads and its statement's number; sums and products become sums.
    """
    statements = tuple(_exact_statement(s, n, dtype) for n, s in enumerate(scop.statements))
    arrays = tuple(replace(array, dtype=dtype) for array in scop.arrays)
    return replace(scop, arrays=arrays, statements=statements)


def _exact_statement(statement: Statement, number: int, dtype: DType) -> Statement:
    target = replace(statement.target, dtype=dtype)
    reduction, own = statement.reduction, False
    value: Expr = Const(float(number % 3 - 1), dtype)
    for position, load in enumerate(loads(statement.value)):
        if reduction is not None and load == statement.target and not own:
            own = True
            continue
        op = (BinaryOp.ADD, BinaryOp.SUB)[position % 2]
        value = Binary(op, value, replace(load, dtype=dtype), dtype)
    if reduction is not None:
        op = reduction.op if reduction.op in (BinaryOp.MIN, BinaryOp.MAX) else BinaryOp.ADD
        reduction = replace(reduction, op=op)
        value = Binary(op, target, value, dtype)
    guard = None
    if statement.guard is not None:
        first = replace(loads(statement.guard)[0], dtype=dtype)
        guard = Compare(CompareOp.GT, first, Const(0.0, dtype))
    return replace(statement, target=target, value=value, guard=guard, reduction=reduction)


def _inside(load: Load) -> list[Expr]:
    return [part for index in load.index for part in walk(index)]


def _hash_statement(statement: Statement, number: int, keep_reductions: bool) -> Statement:
    target = replace(statement.target, dtype=U64)
    reduction = statement.reduction
    free = keep_reductions and reduction is not None and reduction.reassociable
    guard = None
    if statement.guard is not None:
        low = _binary(BinaryOp.AND, mix(number + 1000, operands(statement.guard)), _const(3))
        guard = Compare(CompareOp.NE, low, _const(0))
    if free:
        rest = operands(statement.value)
        own = next(n for n, part in enumerate(rest) if part == target)
        assert reduction is not None
        op = reduction.op if reduction.op in _JOINING else BinaryOp.ADD
        value = _binary(op, target, mix(number, (*rest[:own], *rest[own + 1 :])))
        reduction = replace(reduction, op=op)
    else:
        value, reduction = mix(number, operands(statement.value)), None
    return replace(statement, target=target, value=value, guard=guard, reduction=reduction)


def operands(expr: Expr) -> tuple[Expr, ...]:
    """Return the loads and iterators of `expr` as uint64 values, left to right."""
    match expr:
        case Load():
            return (replace(expr, dtype=U64),)
        case Iter():
            return (Cast(expr, U64),)
        case _:
            return tuple(part for child in children(expr) for part in operands(child))


def mix(number: int, values: tuple[Expr, ...]) -> Expr:
    """Return a hash of `number` and `values` in which their order counts."""
    result: Expr = _const((number + 1) * OTHER_ODD)
    for position, value in enumerate(values):
        op, factor = ((BinaryOp.XOR, ODD), (BinaryOp.ADD, OTHER_ODD))[position % 2]
        result = _binary(BinaryOp.MUL, _binary(op, result, value), _const(factor))
    return result


def _const(value: int) -> Const:
    return Const(value % 2**64, U64)


def _binary(op: BinaryOp, left: Expr, right: Expr) -> Binary:
    return Binary(op, left, right, U64)


def random_arrays(
    arrays: tuple[Array, ...], params: Mapping[str, int], seed: int
) -> dict[str, np.ndarray[Any, Any]]:
    """Return seeded contents for every array that is not TEMP."""
    rng = np.random.default_rng(seed)
    result = {}
    for array in arrays:
        if array.role is Role.TEMP:
            continue
        shape = tuple(max(0, evaluate(extent, params)) for extent in array.shape)
        raw = rng.integers(0, 2**63, size=shape, dtype=np.uint64)
        if array.dtype is U64:
            result[array.name] = np.asarray(raw)
        elif array.dtype.is_integer or array.dtype is DType.BOOL:
            result[array.name] = np.asarray(raw % 100).astype(array.dtype.numpy)
        else:
            result[array.name] = np.asarray(rng.random(shape)).astype(array.dtype.numpy)
    return result
