"""Hoist functions of arguments alone out of the loops.

In: a `LoopFunction`.  Out: the same with a local for each largest expression of arguments and
constants that has a function such as a power in it and stands in a loop.
Leaves: expressions with elements, iterators or locals, and those outside of loops.
"""

from __future__ import annotations

from polyopt.dataclass import replace
from polyopt.emit.passes.rewriting import Names
from polyopt.ir.expr import Const, Expr, Load, Param, Symbol, children, is_function, walk
from polyopt.ir.loops import Declare, For, LoopFunction, Node
from polyopt.ir.nodes import all_nodes, changed


def hoist_invariants(fn: LoopFunction) -> LoopFunction:
    """Return `fn` with functions of arguments alone in locals before its outermost loops."""
    names = Names(fn)
    own = frozenset(getattr(argument, "symbol", "") for argument in fn.signature.arguments)
    body: list[Node] = []
    for node in fn.body:
        found: dict[Expr, Symbol] = {}
        renewed = _with_numbers(node, own, names, found)
        body += (Declare(s.name, s.dtype, 1, value) for value, s in found.items())
        body.append(renewed)
    return replace(fn, body=tuple(body))


def _with_numbers(node: Node, own: frozenset[str], names: Names, found: dict[Expr, Symbol]) -> Node:
    if not any(isinstance(part, For) for part in all_nodes((node,))):
        return node

    def rule(part: Expr) -> Expr | None:
        if not _is_number(part, own):
            return None
        if part not in found:
            found[part] = Symbol(names.fresh("number"), part.dtype)
        return found[part]

    return changed(node, rule)


def _is_number(expr: Expr, own: frozenset[str]) -> bool:
    """Tell whether an expression has a function and otherwise only arguments and constants."""
    if not expr.dtype.is_float or not children(expr):
        return False
    parts = tuple(walk(expr))
    return any(map(is_function, parts)) and all(
        isinstance(part, Const | Param) or (isinstance(part, Symbol) and part.name in own)
        for part in parts
        if isinstance(part, Load) or not children(part)
    )
