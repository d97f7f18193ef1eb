"""Vectorize minima and maxima of floats in a form for which compilers have an instruction.

In: a `LoopFunction` that is about to be printed.  Out: the same with, in its VECTOR loops, a choice
`m = x if x > m else m` for NumPy's maximum, which keeps NaN, and a flag beside it that notes NaN;
and with loops that make nothing but such a choice, in order, as a VECTOR loop into a copy.
The result of that loop stands unless it is a zero, of which the order tells the sign, or the
accumulator began as NaN, which it then stays: then the loop in order is run.
Leaves alone: halves, loops of fewer iterations than `LEAST`, whatever is inside lanes already.
"""

from __future__ import annotations

from polyopt.dataclass import replace
from polyopt.emit.lanes import is_contiguous, row_arrays
from polyopt.emit.nodes import nested, with_nested
from polyopt.emit.passes.rewriting import Names, bottom_up, trip_count
from polyopt.emit.regions import declared_names, is_settled, nodes
from polyopt.ir.choice import chosen
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Const,
    Expr,
    Select,
    Symbol,
    walk,
)
from polyopt.ir.loops import Body, Declare, For, If, LoopFunction, LoopKind, Node, SetLocal
from polyopt.ir.types import DType

LEAST = 16
"""Iterations below which lanes gain nothing."""
_EXTREMA = frozenset({BinaryOp.MIN, BinaryOp.MAX})
_FLAG = {DType.FLOAT32: DType.INT32, DType.FLOAT64: DType.INT64}  # as wide as a lane


def with_extrema(fn: LoopFunction) -> LoopFunction:
    """Return `fn` with its extrema of floats in lanes."""
    names, rows = Names(fn), row_arrays(fn)

    def body(nodes_: Body) -> Body:
        return tuple(made for node in nodes_ for made in rule(node))

    def rule(node: Node) -> Body:
        match node:
            case For(kind=LoopKind.VECTOR):
                return _flagged(node, names)
            case For(kind=LoopKind.SEQUENTIAL, step=1) if is_contiguous(node, rows):
                return _chosen_in_lanes(node, names)
            case _:
                inner = tuple(map(body, nested(node)))
                return (with_nested(node, inner) if inner else node,)

    return replace(fn, body=body(fn.body))


def is_choice(loop: For, symbol: Symbol) -> bool:
    """Tell whether all updates of an accumulator are choices, which OpenMP's own operators join."""
    updates = [n for n in nodes(loop.body) if isinstance(n, SetLocal) and n.name == symbol.name]
    return all(chosen(node.value, symbol) is not None for node in updates)


def _flagged(loop: For, names: Names) -> Body:
    """Return a VECTOR loop with choices for its extrema, and what keeps NaN around it."""
    found = [s for op, s in loop.reductions if op in _EXTREMA and s.dtype in _FLAG]
    before: list[Node] = []
    after: list[Node] = []
    for symbol in found:
        flag = Symbol(names.fresh(f"{symbol.name}_nan"), _FLAG[symbol.dtype])
        before.append(Declare(flag.name, flag.dtype, 1, _noted(symbol, flag)))
        nan = Const(float("nan"), symbol.dtype)
        kept = SetLocal(symbol.name, symbol.dtype, 1, nan)
        after.append(If(Compare(CompareOp.NE, flag, Const(0, flag.dtype)), (kept,)))
        body = _with_flag(loop.body, symbol, flag, names)
        if body != loop.body:
            reductions = (*loop.reductions, (BinaryOp.OR, flag))
            loop = replace(loop, body=body, reductions=reductions)
    return (*before, loop, *after)


def _noted(value: Expr, flag: Symbol) -> Expr:
    """Return whether `value` is NaN, as a number."""
    is_nan = Compare(CompareOp.NE, value, value)
    return Select(is_nan, Const(1, flag.dtype), Const(0, flag.dtype), flag.dtype)


def _with_flag(body: Body, symbol: Symbol, flag: Symbol, names: Names) -> Body:
    def rule(node: Node) -> Body:
        match node:
            case SetLocal(value=Binary(op=op, left=left, right=right)) if (
                node.name == symbol.name and op in _EXTREMA
            ):
                term = right if left == symbol else left
            case _:
                return (node,)
        before: Body = ()
        if not isinstance(term, Symbol):
            fresh = Symbol(names.fresh(f"{symbol.name}_next"), symbol.dtype)
            before = (Declare(fresh.name, fresh.dtype, 1, term),)
            term = fresh
        sign = CompareOp.GT if op is BinaryOp.MAX else CompareOp.LT
        choice = Select(Compare(sign, term, symbol), term, symbol, symbol.dtype)
        noted = Binary(BinaryOp.OR, flag, _noted(term, flag), flag.dtype)
        return (
            *before,
            replace(node, value=choice),
            SetLocal(flag.name, flag.dtype, 1, noted),
        )

    return bottom_up(body, rule)


def _chosen_in_lanes(loop: For, names: Names) -> Body:
    """Return a loop in order that makes one choice as one in lanes, and in order for zeros."""
    *others, last = loop.body
    count = trip_count(loop)
    own = declared_names(loop.body)
    if not isinstance(last, SetLocal) or not all(isinstance(n, Declare) for n in others):
        return (loop,)
    if last.lanes > 1 or last.dtype not in _FLAG or last.name in own:
        return (loop,)
    if (count is not None and count < LEAST) or not is_settled(loop.upper, loop.body):
        return (loop,)
    symbol = Symbol(last.name, last.dtype)
    op = chosen(last.value, symbol)
    if op is None or any(_reads(n.value, symbol) for n in others if isinstance(n, Declare)):
        return (loop,)
    extreme = Symbol(names.fresh(f"{symbol.name}_any"), symbol.dtype)
    value = last.value
    assert isinstance(value, Select)
    test = Compare(CompareOp.GT if op is BinaryOp.MAX else CompareOp.LT, value.then, extreme)
    choice = Select(test, value.then, extreme, symbol.dtype)
    update = SetLocal(extreme.name, extreme.dtype, 1, choice)
    lanes = replace(
        loop,
        kind=LoopKind.VECTOR,
        body=(*others, update),
        reductions=((op, extreme),),
    )
    zero = Compare(CompareOp.EQ, extreme, Const(0.0, symbol.dtype))
    unordered = Compare(CompareOp.NE, symbol, symbol)
    in_order = Binary(BinaryOp.OR, zero, unordered, DType.BOOL)
    return (
        Declare(extreme.name, extreme.dtype, 1, symbol),
        lanes,
        If(in_order, (loop,), (SetLocal(symbol.name, symbol.dtype, 1, extreme),)),
    )


def _reads(expr: Expr, symbol: Symbol) -> bool:
    return any(part == symbol for part in walk(expr))
