"""Demote variables of the host's code that a device sets to elements of memory.

In: lowered loops, which nodes run on the device.  Out: the loops, the arrays that were locals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from polyopt.emit.nodes import map_node, own_mapped
from polyopt.ir.array import Array, Role
from polyopt.ir.expr import Expr, Load, Symbol
from polyopt.ir.loops import Assign, Body, Declare, Node, SetLocal
from polyopt.ir.nodes import all_nodes, bodies, map_bodies


def demote_variables(
    body: Body, is_device: Callable[[Node], bool]
) -> tuple[Body, tuple[Array, ...]]:
    """Return `body` with host variables that statements set as arrays of one element, and these."""
    declared = {node.name: node for node in _of_host(body, is_device)}
    again = {node.name for node in all_nodes(body) if isinstance(node, SetLocal)}
    chosen = {name: node for name, node in declared.items() if name in again or node.statement}
    if not chosen:
        return body, ()

    def rule(part: Expr) -> Expr | None:
        if isinstance(part, Symbol) and part.name in chosen:
            return Load(part.name, (), part.dtype)
        return None

    arrays = tuple(Array(n.name, n.dtype, (), Role.TEMP) for n in chosen.values())
    return _stored(body, frozenset(chosen), rule), arrays


def _of_host(body: Body, is_device: Callable[[Node], bool]) -> Iterator[Declare]:
    for node in body:
        if isinstance(node, Declare):
            yield node
        elif not is_device(node):
            for part in bodies(node):
                yield from _of_host(part, is_device)


def _stored(body: Body, names: frozenset[str], rule: Callable[[Expr], Expr | None]) -> Body:
    result: list[Node] = []
    for node in body:
        match node:
            case Declare() | SetLocal() if node.name in names:
                node = map_node(node, rule)
                assert isinstance(node, Declare | SetLocal)
                if isinstance(node, Declare) and not node.statement:
                    continue  # it was set to nothing in particular
                target = Load(node.name, (), node.dtype)
                result.append(Assign(target, node.value, node.statement, node.instance, node.steps))
            case _:
                result.append(own_mapped(map_bodies(node, _stored, names, rule), rule))
    return tuple(result)
