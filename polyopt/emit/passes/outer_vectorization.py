"""Mark loops along rows of memory that are vectorized across the rows.

In: a `LoopFunction`, the machine.  Out: such loops with the lanes of their registers (`For.lanes`);
first and last iterations under conditions are peeled.
Leaves: what `polyopt.emit.passes.row_recurrences` refuses, loops with fewer steps than lanes.
"""

from __future__ import annotations

from typing import TypeGuard

from polyopt.dataclass import replace
from polyopt.emit.lanes import row_arrays
from polyopt.emit.passes.guards import bounds_where, is_index
from polyopt.emit.passes.rewriting import bottom_up, trip_count
from polyopt.emit.passes.row_recurrences import row_recurrence
from polyopt.ir.expr import Binary, BinaryOp, Const, Expr, add, integer, operands, sub
from polyopt.ir.linear import normalize
from polyopt.ir.loops import Assign, Body, For, If, LoopFunction, LoopKind, Node
from polyopt.ir.nodes import all_nodes, has_loop
from polyopt.ir.types import DType
from polyopt.machine import Machine

MOST_PEELED = 4  # first or last iterations of a loop


def vectorize_across_rows(fn: LoopFunction, machine: Machine) -> LoopFunction:
    """Return `fn` with the row recurrences that profit from in-register transposes marked."""
    rows = row_arrays(fn)

    def rule(node: Node) -> Body:
        if isinstance(node, For) and node.kind is LoopKind.SEQUENTIAL and node.step == 1:
            return _marked(node, rows, machine)
        return (node,)

    return replace(fn, body=bottom_up(fn.body, rule))


def _marked(loop: For, rows: frozenset[str], machine: Machine) -> Body:
    if not has_loop(loop.body, LoopKind.VECTOR):
        return (loop,)
    sizes = {n.target.dtype.size for n in all_nodes(loop.body) if isinstance(n, Assign)}
    lanes = machine.vector_bytes // max(sizes, default=machine.vector_bytes)
    steps = trip_count(loop)
    if lanes < 2 or (steps is not None and steps < lanes):
        return (loop,)
    parts = _without_conditions(loop)
    if parts is None or row_recurrence(parts[1], lanes, rows) is None:
        return (loop,)
    first, middle, last = parts
    ends = [None if trip_count(end) == 0 else end for end in (first, last)]
    marked = (ends[0], middle.annotated(lanes=lanes), ends[1])
    return tuple(part for part in marked if part is not None)


def _without_conditions(loop: For) -> tuple[For, For, For] | None:
    """Return a loop peeled: first iterations, those whose conditions are all decided, the last.

    None where a condition is not decided by peeling a few iterations.
    """
    first = last = 0
    body: list[Node] = []
    for node in loop.body:
        if not isinstance(node, If):
            body.append(node)
            continue
        ends = _ends(node.condition, loop)
        if ends is None:
            return None
        holds, before, after = ends
        first, last = max(first, before), max(last, after)
        body += node.then if holds else node.otherwise
    begin, end = loop.lower, loop.upper
    if first:
        later = normalize(add(loop.lower, integer(first)))
        begin = Binary(BinaryOp.MIN, later, loop.upper, DType.INT64)
    if last:
        earlier = normalize(sub(loop.upper, integer(last)))
        end = Binary(BinaryOp.MAX, earlier, begin, DType.INT64)
    return (
        replace(loop, upper=begin),
        replace(loop, lower=begin, upper=end, body=tuple(body)),
        replace(loop, lower=end),
    )


def _ends(condition: Expr, loop: For) -> tuple[bool, int, int] | None:
    """Return whether a condition holds, but for some first and last iterations, or fails."""
    found = bounds_where(condition, loop) if is_index(condition) else None
    if found is None:
        return None
    lower = _joined(found.lower, BinaryOp.MAX, loop.lower)
    upper = _joined(found.upper, BinaryOp.MIN, loop.upper)
    before, after = _distance(loop.lower, lower), _distance(upper, loop.upper)
    if _is_short(before) and _is_short(after):
        return True, max(before, 0), max(after, 0)
    before, after = _distance(loop.lower, upper), _distance(lower, loop.upper)
    if _is_short(before):
        return False, max(before, 0), 0
    return (False, 0, max(after, 0)) if _is_short(after) else None


def _is_short(steps: int | None) -> TypeGuard[int]:
    return steps is not None and steps <= MOST_PEELED


def _joined(bound: Expr, op: BinaryOp, own: Expr) -> Expr | None:
    """Return what a bound has besides the loop's own: that one if nothing, None if several."""
    others = [part for part in operands(bound, op) if part not in operands(own, op)]
    if not others:
        return own
    return others[0] if len(others) == 1 else None


def _distance(low: Expr | None, high: Expr | None) -> int | None:
    """Return how far `high` is behind `low`; None: it depends."""
    away = None if low is None or high is None else normalize(sub(high, low))
    return int(away.value.real) if isinstance(away, Const) else None
