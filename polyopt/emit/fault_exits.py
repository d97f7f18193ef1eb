"""Exit the kernel at a fault outside of counted loops.

In: a `LoopFunction` whose faults are noted in its FAULT array.  Out: the same with `Fail` instead
outside of counted loops, and an exit from loops with data-dependent ends after a fault is noted.
Leaves: faults noted in counted loops, which go on.
"""

from __future__ import annotations

from collections.abc import Iterable

from polyopt.dataclass import dataclass, replace
from polyopt.emit.regions import leaves_itself
from polyopt.ir.expr import Compare, CompareOp, Const, Load, integer
from polyopt.ir.loops import Assign, Body, Fail, For, If, LoopFunction, LoopKind, Node, While
from polyopt.ir.nodes import all_nodes, map_bodies
from polyopt.ir.scop import Array, Role


def exit_on_faults(fn: LoopFunction) -> LoopFunction:
    """Return `fn` with faults as early exits where no iteration that counts is lost."""
    for array in fn.arrays:
        if array.role is Role.FAULT:
            exits = _FaultExits(array)
            body = exits.body(fn.body, at_once=True)
            fn = replace(fn, body=exits.guarded(body, frozenset(exits.noted(body))))
    return fn


@dataclass(frozen=True, slots=True)
class _FaultExits:
    faults: Array

    def body(self, body: Body, *, at_once: bool) -> Body:
        """Return `body` with exits; `at_once`: no counted loop surrounds it."""
        return tuple(self.node(node, at_once=at_once) for node in body)

    def node(self, node: Node, *, at_once: bool) -> Node:
        match node:
            case Assign(target=Load() as target) if at_once and target.array == self.faults.name:
                (number,) = target.index
                if not isinstance(number, Const):
                    return node
                return Fail(int(number.value.real), node.statement, node.instance)
            case While():
                return replace(node, body=self.body(node.body, at_once=True))
            case For():
                return replace(node, body=self.body(node.body, at_once=_may_end(node)))
            case _:
                return map_bodies(node, self.body, at_once=at_once)

    def noted(self, body: Body) -> list[int]:
        """Return the numbers of the faults that `body` notes."""
        found = {
            int(index.value.real)
            for node in all_nodes(body)
            if isinstance(node, Assign) and node.target.array == self.faults.name
            for index in node.target.index
            if isinstance(index, Const)
        }
        return sorted(found)

    def guarded(self, body: Body, every: frozenset[int]) -> Body:
        """Return `body` where loops with data-dependent ends exit once one of `every` is noted."""
        result: list[Node] = []
        for node in body:
            node = map_bodies(node, self.guarded, every)
            if isinstance(node, While) or (isinstance(node, For) and _may_end(node)):
                own = self.noted(node.body)
                result += self.missing(tuple(result), self.checks(every - set(own)))
                node = replace(node, body=(*node.body, *self.missing(node.body, self.checks(own))))
            result.append(node)
        return tuple(result)

    def missing(self, body: Body, checks: Body) -> Body:
        """Return `checks`, or nothing where `body` ends with them."""
        return () if checks and body[-len(checks) :] == checks else checks

    def checks(self, numbers: Iterable[int]) -> Body:
        """Return the statements that fail with the first of `numbers` that is noted."""
        dtype = self.faults.dtype
        none = Const(0 if dtype.is_integer else False, dtype)
        return tuple(
            If(
                Compare(CompareOp.NE, Load(self.faults.name, (integer(k),), dtype), none),
                (Fail(k),),
            )
            for k in sorted(numbers)
        )


def _may_end(loop: For) -> bool:
    """Tell whether a loop may end before its bound."""
    return loop.kind is LoopKind.SEQUENTIAL and leaves_itself(loop.body)
