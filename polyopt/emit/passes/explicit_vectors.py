"""Vectorize VECTOR loops over contiguous elements explicitly.

In: a `LoopFunction`, the machine.  Out: short loops of whole vectors as straight-line vector
statements, others marked with their lanes (`For.lanes`), and so loops of a few sums.
Leaves to the compiler's vectorizer: what `polyopt.emit.lanes` refuses, other reductions, tiny
loops.
"""

from __future__ import annotations

from polyopt.dataclass import replace
from polyopt.emit.lanes import NotVector, row_arrays, sums_in_vectors, vector_dtype, vectorized
from polyopt.emit.passes.nontemporal_stores import nontemporal_arrays
from polyopt.emit.passes.rewriting import bottom_up, substituted, trip_count
from polyopt.emit.regions import is_settled, written_arrays
from polyopt.ir.expr import add, integer
from polyopt.ir.linear import normalize
from polyopt.ir.loops import Assign, Body, For, LoopFunction, LoopKind, Node, vectors_of_sums
from polyopt.ir.nodes import all_nodes
from polyopt.machine import Machine

MAX_VECTORS = 8
"""Registers one row of a VECTOR loop may become."""


def vectorize(fn: LoopFunction, machine: Machine) -> LoopFunction:
    """Return `fn` with its VECTOR loops as explicit vectors where they have that form."""
    rows = row_arrays(fn)
    body: list[Node] = []
    for nest in fn.body:
        past = frozenset(nontemporal_arrays(fn, nest, rows))

        def rule(node: Node, past: frozenset[str] = past) -> Body:
            if isinstance(node, For) and node.kind is LoopKind.VECTOR:
                return _vectors(node, rows, machine, past)
            return (node,)

        body += bottom_up((nest,), rule)
    return replace(fn, body=tuple(body))


def _vectors(loop: For, rows: frozenset[str], machine: Machine, past: frozenset[str]) -> Body:
    """Return the loop as vectors; with choices only where it may use nontemporal stores.

    Compilers' own lanes choose as well or better, but have no such stores.
    """
    dtype = vector_dtype(loop.body)
    if dtype is None or loop.step != 1:
        return (loop,)
    lanes = machine.vector_bytes // dtype.size
    count = trip_count(loop)
    if lanes < 2 or (count is not None and count < lanes):
        return (loop,)
    if loop.reductions:
        return (_sums(loop, lanes, count, rows),)
    try:
        body = vectorized(loop, lanes, rows, choices=not past.isdisjoint(written_arrays(loop.body)))
    except NotVector:
        return (loop,)
    if not any(isinstance(node, Assign) for node in all_nodes(body)):
        return (loop,)  # it only sets locals
    is_short = count is not None and count % lanes == 0 and count // lanes <= MAX_VECTORS
    is_short = is_short and is_settled(loop.lower, loop.body)
    if is_short and count is not None and all(isinstance(node, Assign) for node in body):
        found: list[Node] = []
        for number in range(count // lanes):
            value = normalize(add(loop.lower, integer(number * lanes)))
            found += substituted(body, {loop.iter: value})
        return tuple(found)
    return (loop.annotated(lanes=lanes),)


def _sums(loop: For, lanes: int, count: int | None, rows: frozenset[str]) -> For:
    """Return a loop of sums as vectors, unless it is too short for several."""
    wanted = loop.annotated(lanes=lanes)
    if count is not None and count < lanes * vectors_of_sums(wanted):
        return loop
    try:
        sums_in_vectors(wanted, rows)
    except NotVector:
        return loop
    return wanted
