"""Read a store of a choice that keeps the value as a store under a condition.

In: a body without vectors, of one static control part.  Out: `if c: a = v` for each
`a = v if c else a`, an element or a local, whose statement has a condition in the source.
Both leave the same values; that the element is stored in any case counts for its subscripts alone,
which are checked before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeGuard

from polyopt.dataclass import replace
from polyopt.ir.expr import Expr, Load, Select, Symbol
from polyopt.ir.loops import Assign, Body, If, Node, SetLocal
from polyopt.ir.nodes import map_bodies
from polyopt.ir.scop import Scop


def with_conditions(body: Body, scop: Scop) -> Body:
    """Return `body` with statements that have a condition in `scop` under one."""
    guarded = {s.name: keeps(s.value, s.target) for s in scop.statements if s.guard is not None}
    return _conditional(body, guarded)


def keeps(value: Expr, target: Load | Symbol) -> TypeGuard[Select]:
    """Tell whether a value is a choice between another one and what the target has."""
    return isinstance(value, Select) and value.otherwise == target


def _conditional(body: Body, guarded: Mapping[str, bool]) -> Body:
    return tuple(_node(node, guarded) for node in body)


def _node(node: Node, guarded: Mapping[str, bool]) -> Node:
    target: Load | Symbol
    match node:
        case Assign(target=Load() as target, is_atomic=False):
            pass
        case SetLocal():
            target = Symbol(node.name, node.dtype, node.lanes)
        case _:
            return map_bodies(node, _conditional, guarded)
    value = node.value
    if node.statement not in guarded or not keeps(value, target):
        return node
    if guarded[node.statement] and not keeps(value.then, target):
        return node  # the source's own choice
    return If(value.condition, (replace(node, value=value.then),))
