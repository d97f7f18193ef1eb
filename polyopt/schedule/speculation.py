"""Compute scalars that a condition guards, and only code under the same condition reads, always.

In: a Program.  Out: the Program with the guards of such scalars' writes dropped (speculation:
S. Muchnick, "Advanced Compiler Design and Implementation", 1997, section 17.1): each iteration then
writes the scalar before it reads it, so that no dependence on an earlier iteration is left.
Leaves alone: values that read elements, call functions, or make integers of floats where the guard
does not, which may protect them; scalars that anything else reads; conditions that change before
the read.
"""

from __future__ import annotations

from collections.abc import Sequence

from polyopt.dataclass import replace
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Cast,
    Compare,
    Const,
    Expr,
    Iter,
    Load,
    Param,
    Symbol,
    Unary,
    UnaryOp,
    operands,
    walk,
)
from polyopt.ir.names import reads
from polyopt.ir.program import Program
from polyopt.ir.scop import Role, Scop, Statement
from polyopt.ir.types import DType

SAFE = frozenset({BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL, BinaryOp.DIV})


def with_speculated_scalars(program: Program) -> Program:
    """Return `program` with these guards dropped; one of several parts stays as it is."""
    match program.parts:
        case (Scop() as scop,):
            found = _speculated(scop)
            return program if found is scop else replace(program, parts=(found,))
        case _:
            return program


def _speculated(scop: Scop) -> Scop:
    scalars = {a.name for a in scop.arrays if a.role is Role.TEMP and not a.shape}
    guarded = {s.target.array for s in scop.statements if s.guard is not None} & scalars
    chosen = {name for name in guarded if _is_local(name, scop.statements)}
    if not chosen:
        return scop
    statements = tuple(
        replace(s, guard=None) if s.target.array in chosen else s for s in scop.statements
    )
    return replace(scop, statements=statements)


def _is_local(name: str, statements: Sequence[Statement]) -> bool:
    """Tell whether each read of a scalar follows a write under the same condition."""
    writes = [s for s in statements if s.target.array == name]
    if not all(s.guard is not None and _is_harmless(s.value, s.guard) for s in writes):
        return False
    if len({_conjuncts(s.guard) for s in writes}) > 1:
        return False  # which of them writes last depends on the conditions
    readers = [s for s in statements if any(load.array == name for load in s.loads)]
    return all(any(_covers(write, reader, statements) for write in writes) for reader in readers)


def _is_harmless(value: Expr, guard: Expr) -> bool:
    """Tell whether a value is arithmetic of floating-point numbers, or compares: neither can fail.

    The numbers are scalars, or what the guard computes in any case.
    """
    there = set(walk(guard))
    for part in walk(value):
        match part:
            case Load(index=()) | Const() | Symbol() | Param() | Iter():
                pass
            case _ if part in there:
                pass
            case Cast() if part.dtype.is_float and part.operand.dtype.is_integer:
                pass
            case Compare():
                pass
            case Binary(op=BinaryOp.AND | BinaryOp.OR) if part.dtype is DType.BOOL:
                pass
            case Unary(op=UnaryOp.INVERT) if part.dtype is DType.BOOL:
                pass
            case Binary(op=op) if op in SAFE and part.dtype.is_float:
                pass
            case Unary(op=UnaryOp.NEG) if part.dtype.is_float:
                pass
            case _:
                return False
    return True


def _covers(write: Statement, reader: Statement, statements: Sequence[Statement]) -> bool:
    """Tell whether `write` runs before `reader`, in the same iteration, wherever `reader` does."""
    if write is reader or write.iters != reader.iters or write.guard is None:
        return False
    depth = len(write.order) - 1
    if write.order[:-1] != reader.order[:-1] or place_of(write, depth) >= place_of(reader, depth):
        return False
    if not _conjuncts(write.guard) <= _conjuncts(reader.guard):
        return False
    renamed = reader.domain.set_tuple_name(write.domain.get_tuple_name())
    if not renamed.is_subset(write.domain):
        return False
    changed = changed_before(write, place_of(reader, depth), statements)
    return changed.isdisjoint(reads(write.guard))


def changed_before(first: Statement, place: int, statements: Sequence[Statement]) -> frozenset[str]:
    """Return what statements of the body of `first` write, from it on and before a place."""
    depth = len(first.order) - 1
    return frozenset(
        other.target.array
        for other in statements
        if len(other.order) > depth
        and other.order[:depth] == first.order[:depth]
        and place_of(first, depth) <= place_of(other, depth) < place
    )


def place_of(statement: Statement, depth: int) -> int:
    """Return a statement's place in the body of `depth` entries of its order."""
    place = statement.order[depth]
    assert isinstance(place, Const)
    return int(place.value.real)


def _conjuncts(guard: Expr | None) -> frozenset[Expr]:
    return frozenset() if guard is None else frozenset(operands(guard, BinaryOp.AND))
