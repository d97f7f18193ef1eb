"""Undo partial results: accumulate the terms directly into the sum.

In: a loop AST.  Out: the same with updates of the sum where a loop updated partial results that
another loop joins after it.  The sum is reassociable, and nothing else accesses it from the first
loop to the second, so that its updates may come earlier and in any grouping; checks that each
partial result starts as the operator's identity and is joined once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.ir.expr import BinaryOp, Const, Expr, Iter, Load, Symbol, VectorLoad, walk
from polyopt.ir.extremum import chosen, update_by
from polyopt.ir.identity import identity, is_exact
from polyopt.ir.loops import (
    CONCURRENT,
    Assign,
    Body,
    CallLibrary,
    Comment,
    Declare,
    For,
    If,
    Node,
    SetLocal,
)
from polyopt.ir.nodes import all_nodes, changed, map_inner, own_expressions
from polyopt.ir.scop import Statement
from polyopt.proof.paths import Path, map_paths, with_paths


def without_partial_results(
    body: Body,
    path: Path,
    statements: Mapping[str, Statement],
    given: frozenset[str],
    used: Counter[str],
) -> Body:
    """Return `body`, at `path`, without partial results; arrays in `given` are never partial.

    `statements` are the source's, by name; `used` is the number of mentions of each array.
    """
    return _Undoing(statements, given, used).body(body, path)


def mentioned(body: Body) -> Counter[str]:
    """Return how often each array is read, written or passed to a library."""
    return Counter(name for node in all_nodes(body) for name in _own_arrays(node))


@dataclass(frozen=True, eq=False)
class _Join:
    """A loop that adds elements of `part`, those in `domain`, to `total` by `op`.

    `is_choice`: as the extremum of choices, which passes over NaN.
    """

    loop: For
    domain: isl.Set
    total: Load
    op: BinaryOp
    part: str
    is_choice: bool


@dataclass(frozen=True, eq=False)
class _Undoing:
    """Undoes partial results; `counts` is the function's number of mentions of each array."""

    statements: Mapping[str, Statement]
    given: frozenset[str]
    counts: Counter[str]

    def body(self, body: Body, path: Path) -> Body:
        found = list(body)
        for last in range(len(found)):
            for join in list(_joins(found[last], path)):
                for first in range(last):
                    whole = self.whole(found[first : last + 1], path, join)
                    if whole is not None:
                        found[first] = whole
                        found[last] = _without(found[last], join.loop)
                        break
        return tuple(map_paths(node, path, self.body) for node in found)

    def whole(self, nodes: list[Node], path: Path, join: _Join) -> Node | None:
        """Return the first node with its updates in the sum, None if it updates no partial results.

        The join is in the last node.
        """
        loop, *between, last = nodes
        rest = _without(last, join.loop)
        if not isinstance(loop, For) or not all(map(_is_plain, (loop, *between, rest))):
            return None
        if join.part in self.given or join.total.array in mentioned((loop, *between, rest)):
            return None
        if mentioned((loop, join.loop))[join.part] != self.counts[join.part]:
            return None
        start = _start(loop, path.into(loop, 0), join)
        if start is None:
            return None
        updates = _without(loop, start)
        if not all(self.is_update(n, p, join) for n, p in _users(updates, path, join.part)):
            return None
        return _summing(updates, join)

    def is_update(self, node: Node, path: Path, join: _Join) -> bool:
        """Tell whether a node that mentions partial results is a reassociable update of one."""
        if not isinstance(node, Assign) or not isinstance(node.target, Load) or path.data:
            return False
        statement = self.statements.get(node.statement)
        rule = None if statement is None else statement.reduction
        if statement is None or rule is None or rule.op is not join.op:
            return False
        if not (statement.is_reassociable or is_exact(rule.op, statement.target.dtype)):
            return False
        used = [p for p in walk(node.value) if isinstance(p, Load) and p.array == join.part]
        is_choice = chosen(node.value, node.target) is rule.op
        if join.is_choice and not is_choice:
            return False
        count = 2 if is_choice else 1
        is_own = used == [node.target] * count and node.target.dtype is join.total.dtype
        depth = join.domain.dim(isl.dim_type.set)
        place = Iter(path.loops[depth - 1].iter)
        if not is_own or node.target.index != (place,):
            return False
        inner = path.domain.dim(isl.dim_type.set) - depth
        return bool(path.domain.project_out(isl.dim_type.set, depth, inner).is_subset(join.domain))


