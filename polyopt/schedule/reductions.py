"""Recognize reductions, and decide whether they are reassociable.

In: a Scop.  Out: each reduction with its operator, its form, and why its order is open or fixed.
Recognizes, in any loop, `s = s + x`, `s = x if x > s else s`, `if x > s: s = x`, and the position
of an extremum kept beside it; under any condition that does not read the accumulator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum, unique

from polyopt.dataclass import dataclass, replace
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Expr,
    Load,
    Select,
    Unary,
    UnaryOp,
)
from polyopt.ir.extremum import chosen
from polyopt.ir.integers import OPPOSITE
from polyopt.ir.names import iterators, reads
from polyopt.ir.program import Part, Parts, Program, Repeat
from polyopt.ir.scan import COMBINING, NoScan, parted
from polyopt.ir.scop import Reduction, Role, Scop, Statement
from polyopt.ir.types import DType
from polyopt.schedule.commutative_updates import reads_itself_once

FOLDING = frozenset(
    {
        *(BinaryOp.ADD, BinaryOp.MUL, BinaryOp.MIN, BinaryOp.MAX),
        *(BinaryOp.AND, BinaryOp.OR, BinaryOp.XOR),
    }
)


@unique
class Form(Enum):
    """The syntactic form of a reduction."""

    UPDATE = "update"  # s = s + x
    CHOICE = "choice"  # s = x if x > s else s
    GUARDED = "guarded"  # if x > s: s = x
    PLACE = "place"  # if x > s: s = x; k = i


@dataclass(frozen=True, slots=True)
class FoundReduction:
    """A reduction: its statements, the first of which updates `target` by `op`.

    `open`: the source leaves the order open, or no order changes the result.  `conditional`: some
    iterations do not update the target.  `marked`: `fp="reassociate"` opens the order.
    """

    statements: tuple[str, ...]
    op: BinaryOp
    target: Load
    form: Form
    open: bool
    conditional: bool
    marked: bool


def find_reductions(scop: Scop) -> tuple[FoundReduction, ...]:
    """Return the reductions of a Scop, in textual order."""
    return tuple(_found(scop))


def _found(scop: Scop) -> Iterator[FoundReduction]:
    for statement in scop.statements:
        update = accumulation(statement)
        if update is not None:
            op, form = update
            yield FoundReduction(
                (statement.name,),
                op,
                statement.target,
                form,
                statement.is_reassociable or _is_join(statement),
                statement.guard is not None,
                statement.reduction is not None,
            )
            continue
        yield from _guarded(scop, statement)


def _is_join(statement: Statement) -> bool:
    """Tell whether a statement joins partial results of a reassociable reduction."""
    is_copy = statement.origin is not None and not statement.origin.statement
    return is_copy and statement.reduction is not None


def accumulation(statement: Statement) -> tuple[BinaryOp, Form] | None:
    """Return operator and form of `target = target op rest`, in any loops."""
    value, target = statement.value, statement.target
    if statement.guard is not None and target.array in reads(statement.guard):
        return None
    match value:
        case Binary(op=op, left=left, right=right) if op in FOLDING | {BinaryOp.SUB}:
            if left == target and target.array not in reads(right):
                return (BinaryOp.ADD if op is BinaryOp.SUB else op), Form.UPDATE
            if right == target and op in FOLDING and target.array not in reads(left):
                return op, Form.UPDATE
        case Select(condition=Compare() as test, then=then, otherwise=other):
            if other == target:
                return _extremum(test, then, target, Form.CHOICE)
            if then == target:
                opposite = replace(test, op=OPPOSITE[test.op])
                return _extremum(opposite, other, target, Form.CHOICE)
        case _:
            pass
    return None


def _extremum(test: Compare, fresh: Expr, target: Load, form: Form) -> tuple[BinaryOp, Form] | None:
    """Return MAX or MIN if `test` compares `fresh` with `target`."""
    if target.array in reads(fresh):
        return None
    match test:
        case Compare(op=CompareOp.GT | CompareOp.GE, left=left, right=right):
            greater, smaller = left, right
        case Compare(op=CompareOp.LT | CompareOp.LE, left=left, right=right):
            greater, smaller = right, left
        case _:
            return None
    if greater == fresh and smaller == target:
        return BinaryOp.MAX, form
    if greater == target and smaller == fresh:
        return BinaryOp.MIN, form
    return None


def _guarded(scop: Scop, statement: Statement) -> Iterator[FoundReduction]:
    """Yield `if x > s: s = x`, with the other statements under the same condition."""
    guard = statement.guard
    if guard is None:
        return
    test, maker = _test_of(scop, guard)
    if test is None:
        return
    found = _extremum(test, statement.value, statement.target, Form.GUARDED)
    if found is None:
        return
    places = tuple(
        other.name
        for other in scop.statements
        if other is not statement
        and maker is not None
        and other.guard == guard
        and scop.array(other.target.array).role is not Role.FAULT
        and not reads(other.value) & {other.target.array, statement.target.array}
    )
    names = (statement.name, *places)
    form = Form.PLACE if places else Form.GUARDED
    yield FoundReduction(names, found[0], statement.target, form, False, True, False)


def _test_of(scop: Scop, guard: Expr) -> tuple[Compare | None, Statement | None]:
    """Return the comparison of a guard, and the statement that computes it, if any."""
    if isinstance(guard, Compare):
        return guard, None
    if isinstance(guard, Load):
        makers = [s for s in scop.statements if s.target.array == guard.array]
        if len(makers) == 1 and isinstance(makers[0].value, Compare):
            return makers[0].value, makers[0]
    return None, None


def reassociated(program: Program, *, choices: bool = False) -> Program:
    """Return `program` with all its updates reassociable, as `fp="reassociate"` asks.

    `choices`: extrema written as choices, too.
    """
    parts = changed_parts(program.parts, opened)
    return replace(program, parts=changed_parts(parts, _chosen) if choices else parts)


def rounding(program: Program) -> Program:
    """Return `program` with operands of sums of products roundable to tf32, as `fp="fast"` asks."""
    return replace(program, parts=changed_parts(program.parts, _rounding))


def changed_parts(parts: Parts, change: Callable[[Scop], Scop]) -> Parts:
    """Return `parts` with every static control part changed."""

    def renewed(part: Part) -> Part:
        match part:
            case Scop():
                return change(part)
            case Repeat():
                return replace(part, body=changed_parts(part.body, change))
            case _:
                return part

    return tuple(map(renewed, parts))


def changed_statements(parts: Parts, change: Callable[[Statement], Statement]) -> Parts:
    """Return `parts` with every statement changed; parts without changes are kept."""

    def renewed(scop: Scop) -> Scop:
        statements = tuple(map(change, scop.statements))
        return scop if statements == scop.statements else replace(scop, statements=statements)

    return changed_parts(parts, renewed)


def _rounding(scop: Scop) -> Scop:
    def renewed(statement: Statement) -> Statement:
        match statement:
            case Statement(
                reduction=Reduction() as reduction,
                value=Binary(op=BinaryOp.ADD, dtype=DType.FLOAT32, right=Binary(op=BinaryOp.MUL)),
            ):
                return replace(statement, reduction=replace(reduction, rounds=True))
            case _:
                return statement

    return replace(scop, statements=tuple(map(renewed, scop.statements)))


def _chosen(scop: Scop) -> Scop:
    """Return `scop` with extrema that are written as choices reassociable."""

    def renewed(statement: Statement) -> Statement:
        op = chosen(statement.value, statement.target)
        if statement.reduction is not None or statement.guard is not None or op is None:
            return statement
        return replace(statement, reduction=Reduction(op, True))

    return replace(scop, statements=tuple(map(renewed, scop.statements)))


def _is_chain(statement: Statement) -> bool:
    """Tell whether a statement is `a[i] = a[i - 1] op x`, not of half-precision numbers."""
    target, value = statement.target, statement.value
    if statement.guard is not None or target.dtype.is_half or not isinstance(value, Binary):
        return False
    try:
        before, _ = parted(target, value)
    except NoScan:
        return False
    return value.op in COMBINING and before.index != target.index


def _is_product_sum(statement: Statement) -> bool:
    """Tell whether a statement adds products to an element that some loop keeps fixed.

    Unlike a reduction's, its terms may read other elements of the array.
    """
    target, value = statement.target, statement.value
    if target.dtype not in (DType.FLOAT32, DType.FLOAT64) or not isinstance(value, Binary):
        return False
    if iterators(*target.index) >= set(statement.iters):
        return False
    sides = [value.left] if value.op is BinaryOp.SUB else [value.left, value.right]
    if value.op not in (BinaryOp.ADD, BinaryOp.SUB) or target not in sides:
        return False
    term = value.right if value.left == target else value.left
    return isinstance(term, Binary) and term.op is BinaryOp.MUL


def _is_in_place(statement: Statement) -> bool:
    """Tell whether the added products only read elements other than the target.

    Such a sum is as reassociable as any other; reads of the other elements keep their order with
    these updates.
    """
    target, value = statement.target, statement.value
    if statement.guard is not None or not statement.write.exact:
        return False
    if not isinstance(value, Binary) or value.left != target:
        return False
    return reads_itself_once(statement)


def _as_sum(statement: Statement) -> Statement:
    """Return a statement that adds or subtracts as a reassociable sum."""
    value = statement.value
    if isinstance(value, Binary) and value.op is BinaryOp.SUB:
        negated = Unary(UnaryOp.NEG, value.right, value.dtype)
        value = replace(value, op=BinaryOp.ADD, right=negated)
    return replace(statement, value=value, reduction=Reduction(BinaryOp.ADD, True))


def opened(scop: Scop) -> Scop:
    """Return `scop` with all its updates reassociable; itself if they already are."""

    def renewed(statement: Statement) -> Statement:
        if statement.reduction is None and _is_chain(statement) and not statement.regroups:
            return replace(statement, regroups=True)
        if statement.reduction is None and _is_product_sum(statement) and _is_in_place(statement):
            return _as_sum(statement)
        if statement.reduction is None or statement.reduction.reassociable:
            return statement
        if statement.target.dtype.is_half and statement.reduction.op in (
            BinaryOp.ADD,
            BinaryOp.MUL,
        ):
            return statement  # partial results are numbers of 32 bits: the others' are rounded
        return replace(statement, reduction=replace(statement.reduction, reassociable=True))

    statements = tuple(map(renewed, scop.statements))
    if all(new is old for new, old in zip(statements, scop.statements, strict=True)):
        return scop
    return replace(scop, statements=statements)
