"""Eliminate common subexpressions: load vector operands of several statements once, into locals.

In: bodies of straight-line vector statements.  Out: the same values, loads and splats once each.
Leaves: operands the body itself writes, operands used once, and divisors whose reciprocal is used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TypeGuard

from polyopt.dataclass import replace
from polyopt.emit.passes.rewriting import Names, bottom_up
from polyopt.emit.regions import written_arrays
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Broadcast,
    Expr,
    Load,
    Symbol,
    VectorLoad,
    children,
    rewrite,
    walk,
)
from polyopt.ir.loops import Assign, Body, Declare, For, LoopFunction, Node, SetLocal
from polyopt.ir.nodes import changed


def eliminate_common_operands(fn: LoopFunction) -> LoopFunction:
    """Return `fn` with the common vector operands of straight-line loop bodies in locals."""
    names = Names(fn)

    def rule(node: Node) -> Body:
        if isinstance(node, For) and all(isinstance(n, Assign | SetLocal) for n in node.body):
            return (replace(node, body=_shared(node.body, names)),)
        return (node,)

    return replace(fn, body=bottom_up(fn.body, rule))


def _shared(body: Body, names: Names) -> Body:
    fixed = written_arrays(body)
    locals_ = frozenset(node.name for node in body if isinstance(node, SetLocal))
    uses = Counter(
        part
        for node in body
        if isinstance(node, Assign | SetLocal)
        for part in _operands(node.value)
        if not _changes(part, fixed, locals_)
    )
    common = {part for part, count in uses.items() if count > 1}
    known: dict[Expr, Symbol] = {}

    def rule(part: Expr) -> Expr | None:
        if _has_reciprocal(part):
            return replace(part, left=rewrite(part.left, rule))
        return known.get(part)

    found: list[Node] = []
    for node in body:
        assert isinstance(node, Assign | SetLocal)
        for part in _operands(node.value):
            if part in common and part not in known:
                name = names.fresh(_name(part))
                known[part] = Symbol(name, part.dtype, part.lanes)
                found.append(Declare(name, part.dtype, part.lanes, part))
        found.append(changed(node, rule))
    return tuple(found)


def _operands(expr: Expr) -> Iterator[VectorLoad | Broadcast]:
    """Yield the vector loads and splats of `expr`, left to right."""
    if isinstance(expr, VectorLoad | Broadcast):
        yield expr
        return
    for child in (expr.left,) if _has_reciprocal(expr) else children(expr):
        yield from _operands(child)


def _has_reciprocal(expr: Expr) -> TypeGuard[Binary]:
    """Tell whether all lanes are divided by one number, which is printed as its reciprocal."""
    return (
        isinstance(expr, Binary) and expr.op is BinaryOp.RATIO and isinstance(expr.right, Broadcast)
    )


def _changes(part: Expr, arrays: frozenset[str], locals_: frozenset[str]) -> bool:
    for inner in walk(part):
        match inner:
            case Load() | VectorLoad():
                if inner.array in arrays:
                    return True
            case Symbol():
                if inner.name in locals_:
                    return True
            case _:
                pass
    return False


def _name(part: VectorLoad | Broadcast) -> str:
    arrays = [p.array for p in walk(part) if isinstance(p, Load | VectorLoad)]
    return f"{arrays[-1] if arrays else 'all'}_v"