def _joins(node: Node, path: Path) -> Iterator[_Join]:
    """Yield the loops that join partial results: `node` itself, or inside its conditions."""
    match node:
        case If(otherwise=()):
            for inner in node.then:
                yield from _joins(inner, path.into(node, 0))
        case For(
            reductions=(),
            body=(
                Assign(
                    statement="",
                    target=Load() as total,
                    value=value,
                ),
            ),
        ) if (update := update_by(value, total)) is not None:
            match update.fresh:
                case Load(index=(Iter(name=node.iter) as place,)) as part:
                    pass
                case _:
                    return
            inside = path.into(node, 0)
            parts = [p for i in total.index for p in walk(i)]
            is_fixed = not any(isinstance(p, Load | Symbol) or p == place for p in parts)
            if is_fixed and not inside.data and part.dtype is total.dtype:
                yield _Join(node, inside.domain, total, update.op, part.array, update.is_choice)
        case _:
            pass


def _start(loop: For, path: Path, join: _Join) -> Assign | None:
    """Return the node that sets exactly the joined partial results to the identity first."""
    for node in loop.body:
        for inner, where in with_paths((node,), path):
            match inner:
                case Assign(
                    statement="", target=Load(index=(Iter(name=loop.iter),)) as part, value=Const()
                ) if part.array == join.part:
                    neutral = identity(join.op, part.dtype)
                    is_neutral = neutral is not None and repr(inner.value) == repr(neutral)
                    is_once = where.loops == path.loops and not where.data
                    is_same = bool(where.domain.is_equal(join.domain))
                    return inner if is_neutral and is_once and is_same else None
                case _ if join.part in _own_arrays(inner):
                    return None
    return None


def _users(node: Node, path: Path, array: str) -> Iterator[tuple[Node, Path]]:
    """Yield the nodes that mention an array, with the paths to them."""
    for inner, where in with_paths((node,), path):
        if array in _own_arrays(inner):
            yield inner, where


def _summing(loop: Node, join: _Join) -> Node:
    """Return a loop with the sum in place of its partial results."""

    def rule(expr: Expr) -> Expr | None:
        return join.total if isinstance(expr, Load) and expr.array == join.part else None

    whole = _combining(changed(loop, rule), join)
    assert isinstance(whole, For)
    if whole.kind not in CONCURRENT:
        return whole
    symbol = Symbol(join.total.array, join.total.dtype)
    return whole.annotated(reductions=(*whole.reductions, (join.op, symbol)))


def _combining(node: Node, join: _Join) -> Node:
    """Return `node` with inner loops' reductions into partial results going to the sum."""
    if isinstance(node, For):
        own = (
            (op, replace(s, name=join.total.array) if s.name == join.part else s)
            for op, s in node.reductions
        )
        node = node.annotated(reductions=tuple(own))
    return map_inner(node, _combining, join)


def _without(node: Node, other: Node) -> Node:
    """Return `node` without a node inside it; a comment if nothing is left."""
    if node is other:
        return Comment("")
    return map_inner(node, _without, other)


def _is_plain(node: Node) -> bool:
    """Tell whether a node has only loops, conditions and assignments: nothing leaves a loop."""
    plain = (For, If, Assign, Declare, SetLocal, Comment)
    return all(isinstance(inner, plain) for inner in all_nodes((node,)))


def _own_arrays(node: Node) -> list[str]:
    parts = (part for expr in own_expressions(node) for part in walk(expr))
    found = [part.array for part in parts if isinstance(part, Load | VectorLoad)]
    match node:
        case Assign():
            found.append(node.target.array)
        case CallLibrary():
            found += [array.name for array in (*node.inputs, *node.outputs)]
        case _:
            pass
    return found
