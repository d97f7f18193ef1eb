"""Reduce: a sum over contiguous elements that may be reassociated runs on SIMD lanes.

In: an innermost sequential loop whose only work is `x = x op f` of a reassociable statement, with
`x` not moving.  Out: a VECTOR loop that accumulates in a local with a `reductions` clause.
Leaves: loops with other writes, operands that are neither contiguous nor invariant.
"""

from __future__ import annotations

from dataclasses import replace

from polyopt.emit.lanes import row_arrays
from polyopt.emit.passes.rewriting import Names, bottom_up, trip_count
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
    linear,
    rewrite,
    walk,
)
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
)

_OPERATORS = frozenset({BinaryOp.ADD, BinaryOp.MUL, BinaryOp.AND, BinaryOp.OR, BinaryOp.XOR})


def vectorize_reductions(fn: LoopFunction) -> LoopFunction:
    """Return `fn` with its reassociable innermost reductions as VECTOR loops."""
    names = Names(fn)
    rows = row_arrays(fn)

    def rule(node: Node) -> Body:
        if not isinstance(node, For) or node.kind is not LoopKind.SEQUENTIAL or node.step != 1:
            return (node,)
        match node.body:
            case (Assign(target=Load() as target) as assign,) if (
                assign.statement in fn.reassociable
            ):
                return _reduced(node, assign, target, names, rows)
            case _:
                return (node,)

    return replace(fn, body=bottom_up(fn.body, rule))


def _reduced(loop: For, assign: Assign, target: Load, names: Names, rows: frozenset[str]) -> Body:
    op = _operator(assign.value, target)
    if op is None or target.dtype.is_complex or _moves(target, loop.iter):
        return (loop,)
    others = [p for p in walk(assign.value) if isinstance(p, Load | VectorLoad) and p != target]
    if any(p.array == target.array for p in others):
        return (loop,)
    if not all(isinstance(p, Load) and _is_contiguous(p, loop.iter, rows) for p in others):
        return (loop,)
    symbol = Symbol(names.fresh(f"{target.array}_sum"), target.dtype)
    value = rewrite(assign.value, lambda part: symbol if part == target else None)
    inner = SetLocal(symbol.name, symbol.dtype, 1, value, assign.statement, assign.instance)
    vector = replace(loop, kind=LoopKind.VECTOR, body=(inner,), reductions=((op, symbol),))
    body: Body = (
        Declare(symbol.name, symbol.dtype, 1, target),
        vector,
        Assign(target, symbol),
    )
    count = trip_count(loop)
    if count is not None and count > 0:
        return body
    return (If(Compare(CompareOp.GT, loop.upper, loop.lower), body),)


def _operator(value: Expr, target: Load) -> BinaryOp | None:
    """Return the operator that joins `target`, as the left operand, with the rest."""
    match value:
        case Binary(op=op, left=left) if left == target and op in _OPERATORS:
            return None if _uses(value.right, target) else op
        case Call(func=MathFunc.FMA, args=(a, b, c)) if c == target:
            return None if _uses(a, target) or _uses(b, target) else BinaryOp.ADD
        case _:
            return None


def _uses(expr: Expr, target: Load) -> bool:
    return any(part == target for part in walk(expr))


def _moves(target: Load, name: str) -> bool:
    return any(
        isinstance(part, Load) or part == Iter(name) for i in target.index for part in walk(i)
    )


def _is_contiguous(load: Load, name: str, rows: frozenset[str]) -> bool:
    strides = [dict(linear(i).terms).get(Iter(name), 0) for i in load.index]
    if not any(part == Iter(name) for i in load.index for part in walk(i)):
        return True
    return load.array in rows and strides[-1] == 1 and not any(strides[:-1])
