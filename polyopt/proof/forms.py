"""Check that loops have a form that the printers and the proof understand alike.

In: the loops without shadowed names.  Out: one claim.  Refuses: operands of several types,
constants out of range, loops without progress, comments that end early, memory allocated by several
threads, reductions of locals that iterations also use otherwise.
The terms of every recurrence that threads scan are reassociable.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from polyopt import proof
from polyopt.ir.annotations import merged
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Broadcast,
    Call,
    Compare,
    CompareOp,
    Const,
    Expr,
    Load,
    MathFunc,
    Select,
    Symbol,
    Unary,
    UnaryOp,
    VectorLoad,
    children,
    walk,
)
from polyopt.ir.extremum import extremum_of
from polyopt.ir.loops import (
    CONCURRENT,
    AllocateArray,
    Assign,
    AwaitCopies,
    Barrier,
    Body,
    CallLibrary,
    Comment,
    Declare,
    DeclareView,
    For,
    If,
    LoopFunction,
    LoopKind,
    Node,
    SetLocal,
    While,
)
from polyopt.ir.names import symbols
from polyopt.ir.nodes import all_nodes, bodies, has_loop, own_expressions
from polyopt.ir.program import Program
from polyopt.ir.scan import is_open
from polyopt.ir.showing import show
from polyopt.ir.types import DType
from polyopt.proof.certificate import Claim, ClaimKind, Unclaimable, Verdict


class _Malformed(Unclaimable):
    """A node or an expression has a form that the proof does not understand."""


def check_forms(function: LoopFunction) -> Claim:
    """Return whether every node and expression of `function` is well formed."""
    try:
        _body(function.body, is_shared=False)
        if any(isinstance(node, DeclareView) for node in all_nodes(function.body)):
            proof.views.check_views(function)
        if has_loop(function.body, LoopKind.LIBRARY):
            proof.regrouping.check_products(function.body, function.reassociable)
    except Unclaimable as error:
        return Claim(ClaimKind.CONTROL, error.subject, Verdict.REFUTED, "", error.reason)
    return Claim(ClaimKind.CONTROL, "well-formed loops", Verdict.PROVEN, "")


def _body(body: Body, *, is_shared: bool) -> None:
    for node in body:
        for expr in own_expressions(node):
            for part in walk(expr):
                _expression(part)
        _node(node)
        match node:
            case AllocateArray() | CallLibrary() if is_shared:
                raise _Malformed(type(node).__name__, "several iterations do it at the same time")
            case For():
                inner = is_shared or node.kind in CONCURRENT
            case _:
                inner = is_shared
        for part_ in bodies(node):
            _body(part_, is_shared=inner)


# -- nodes


def _node(node: Node) -> None:
    match node:
        case For():
            _loop(node)
        case If() | While():
            if node.condition.dtype is not DType.BOOL or _lanes(node.condition) != 1:
                raise _Malformed(show(node.condition), "it is no condition")
        case Assign():
            _written(node)
        case Declare() | SetLocal():
            _fits_lanes(node.name, node.value, node.lanes)
        case Comment():
            _comment(node.text)
        case Barrier():
            _comment(node.note)
        case AwaitCopies() if node.pending < 0:
            raise _Malformed("a wait for copies", "it leaves fewer than none")
        case _:
            pass


def _loop(loop: For) -> None:
    _index(loop.lower)
    _index(loop.upper)
    if loop.step < 1:
        raise _Malformed(loop.iter, "the loop makes no progress")
    if merged(loop.annotations, {}) != loop.annotations:
        raise _Malformed(loop.iter, "its annotations are not one of a kind, in order")
    if loop.group < 1 or (loop.group > 1 and loop.kind is not LoopKind.BLOCK):
        raise _Malformed(loop.iter, "only blocks are in groups, of at least one")
    if loop.kind is LoopKind.EXTREMUM and extremum_of(loop) is None:
        raise _Malformed(loop.iter, "the loop does more than choose an extremum")
    if loop.kind in CONCURRENT:
        _reductions(loop)


def _written(node: Assign) -> None:
    target = node.target
    for part in target.index:
        _index(part)
    _fits_lanes(target.array, node.value, _lanes(target))
    if isinstance(target, VectorLoad) and target.step != 1:
        raise _Malformed(show(target), "what is written at once lies side by side")


def _comment(text: str) -> None:
    is_plain = text.isascii() and text.isprintable()
    if not is_plain or "*/" in text or "/*" in text:
        raise _Malformed("a comment", "it does not end where it should")


def _fits_lanes(name: str, value: Expr, width: int) -> None:
    own = _lanes(value)
    if own not in (1, width):
        raise _Malformed(name, f"it has {width} lanes, its value {own}")


def _lanes(expr: Expr) -> int:
    """Return the number of lanes of an expression: a scalar fits any."""
    match expr:
        case Load():
            return 1
        case VectorLoad() | Broadcast() | Symbol():
            return expr.lanes
        case _:
            found = {_lanes(part) for part in children(expr)} - {1}
            if len(found) > 1:
                raise _Malformed(show(expr), "its operands have different lanes")
            return found.pop() if found else 1


# -- reductions


def _reductions(loop: For) -> None:
    """Check that iterations only combine into private copies of each thread or lane.

    These start as the neutral element of the operation: nothing else may read them.
    """
    for op, local in loop.reductions:
        for node in all_nodes(loop.body):
            match node:
                case SetLocal(name=local.name):
                    is_update = _is_update(node.value, local, op)
                case For():
                    own = [o for o, s in node.reductions if s.name == local.name]
                    is_update = all(o is op for o in own) and not _uses(node, local)
                case _:
                    is_update = not _uses(node, local)
            if not is_update:
                raise _Malformed(local.name, f"loop {loop.iter} does more than combine it")


def _uses(node: Node, local: Symbol) -> bool:
    return any(local.name in symbols(expr) for expr in own_expressions(node))


def _is_update(value: Expr, local: Symbol, op: BinaryOp) -> bool:
    match value:
        case Binary(op=own, left=left, right=rest) if left == local:
            same = own is op or (own is BinaryOp.SUB and op is BinaryOp.ADD)
            return same and local.name not in symbols(rest)
        case Binary(op=own, left=rest, right=right) if right == local:
            return own is op and own in _SYMMETRIC and local.name not in symbols(rest)
        case Call(func=MathFunc.FMA, args=(one, two, total)):
            if op is not BinaryOp.ADD or local.name in symbols(one) | symbols(two):
                return False
            return total == local or _is_update(total, local, op)
        case Select(condition=Compare() as test, then=fresh, otherwise=other) if other == local:
            return op is _extremum(test, fresh, local) and local.name not in symbols(fresh)
        case _:
            return False


def _extremum(test: Compare, fresh: Expr, local: Symbol) -> BinaryOp | None:
    """Return the extremum of a choice of `fresh` where the test holds, else the local."""
    if (test.left, test.right) == (fresh, local):
        return _BEYOND.get(test.op)
    if (test.left, test.right) == (local, fresh):
        return _WITHIN.get(test.op)
    return None


_BEYOND = {
    CompareOp.GT: BinaryOp.MAX, CompareOp.GE: BinaryOp.MAX,
    CompareOp.LT: BinaryOp.MIN, CompareOp.LE: BinaryOp.MIN,
}  # fmt: skip
_WITHIN = {
    CompareOp.GT: BinaryOp.MIN, CompareOp.GE: BinaryOp.MIN,
    CompareOp.LT: BinaryOp.MAX, CompareOp.LE: BinaryOp.MAX,
}  # fmt: skip
_SYMMETRIC = (
    BinaryOp.ADD,
    BinaryOp.MUL,
    BinaryOp.MIN,
    BinaryOp.MAX,
    BinaryOp.AND,
    BinaryOp.OR,
    BinaryOp.XOR,
)

# -- expressions


def _index(expr: Expr) -> None:
    if expr.dtype is not DType.INT64 or _lanes(expr) != 1:
        raise _Malformed(show(expr), "an index is one 64-bit number")


def _expression(expr: Expr) -> None:
    match expr:
        case Const():
            _constant(expr)
            return
        case Load() | VectorLoad():
            for part in expr.index:
                _index(part)
            if isinstance(expr, VectorLoad) and expr.step < 1:
                raise _Malformed(show(expr), "its lanes are not one after another")
            return
        case Unary(op=UnaryOp.NEG | UnaryOp.INVERT) | Broadcast():
            is_typed = expr.operand.dtype is expr.dtype
        case Binary():
            is_typed = expr.left.dtype is expr.right.dtype is expr.dtype
        case Compare():
            is_typed = expr.left.dtype is expr.right.dtype
        case Select():
            is_typed = expr.then.dtype is expr.otherwise.dtype is expr.dtype
            is_typed = is_typed and expr.condition.dtype is DType.BOOL
        case _:
            return
    if not is_typed:
        raise _Malformed(show(expr), "its operands have another type")


def _constant(expr: Const) -> None:
    """Check that a constant is a value of its type."""
    if not expr.dtype.is_integer:
        return
    limits = np.iinfo(expr.dtype.value)
    value = expr.value
    if not isinstance(value, int) or not int(limits.min) <= value <= int(limits.max):
        raise _Malformed(show(expr), f"it is no {expr.dtype.value}")


def check_scans(program: Program, function: LoopFunction) -> Iterator[Claim]:
    """Yield for each scan whether its statement is reassociable."""
    allowed = {s.name for scop in program.scops for s in scop.statements if is_open(s)}
    for loop in all_nodes(function.body):
        if not isinstance(loop, For) or loop.kind is not LoopKind.SCAN:
            continue
        names = {n.statement for n in all_nodes(loop.body) if isinstance(n, Assign)}
        closed = sorted(names - allowed)
        verdict = Verdict.REFUTED if closed or not names else Verdict.PROVEN
        reason = f"the order of {closed[0] or 'a copy'} is not open" if closed else ""
        yield Claim(ClaimKind.ORDER, f"scan {loop.iter}", verdict, "", reason)
