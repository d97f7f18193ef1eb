"""Read a store of a choice that keeps the value as a store under a condition.

In: a body without vectors, the program.  Out: `if c: a = v` for each `a = v if c else a`, an
element or a local, whose statement has a condition in the program.
Both leave the same values; that the element is stored in any case counts for its subscripts alone,
which are checked before.
"""

from __future__ import annotations

from polyopt.dataclass import replace
from polyopt.ir.expr import Load, Select, Symbol
from polyopt.ir.loops import Assign, Body, If, Node, SetLocal
from polyopt.ir.nodes import map_bodies
from polyopt.ir.program import Program


def with_conditions(body: Body, program: Program) -> Body:
    """Return `body` with statements that a condition guards in `program` under one."""
    guarded = (s.name for scop in program.scops for s in scop.statements if s.guard is not None)
    return _conditional(body, frozenset(guarded))


def _conditional(body: Body, guarded: frozenset[str]) -> Body:
    return tuple(_node(node, guarded) for node in body)


def _node(node: Node, guarded: frozenset[str]) -> Node:
    kept: Load | Symbol
    match node:
        case Assign(target=Load() as kept, value=Select() as value, is_atomic=False):
            pass
        case SetLocal(value=Select() as value):
            kept = Symbol(node.name, node.dtype, node.lanes)
        case _:
            return map_bodies(node, _conditional, guarded)
    if value.otherwise != kept or node.statement not in guarded:
        return node
    return If(value.condition, (replace(node, value=value.then),))
