"""Hoist barriers out of conditions where possible: some compilers get those wrong.

In: kernels, barriers placed.  Out: the same; a condition that sizes and iterators decide is split
at its barriers into conditions before and after, and becomes a guard of lanes that reduce.
Leaves: data-dependent conditions, those around locals, loops with barriers inside.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from polyopt.dataclass import dataclass, replace
from polyopt.emit.gpu.each_block import in_each_block
from polyopt.emit.gpu.lane_reductions import has_lane_reductions
from polyopt.ir.expr import Expr, Unary, UnaryOp, loads
from polyopt.ir.loops import (
    Barrier,
    Body,
    Declare,
    DeclareArray,
    For,
    If,
    Kernel,
    LoopFunction,
    LoopKind,
    Node,
    SetLocal,
)
from polyopt.ir.names import symbols
from polyopt.ir.nodes import all_nodes, map_bodies
from polyopt.ir.types import DType


def hoist_barriers(fn: LoopFunction) -> LoopFunction:
    """Return `fn` with the barriers of its kernels hoisted out of conditions."""
    return in_each_block(fn, _without_conditions)


def _without_conditions(
    kernel: Kernel, body: Body, fn: LoopFunction, around: tuple[For, ...]
) -> Body:
    if kernel.threads == 1:
        return body
    changed = frozenset(node.name for node in all_nodes(body) if isinstance(node, SetLocal))
    arrays = Counter(node.array.name for node in all_nodes(body) if isinstance(node, DeclareArray))
    return _Hoister(changed, arrays).body(body)


@dataclass(frozen=True, slots=True)
class _Hoister:
    """Hoists barriers out of conditions.

    `changed` are locals that are set again, `arrays` says how often a name is declared.
    """

    changed: frozenset[str]
    arrays: Mapping[str, int]

    def body(self, body: Body) -> Body:
        """Return code that all threads of a block run."""
        return tuple(part for node in body for part in self.node(node))

    def node(self, node: Node) -> Body:
        if isinstance(node, For) and node.kind in (LoopKind.THREAD, LoopKind.SCAN):
            return (node,)
        node = map_bodies(node, self.body)
        if not isinstance(node, If) or not self.is_movable(node):
            return (node,)
        negated = Unary(UnaryOp.INVERT, node.condition, DType.BOOL)
        return (
            *_split_at_barriers(node.condition, node.then),
            *_split_at_barriers(negated, node.otherwise),
        )

    def is_movable(self, test: If) -> bool:
        """Tell whether threads wait directly under a condition that may be asked again."""
        inside = (*test.then, *test.otherwise)
        if not any(map(_waits, inside)) or any(isinstance(node, Declare) for node in inside):
            return False
        if any(isinstance(n, DeclareArray) and self.arrays[n.array.name] > 1 for n in inside):
            return False
        used = symbols(test.condition)
        return not loads(test.condition) and not used & self.changed


def _waits(node: Node) -> bool:
    """Tell whether threads of a block wait for one another at a node itself."""
    if isinstance(node, For):
        return node.kind is LoopKind.THREAD and has_lane_reductions((node,))
    return isinstance(node, Barrier)


def _split_at_barriers(condition: Expr, body: Body) -> Iterator[Node]:
    """Yield `body` under `condition`, but for barriers and declarations of arrays."""
    together: list[Node] = []
    for node in body:
        if isinstance(node, DeclareArray):
            yield node
            continue
        if not _waits(node):
            together.append(node)
            continue
        if together:
            yield If(condition, tuple(together))
            together = []
        yield replace(node, body=(If(condition, node.body),)) if isinstance(node, For) else node
    if together:
        yield If(condition, tuple(together))
