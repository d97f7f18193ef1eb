"""Vectorize reassociable reductions, with an accumulator for each SIMD lane.

In: innermost loops that update an accumulator by a reassociable statement, sequential or VECTOR.
Out: VECTOR loops over a local, named in `reductions`; its value is stored after the loop.
Leaves in order: VECTOR loops whose accumulator cannot be a local, or whose operator OpenMP lacks;
short sums and recurrences; sums inside of VECTOR loops.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from polyopt.dataclass import dataclass, replace
from polyopt.emit.lanes import is_contiguous, row_arrays
from polyopt.emit.passes.disjoint import LoopBox
from polyopt.emit.passes.rewriting import Names, trip_count
from polyopt.emit.passes.scalar_replacement import Cell
from polyopt.emit.passes.unroll import unrolled
from polyopt.emit.ranges import extent_of
from polyopt.emit.regions import declared_names
from polyopt.ir.clock import checkpoint
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Call,
    Compare,
    CompareOp,
    Expr,
    Iter,
    Load,
    MathFunc,
    Symbol,
    VectorLoad,
    operands,
    sub,
    walk,
)
from polyopt.ir.extremum import chosen
from polyopt.ir.linear import linear
from polyopt.ir.loops import (
    Assign,
    Body,
    Declare,
    For,
    If,
    LoopFunction,
    LoopKind,
    Node,
    SetLocal,
    While,
)
from polyopt.ir.nodes import all_nodes, changed, map_bodies
from polyopt.ir.scop import Role
from polyopt.ir.types import DType

_OPERATORS = frozenset(
    {
        *(BinaryOp.ADD, BinaryOp.MUL, BinaryOp.MIN, BinaryOp.MAX),
        *(BinaryOp.AND, BinaryOp.OR, BinaryOp.XOR),
    }
)


SHORT = 16
"""Iterations of a recurrence up to which lanes gain nothing."""
FEW = 8
"""Iterations from which on lanes can gain something: fewer are one vector at most, and its ends."""


def vectorize_reductions(fn: LoopFunction) -> LoopFunction:
    """Return `fn` with the reductions of its innermost loops on lanes, the others in order."""
    names = Names(fn)
    rows = row_arrays(fn)
    faults = frozenset(a.name for a in fn.arrays if a.role is Role.FAULT)

    def rule(node: Node, around: tuple[For, ...]) -> Body:
        if not isinstance(node, For) or node.reductions:
            return (node,)
        lanes = partial(_on_lanes, around, fn.reassociable, names, faults)
        match node.kind:
            case LoopKind.VECTOR:
                done = lanes(_with_copies(node, names))
                return done if _found_reduction(done) else lanes(node)
            case LoopKind.SEQUENTIAL if any(loop.kind is LoopKind.VECTOR for loop in around):
                return (node,)  # each lane has a sum of its own
            case LoopKind.SEQUENTIAL if node.step == 1 and is_contiguous(node, rows):
                done = lanes(replace(node, kind=LoopKind.VECTOR))
                return done if _found_reduction(done) else (node,)
            case _:
                return (node,)

    return replace(fn, body=_inside(fn.body, (), rule))


def _inside(
    body: Body, around: tuple[For, ...], rule: Callable[[Node, tuple[For, ...]], Body]
) -> Body:
    """Return `body`, which loops are around, with every node replaced, innermost first."""
    found: list[Node] = []
    for node in body:
        checkpoint()
        loops = (*around, node) if isinstance(node, For) else around
        found += rule(map_bodies(node, _inside, loops, rule), around)
    return tuple(found)


def _with_copies(loop: For, names: Names) -> For:
    """Return `loop` with the UNROLL loops directly in it replaced by copies of their bodies."""
    body: list[Node] = []
    for node in loop.body:
        is_short = isinstance(node, For) and node.kind is LoopKind.UNROLL
        body += unrolled(node, names) if isinstance(node, For) and is_short else (node,)
    return replace(loop, body=tuple(body))


def _found_reduction(body: Body) -> bool:
    return any(isinstance(node, For) and node.reductions for node in all_nodes(body))


@dataclass(frozen=True, slots=True)
class _Accumulator:
    """What a loop accumulates into: an array element or a local, and the operator."""

    target: Load | Symbol
    op: BinaryOp | None


def _on_lanes(
    around: tuple[For, ...],
    reassociable: frozenset[str],
    names: Names,
    faults: frozenset[str],
    loop: For,
) -> Body:
    """Return a VECTOR loop inside others with its accumulators as reductions, or in order."""
    own = declared_names(loop.body)
    found: dict[Load | Symbol, list[BinaryOp | None]] = {}
    for node in all_nodes(loop.body):
        target: Load | Symbol
        match node:
            case Assign(target=Load() as target) if target.array in faults:
                continue
            case Assign(target=Load() as target) if not _is_private(target, loop, own):
                pass
            case SetLocal() if node.name not in own:
                target = Symbol(node.name, node.dtype, node.lanes)
            case _:
                continue
        operator = _operator(node.value, target, node.statement in reassociable)
        found.setdefault(target, []).append(operator)
    if not found:
        return (loop,)
    accumulators = tuple(
        _Accumulator(target, _common(loop, target, operators))
        for target, operators in found.items()
    )
    box = LoopBox((*around, loop))
    longest = extent_of(loop)
    if longest is not None and longest.size < FEW:
        return (replace(loop, kind=LoopKind.SEQUENTIAL),)
    if not all(_is_supported(a, box) and not _waits(a, box) for a in accumulators):
        return (replace(loop, kind=LoopKind.SEQUENTIAL),)
    return _with_locals(loop, accumulators, names)


def _common(loop: For, target: Load | Symbol, operators: list[BinaryOp | None]) -> BinaryOp | None:
    """Return the operator of all updates, or None when they differ or another read sees one."""
    values = _values(loop.body)
    reads = sum(part == target for expr in values for part in walk(expr))
    choices = sum(chosen(value, target) is not None for value in values)
    own = len(operators) + choices  # a choice reads its target twice
    return operators[0] if len(set(operators)) == 1 and reads == own else None


def _is_private(target: Load, loop: For, own: frozenset[str]) -> bool:
    """Tell whether every iteration of `loop` has elements of its own behind `target`.

    That is certain where one subscript is the iterator times a constant, plus what does not
    depend on the loop.  Arrays that the loop declares are of one iteration.
    """
    if target.array in own:
        return True
    for index in target.index:
        terms = dict(linear(index).terms)
        if terms.pop(Iter(loop.iter), 0) == 0:
            continue
        inside = own | {loop.iter}
        parts = [p for atom in terms for p in walk(atom)]
        if not any(isinstance(p, Iter | Symbol) and p.name in inside for p in parts):
            return True
    return False


def _operator(value: Expr, target: Load | Symbol, is_open: bool) -> BinaryOp | None:
    """Return the operator that joins `target` with the rest, or None when that has an order."""
    if not is_open or target.dtype.is_complex:
        return None
    match value:
        case Binary(op=op, left=left, right=rest) if left == target and op in _OPERATORS:
            return None if _uses(rest, target) else op
        case Binary(op=op, left=rest, right=right) if right == target and op in _OPERATORS:
            return None if _uses(rest, target) else op
        case Binary(op=BinaryOp.SUB, left=left, right=rest) if left == target:
            return None if _uses(rest, target) else BinaryOp.ADD
        case Call(func=MathFunc.FMA, args=(a, b, c)):
            if _uses(a, target) or _uses(b, target):
                return None
            return BinaryOp.ADD if c == target else _operator(c, target, is_open)
        case _:
            return chosen(value, target)


def _uses(expr: Expr, target: Expr) -> bool:
    return any(part == target for part in walk(expr))


def _is_supported(accumulator: _Accumulator, box: LoopBox) -> bool:
    """Tell whether one local can stand for the accumulator while the last loop of `box` runs."""
    target, loop = accumulator.target, box.loops[-1]
    if accumulator.op is None or any(
        isinstance(node, For | While) for node in all_nodes(loop.body)
    ):
        return False
    if target.dtype is DType.BOOL:
        return False
    if isinstance(target, Symbol):
        return target.lanes == 1
    if any(isinstance(p, Load | Symbol) or p == Iter(loop.iter) for p in _index_parts(target)):
        return False
    others = _accesses(loop.body, target.array) - {target}
    return all(box.are_disjoint(_cell(target), _cell(other)) for other in others)


def _waits(accumulator: _Accumulator, box: LoopBox) -> bool:
    """Tell whether a short loop sums elements of the array that its sums are stored to.

    A vector of elements that were stored one by one is not there until all are in the cache.
    """
    target, loop = accumulator.target, box.loops[-1]
    if isinstance(target, Symbol) or _accesses(loop.body, target.array) == {target}:
        return False
    lowers, uppers = operands(loop.lower, BinaryOp.MAX), operands(loop.upper, BinaryOp.MIN)
    less = [box.least(linear(sub(low, high))) for low in lowers for high in uppers]
    return any(least is not None and -least <= SHORT for least in less)


def _index_parts(target: Load) -> tuple[Expr, ...]:
    return tuple(part for index in target.index for part in walk(index))


def _cell(access: Load | VectorLoad) -> Cell:
    return Cell(access.array, access.index, access.lanes if isinstance(access, VectorLoad) else 1)


def _accesses(body: Body, array: str) -> set[Load | VectorLoad]:
    targets = [node.target for node in all_nodes(body) if isinstance(node, Assign)]
    parts = [part for expr in (*targets, *_values(body)) for part in walk(expr)]
    return {p for p in parts if isinstance(p, Load | VectorLoad) and p.array == array}


def _values(body: Body) -> list[Expr]:
    """Return the expressions that the nodes read; of a target only its subscripts."""
    found: list[Expr] = []
    for node in all_nodes(body):
        match node:
            case Assign():
                found += [*node.target.index, node.value]
            case Declare() | SetLocal():
                found.append(node.value)
            case If() | While():
                found.append(node.condition)
            case For():
                found += [node.lower, node.upper]
            case _:
                pass
    return found


def _with_locals(loop: For, accumulators: tuple[_Accumulator, ...], names: Names) -> Body:
    known: dict[Expr, Symbol] = {}
    before: list[Node] = []
    after: list[Node] = []
    reductions: list[tuple[BinaryOp, Symbol]] = []
    for accumulator in accumulators:
        target, op = accumulator.target, accumulator.op
        assert op is not None
        if isinstance(target, Symbol):
            reductions.append((op, target))
            continue
        symbol = Symbol(names.fresh(f"{target.array}_acc"), target.dtype)
        known[target] = symbol
        before.append(Declare(symbol.name, symbol.dtype, 1, target))
        after.append(Assign(target, symbol))
        reductions.append((op, symbol))
    rule: Callable[[Expr], Expr | None] = known.get
    body = tuple(changed(node, rule) for node in loop.body)
    vector = replace(loop, body=body).annotated(reductions=tuple(reductions))
    if not before:
        return (vector,)
    count = trip_count(loop)
    whole = (*before, vector, *after)
    if count is not None and count > 0:
        return whole
    return (If(Compare(CompareOp.GT, loop.upper, loop.lower), whole),)
