"""Loops as the emitted C runs them: those that are too small for threads stay in one.

In: the final loops.  Out: the same loops, of which only those are parallel that threads share.
"""

from __future__ import annotations

from polyopt.dataclass import replace
from polyopt.emit.lanes import is_contiguous, row_arrays
from polyopt.emit.openmp import is_small
from polyopt.emit.regions import thread_arrays
from polyopt.ir.loops import For, LoopFunction, LoopKind, Node
from polyopt.ir.nodes import map_inner


def as_run(fn: LoopFunction) -> LoopFunction:
    """Return the loops as they run; for predictions and reports, not to be printed."""
    rows = row_arrays(fn)
    return replace(fn, body=tuple(_run(node, rows, in_thread=False) for node in fn.body))


def _run(node: Node, rows: frozenset[str], *, in_thread: bool) -> Node:
    if isinstance(node, For) and node.kind is LoopKind.PARALLEL:
        if in_thread or (is_small(node) and not thread_arrays(node.body)):
            kind = LoopKind.VECTOR if is_contiguous(node, rows) else LoopKind.SEQUENTIAL
            node = replace(node, kind=kind)
        else:
            in_thread = True
    return map_inner(node, _run, rows, in_thread=in_thread)
