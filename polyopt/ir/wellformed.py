"""What every program and every kernel's loops must be, whoever wrote the record.

In: a `Program` and a `LoopFunction`.  Out: nothing.
Refuses with `RecordError`: arrays and signature that do not fit, names that stand for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from polyopt.ir.expr import Expr, Load, loads
from polyopt.ir.loops import LoopFunction
from polyopt.ir.program import Allocate, Bind, Invoke, Program, Repeat, all_parts
from polyopt.ir.record_sets import RecordError
from polyopt.ir.scop import Array, Role, Scop, Statement
from polyopt.ir.showing import show
from polyopt.ir.source import ArrayArg, Signature

_PASSING: Final = {Role.TEMP, Role.OUTPUT}
"""Roles of arrays that are INOUT in a part of several: their contents pass between parts."""


def check_program(program: Program) -> None:
    """Check that arrays, signature and statements belong together; raises `RecordError`."""
    arrays = _named(program.arrays)
    _check_signature(program.signature, arrays)
    for part in all_parts(program.parts):
        match part:
            case Scop():
                for array in part.arrays:
                    _check_same(array, arrays, program.is_static)
                for statement in part.statements:
                    _check_statement(statement, _named(part.arrays))
            case Bind(value=value):
                _check_loads(loads(value), arrays)
            case Repeat(going=Load() as going):
                _check_loads((going,), arrays)
            case Allocate(array=name):
                _known(name, arrays)
            case Invoke(inputs=inputs, outputs=outputs):
                for name in (*inputs, *outputs):
                    _known(name, arrays)
            case _:
                pass


def check_loops(loops: LoopFunction, program: Program) -> None:
    """Check that a kernel is called as `program` is, on the same arrays; raises `RecordError`."""
    if loops.signature != program.signature or loops.name != program.name:
        raise RecordError("the loops are called in another way than the program")
    arrays = _named(loops.arrays)
    kept = {a.name: a for a in program.arrays if a.role is not Role.TEMP}
    for name, array in kept.items():
        if arrays.get(name, array) != array:
            raise RecordError(f"`{name}` is another array in the loops than in the program")
    for name, array in arrays.items():
        if array.role is not Role.TEMP and name not in kept:
            raise RecordError(f"`{name}` is no array of the program")


def _named(arrays: tuple[Array, ...]) -> Mapping[str, Array]:
    found = {array.name: array for array in arrays}
    if len(found) != len(arrays):
        raise RecordError("two arrays have one name")
    return found


def _known(name: str, arrays: Mapping[str, Array]) -> Array:
    if name not in arrays:
        raise RecordError(f"there is no array `{name}`")
    return arrays[name]


def _check_signature(signature: Signature, arrays: Mapping[str, Array]) -> None:
    """Arrays of the caller are INPUT, or INOUT where they are written; outputs are OUTPUT."""
    roles: dict[str, Role] = {}
    for argument in signature.arguments:
        if isinstance(argument, ArrayArg) and argument.part is None:
            array = _known(argument.array, arrays)
            roles[array.name] = Role.INOUT if argument.written else Role.INPUT
            if (array.dtype, array.layout) != (argument.dtype, argument.layout):
                raise RecordError(f"the argument `{argument.name}` is another array")
    for output in signature.outputs:
        array = _known(output.array, arrays)
        roles[array.name] = Role.OUTPUT
        if (array.dtype, array.shape) != (output.dtype, output.shape):
            raise RecordError(f"the output `{output.array}` is another array")
    for array in arrays.values():
        expected = roles.get(array.name)
        if expected is None and array.role not in (Role.TEMP, Role.FAULT):
            raise RecordError(f"nobody passes or takes the array `{array.name}`")
        if expected is not None and not _fits(array.role, expected):
            raise RecordError(f"the array `{array.name}` is {array.role.value}")


def _fits(role: Role, expected: Role) -> bool:
    """An argument that is only passed on may be known as one that is read."""
    return role is expected or (role is Role.INPUT and expected is Role.INOUT)


def _check_same(array: Array, arrays: Mapping[str, Array], alone: bool) -> None:
    """A part's array is the program's, or an INOUT for one whose contents pass between parts."""
    whole = _known(array.name, arrays)
    same = (array.dtype, array.shape, array.layout) == (whole.dtype, whole.shape, whole.layout)
    passes = not alone and array.role is Role.INOUT and whole.role in _PASSING
    if not same or not (array.role is whole.role or passes):
        raise RecordError(f"`{array.name}` is another array in a part than in the program")


def _check_statement(statement: Statement, arrays: Mapping[str, Array]) -> None:
    _check_loads(_statement_loads(statement), arrays)
    if _known(statement.target.array, arrays).role is Role.INPUT:
        raise RecordError(f"{statement.name} writes an array that is only read")


def _statement_loads(statement: Statement) -> Iterator[Load]:
    exprs: list[Expr] = [statement.target, statement.value, *statement.order]
    exprs += [] if statement.guard is None else [statement.guard]
    for expr in exprs:
        yield from loads(expr)


def _check_loads(found: Iterable[Load], arrays: Mapping[str, Array]) -> None:
    for load in found:
        array = _known(load.array, arrays)
        if load.dtype is not array.dtype or len(load.index) != len(array.shape):
            raise RecordError(f"`{show(load)}` is no element of {array.name}")
