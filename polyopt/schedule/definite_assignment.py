"""Set scalars under conditions anew in each iteration, where some write comes before each read.

In: a Program.  Out: the Program in which each such scalar is set before its first write under a
condition, to that write's value if this is a constant, else to 0: no iteration reads what an
earlier one left, so that no dependence says so (definite assignment: J. Gosling and others, "The
Java Language Specification", Java SE 8 Edition, chapter 16).
Leaves alone: scalars that a read may find unset, conditions that change before the read, those with
more than `MOST` comparisons, and writes under a condition that one test before the loop decides.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

import islpy as isl

from polyopt.dataclass import replace
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    Const,
    Expr,
    Unary,
    UnaryOp,
    integer,
    operands,
)
from polyopt.ir.integers import is_total, opposite
from polyopt.ir.names import fresh_name, has_iterator, reads
from polyopt.ir.program import Program
from polyopt.ir.scop import Role, Scop, Statement
from polyopt.ir.types import DType
from polyopt.schedule.speculation import changed_before, place_of

MOST = 8
"""Comparisons whose combinations are tried."""


def with_set_scalars(program: Program) -> Program:
    """Return `program` with these scalars set first, by further statements where necessary."""
    parts = tuple(
        _with_set_scalars(part) if isinstance(part, Scop) else part for part in program.parts
    )
    return program if parts == program.parts else replace(program, parts=parts)


def _with_set_scalars(scop: Scop) -> Scop:
    for array in scop.arrays:
        if array.role is Role.TEMP and not array.shape:
            for first, *others in _groups(array.name, scop.statements):
                if _is_set([first, *others], scop.statements):
                    scop = _begun(first.name, scop)
    return scop


def _groups(name: str, statements: Sequence[Statement]) -> list[list[Statement]]:
    """Return the writes of a scalar by the body they stand in, of bodies with conditions on all."""
    bodies: dict[tuple[Expr, ...], list[Statement]] = {}
    for statement in statements:
        if statement.target.array == name:
            bodies.setdefault(statement.order[:-1], []).append(statement)
    return [body for body in bodies.values() if all(s.guard is not None for s in body)]


def _is_set(writes: Sequence[Statement], statements: Sequence[Statement]) -> bool:
    """Tell whether each read of a scalar finds what it found if `writes` start anew."""
    first = writes[0]
    name = first.target.array
    depth = len(first.order) - 1
    domain = _unnamed(first)
    if not all(_unnamed(other).is_equal(domain) for other in writes) or _waits(writes, statements):
        return False
    after = place_of(writes[-1], depth) + 1
    is_always = _is_decided(writes, None, after, statements)
    readers = [s for s in statements if any(load.array == name for load in s.loads)]
    if any(load.array == name for load in first.loads):
        return False  # it reads what an earlier iteration left
    for reader in readers:
        if _is_inside(reader, first):
            if not _is_decided(writes, reader.guard, place_of(reader, depth), statements):
                return False
        elif not is_always:
            return False
    return bool(readers)


def _waits(writes: Sequence[Statement], statements: Sequence[Statement]) -> bool:
    """Tell whether all writes stand under a condition that may be asked before their loop."""
    first = writes[0]
    if not first.iters:
        return False
    here = {s.target.array for s in statements if s.order[:-1] == first.order[:-1]}
    conjuncts = [set(operands(s.guard, BinaryOp.AND)) for s in writes if s.guard is not None]
    return any(
        not reads(part) & here and not has_iterator(part, first.iters[-1:])
        for part in set.intersection(*conjuncts)
    )


def _is_inside(reader: Statement, first: Statement) -> bool:
    """Tell whether a statement runs in the same iteration as `first`, after it."""
    depth = len(first.order) - 1
    if len(reader.order) <= depth or reader.order[:depth] != first.order[:depth]:
        return False
    inner = len(reader.iters) - len(first.iters)
    around = _unnamed(reader).project_out(isl.dim_type.set, len(first.iters), inner)
    return place_of(reader, depth) > place_of(first, depth) and bool(
        around.is_subset(_unnamed(first))
    )


def _is_decided(
    writes: Sequence[Statement],
    condition: Expr | None,
    place: int,
    statements: Sequence[Statement],
) -> bool:
    """Tell whether one of `writes` happens before a place in the body where `condition` holds."""
    first = writes[0]
    depth = len(first.order) - 1
    before = [write for write in writes if place_of(write, depth) < place]
    guards = [write.guard for write in before if write.guard is not None]
    changed = changed_before(first, place, statements)
    return not any(changed & reads(guard) for guard in guards) and _implies(condition, guards)


def _implies(condition: Expr | None, guards: Sequence[Expr]) -> bool:
    """Tell whether one of `guards` holds wherever `condition` does, whatever comparisons say."""
    atoms: dict[Expr, None] = {}
    for guard in (*guards, *([] if condition is None else [condition])):
        atoms.update(dict.fromkeys(map(_positive, _atoms(guard))))
    if len(atoms) > MOST:
        return False
    for values in itertools.product((False, True), repeat=len(atoms)):
        known = dict(zip(atoms, values, strict=True))
        is_reached = condition is None or _holds(condition, known)
        if is_reached and not any(_holds(guard, known) for guard in guards):
            return False
    return True


def _atoms(condition: Expr) -> Iterator[Expr]:
    match condition:
        case Binary(op=BinaryOp.AND | BinaryOp.OR, dtype=DType.BOOL):
            yield from _atoms(condition.left)
            yield from _atoms(condition.right)
        case Unary(op=UnaryOp.INVERT, dtype=DType.BOOL):
            yield from _atoms(condition.operand)
        case _:
            yield condition


def _positive(atom: Expr) -> Expr:
    """Return one of a comparison and its opposite for both."""
    if isinstance(atom, Compare) and is_total(atom):
        return min(atom, opposite(atom), key=lambda c: c.op.name)
    return atom


def _holds(condition: Expr, known: Mapping[Expr, bool]) -> bool:
    match condition:
        case Binary(op=BinaryOp.AND, dtype=DType.BOOL):
            return _holds(condition.left, known) and _holds(condition.right, known)
        case Binary(op=BinaryOp.OR, dtype=DType.BOOL):
            return _holds(condition.left, known) or _holds(condition.right, known)
        case Unary(op=UnaryOp.INVERT, dtype=DType.BOOL):
            return not _holds(condition.operand, known)
        case _:
            atom = _positive(condition)
            return known[atom] is (atom == condition)


def _begun(name: str, scop: Scop) -> Scop:
    """Return the Scop with a scalar set where its first write, statement `name`, stands."""
    first = scop.statement(name)
    if isinstance(first.value, Const):
        always = replace(first, guard=None)
        statements = (always if s is first else s for s in scop.statements)
        return replace(scop, statements=tuple(statements))
    depth = len(first.order) - 1
    found: list[Statement] = []
    for statement in scop.statements:
        order = statement.order
        if len(order) > depth and order[:depth] == first.order[:depth]:
            place = integer(2 * place_of(statement, depth) + 1)
            statement = statement.at((*order[:depth], place, *order[depth + 1 :]))
        if statement.name == first.name:
            found.append(_start(statement, scop))
        found.append(statement)
    return replace(scop, statements=tuple(found))


def _start(first: Statement, scop: Scop) -> Statement:
    """Return the statement that sets a scalar to 0, in the place before its first write."""
    name = fresh_name(f"{first.target.array}_start", (s.name for s in scop.statements))
    dtype = first.target.dtype
    zero = Const(0.0 if dtype.is_float else False if dtype is DType.BOOL else 0, dtype)
    place = integer(place_of(first, len(first.order) - 1) - 1)
    domain = first.domain.set_tuple_name(name)
    return Statement(
        name,
        first.iters,
        domain,
        (*first.order[:-1], place),
        first.target,
        zero,
        first.loc,
        first.text,
        loops=first.loops,
    )


def _unnamed(statement: Statement) -> isl.Set:
    return statement.domain.reset_tuple_id()
