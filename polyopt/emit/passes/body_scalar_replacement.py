"""Replace elements that the body of a VECTOR loop updates several times by scalars.

In: VECTOR loops over straight-line statements.  Out: one store for each element; partial vectors
at the ends of a loop cannot be loaded before they are stored.
Leaves: elements that another access may touch.
"""

from __future__ import annotations

from collections import Counter

from polyopt.dataclass import replace
from polyopt.emit.passes.rewriting import Names, bottom_up
from polyopt.emit.regions import expressions
from polyopt.ir.expr import Expr, Iter, Load, Symbol, VectorLoad, rewrite, walk
from polyopt.ir.loops import Assign, Body, Declare, For, LoopFunction, LoopKind, Node, SetLocal
from polyopt.ir.scop import Role


def replace_in_bodies(fn: LoopFunction) -> LoopFunction:
    """Return `fn` with elements that several statements of a body update in locals."""
    names = Names(fn)
    faults = frozenset(a.name for a in fn.arrays if a.role is Role.FAULT)

    def rule(node: Node) -> Body:
        if isinstance(node, For) and node.kind is LoopKind.VECTOR:
            return (replace(node, body=_replaced(node, names, faults)),)
        return (node,)

    return replace(fn, body=bottom_up(fn.body, rule))


def _replaced(loop: For, names: Names, faults: frozenset[str]) -> Body:
    body = loop.body
    if not all(isinstance(node, Assign) and isinstance(node.target, Load) for node in body):
        return body
    stores = Counter(node.target for node in body if isinstance(node, Assign))
    accesses = {
        part
        for node in body
        for expr in expressions(node)
        for part in walk(expr)
        if isinstance(part, Load | VectorLoad)
    }
    cells = Counter(access.array for access in accesses)
    chosen = {
        target: Symbol(names.fresh(f"{target.array}_new"), target.dtype)
        for target, count in stores.items()
        if count > 1
        and cells[target.array] == 1
        and target.array not in faults
        and any(part == Iter(loop.iter) for part in walk(target))
    }
    if not chosen:
        return body
    return tuple(part for node in _in_locals(body, chosen) for part in node)


def _in_locals(body: Body, chosen: dict[Load | VectorLoad, Symbol]) -> list[Body]:
    """Return what each statement becomes; the last one of an element stores it."""
    known: set[Load | VectorLoad] = set()

    def rule(part: Expr) -> Expr | None:
        return chosen[part] if part in known and isinstance(part, Load) else None

    last = {node.target: number for number, node in enumerate(body) if isinstance(node, Assign)}
    found: list[Body] = []
    for number, node in enumerate(body):
        assert isinstance(node, Assign)
        symbol, value = chosen.get(node.target), rewrite(node.value, rule)
        if symbol is None:
            found.append((replace(node, value=value),))
            continue
        begun: Body = ()
        if node.target not in known and node.target in walk(value):
            begun = (Declare(symbol.name, symbol.dtype, 1, node.target),)
            known.add(node.target)
            value = rewrite(value, rule)
        kind = SetLocal if node.target in known else Declare
        made = kind(symbol.name, symbol.dtype, 1, value, node.statement, node.instance)
        known.add(node.target)
        stored = (Assign(node.target, symbol),) if last[node.target] == number else ()
        found.append((*begun, made, *stored))
    return found
