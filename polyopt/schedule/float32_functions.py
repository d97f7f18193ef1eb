"""Compute functions of float32 numbers in float32 where Python computes them in float64.

In: a Program; `fp="reassociate"` allows it.  Out: the same with `float32(f(float64(x)))` as `f(x)`
in float32, which is within the function's documented units of the last place, not within a half.
Temporaries that are only read as float32 are stored as float32, which changes no bit.
Leaves alone: results that are used in float64, arguments computed in float64, gamma functions.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from polyopt.dataclass import replace
from polyopt.ir.expr import Call, Cast, Expr, Load, MathFunc, rewrite, walk
from polyopt.ir.program import Program
from polyopt.ir.scop import Array, Role, Scop, Statement
from polyopt.ir.types import DType
from polyopt.schedule.reductions import changed_parts

_NARROWED = (
    *(MathFunc.EXP, MathFunc.EXP2, MathFunc.EXPM1, MathFunc.LOG, MathFunc.LOG2, MathFunc.LOG10),
    *(MathFunc.LOG1P, MathFunc.SIN, MathFunc.COS, MathFunc.ASIN, MathFunc.ACOS, MathFunc.ATAN),
    *(MathFunc.SINH, MathFunc.COSH, MathFunc.TANH, MathFunc.ERF, MathFunc.SQRT),
)


def with_float32_functions(program: Program) -> Program:
    """Return `program` with functions between conversions of float32 numbers in float32."""
    single = _single(program.scops)
    parts = changed_parts(program.parts, lambda scop: _renewed(scop, single))
    return replace(program, parts=parts, arrays=_retyped(program.arrays, single))


def _single(scops: Sequence[Scop]) -> frozenset[str]:
    """Return the float64 temporaries whose reads are all converted to float32."""
    found = {array.name for scop in scops for array in scop.arrays} - {
        array.name
        for scop in scops
        for array in scop.arrays
        if array.role is not Role.TEMP or array.dtype is not DType.FLOAT64
    }
    if found:
        for statement in (statement for scop in scops for statement in scop.statements):
            guard = () if statement.guard is None else (statement.guard,)
            for expr in (statement.value, *guard, *statement.target.index):
                found -= {
                    part.array
                    for part in walk(_converted(expr, found))
                    if isinstance(part, Load) and part.dtype is DType.FLOAT64
                }
    return frozenset(found)


def _converted(expr: Expr, single: Container[str]) -> Expr:
    """Return `expr` with conversions of elements of `single` to float32 removed."""

    def rule(part: Expr) -> Expr | None:
        match part:
            case Cast(
                operand=Load(array=name, index=index, dtype=DType.FLOAT64), dtype=DType.FLOAT32
            ) if name in single:
                return Load(name, index, DType.FLOAT32)
            case _:
                return None

    return rewrite(expr, rule)


def _renewed(scop: Scop, single: frozenset[str]) -> Scop:
    statements = tuple(_statement(statement, single) for statement in scop.statements)
    if all(new is old for new, old in zip(statements, scop.statements, strict=True)):
        return scop
    return replace(scop, statements=statements, arrays=_retyped(scop.arrays, single))


def _statement(statement: Statement, single: frozenset[str]) -> Statement:
    value, guard, target = statement.value, statement.guard, statement.target
    if single:
        value = _converted(value, single)
        guard = None if guard is None else _converted(guard, single)
    if target.array in single:
        target = Load(target.array, target.index, DType.FLOAT32)
        value = Cast(value, DType.FLOAT32)
    value = rewrite(value, _narrowed)
    if value is statement.value and guard is statement.guard:
        return statement
    return replace(statement, value=value, guard=guard, target=target)


def _narrowed(part: Expr) -> Expr | None:
    match part:
        case Cast(operand=Cast(operand=operand, dtype=DType.FLOAT64), dtype=DType.FLOAT32) if (
            operand.dtype is DType.FLOAT32
        ):
            return rewrite(operand, _narrowed)
        case Cast(
            operand=Call(func=func, args=(Cast(operand=argument),), dtype=DType.FLOAT64),
            dtype=DType.FLOAT32,
        ) if func in _NARROWED and argument.dtype is DType.FLOAT32:
            return Call(func, (rewrite(argument, _narrowed),), DType.FLOAT32)
        case _:
            return None


def _retyped(arrays: tuple[Array, ...], single: frozenset[str]) -> tuple[Array, ...]:
    return tuple(
        replace(array, dtype=DType.FLOAT32) if array.name in single else array for array in arrays
    )
