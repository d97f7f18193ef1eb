"""Lower ratios to products with a reciprocal where it is loop-invariant, else to quotients.

In: a `LoopFunction` with `BinaryOp.RATIO`.  Out: the same with `BinaryOp.DIV` where the divisor may
change from iteration to iteration of the loop around, or where no loop is.
Leaves: every other operation.
"""

from __future__ import annotations

from polyopt.dataclass import replace
from polyopt.emit.regions import declared_names
from polyopt.ir.expr import Binary, BinaryOp, Expr, Iter, Load, Symbol, is_function, rewrite, walk
from polyopt.ir.loops import Assign, Body, For, LoopFunction, Node, SetLocal
from polyopt.ir.nodes import all_nodes, map_bodies, own_changed


def settle_ratios(fn: LoopFunction) -> LoopFunction:
    """Return `fn` with quotients where the loop around changes what is divided by."""
    return replace(fn, body=_settled(fn.body, None))


def _settled(body: Body, loop: For | None) -> Body:
    changing = None if loop is None else _changing(loop)
    return tuple(_node(node, loop, changing) for node in body)


def _node(node: Node, loop: For | None, changing: frozenset[str] | None) -> Node:
    def rule(part: Expr) -> Expr | None:
        if not isinstance(part, Binary) or part.op is not BinaryOp.RATIO:
            return None
        if changing is not None and _is_kept(part.right, changing):
            return None
        left, right = rewrite(part.left, rule), rewrite(part.right, rule)
        return Binary(BinaryOp.DIV, left, right, part.dtype)

    around = node if isinstance(node, For) else loop
    return own_changed(map_bodies(node, _settled, around), rule)


def _is_kept(divisor: Expr, changing: frozenset[str]) -> bool:
    """Tell whether a divisor is the same in a whole loop, and no function that is called anew."""
    parts = tuple(walk(divisor))
    return not any(_name(part) in changing or is_function(part) for part in parts)


def _changing(loop: For) -> frozenset[str]:
    """Return the names of what a loop steps, declares or sets: iterators, locals, arrays."""
    found = {loop.iter, *declared_names(loop.body)}
    for node in all_nodes(loop.body):
        match node:
            case Assign():
                found.add(node.target.array)
            case SetLocal():
                found.add(node.name)
            case _:
                pass
    return frozenset(found)


def _name(expr: Expr) -> str | None:
    match expr:
        case Iter() | Symbol():
            return expr.name
        case Load():
            return expr.array
        case _:
            return None
