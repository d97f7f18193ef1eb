"""Loops as the emitted C runs them: those that are too small for threads stay in one.

In: the final loops.  Out: the same loops, of which only those are parallel that threads share.
"""

from __future__ import annotations

from polyopt.dataclass import replace
from polyopt.emit.lanes import is_contiguous, row_arrays
from polyopt.emit.nodes import nested, with_nested
from polyopt.emit.openmp import is_small
from polyopt.emit.regions import thread_arrays
from polyopt.ir.loops import Body, For, LoopFunction, LoopKind, Node


def as_run(fn: LoopFunction) -> LoopFunction:
    """Return the loops as they run; for predictions and reports, not to be printed."""
    rows = row_arrays(fn)
    return replace(fn, body=_run(fn.body, rows, in_thread=False))


def _run(body: Body, rows: frozenset[str], *, in_thread: bool) -> Body:
    return tuple(_node(node, rows, in_thread=in_thread) for node in body)


def _node(node: Node, rows: frozenset[str], *, in_thread: bool) -> Node:
    if isinstance(node, For) and node.kind is LoopKind.PARALLEL:
        if in_thread or (is_small(node) and not thread_arrays(node.body)):
            lanes = is_contiguous(node, rows)
            kind = LoopKind.VECTOR if lanes else LoopKind.SEQUENTIAL
            node = replace(node, kind=kind)
        else:
            in_thread = True
    bodies = nested(node)
    return with_nested(node, tuple(_run(b, rows, in_thread=in_thread) for b in bodies))
