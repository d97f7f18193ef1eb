"""Vectorize VECTOR loops over contiguous elements explicitly.

In: a `LoopFunction`, the machine.  Out: short loops of whole vectors as straight-line vector
statements, others marked with their lanes (`For.lanes`), and so loops of a few sums.
Leaves to the compiler's vectorizer: what `polyopt.emit.lanes` refuses, other reductions, tiny
loops, and assignments to rows for which it does as well.
"""

from __future__ import annotations

from polyopt.dataclass import replace
from polyopt.emit.lanes import NotVector, row_arrays, sums_in_vectors, vector_dtype, vectorized
from polyopt.emit.passes.nontemporal_stores import nontemporal_arrays
from polyopt.emit.passes.rewriting import bottom_up, substituted, trip_count
from polyopt.emit.ranges import extent_of
from polyopt.emit.regions import is_settled, written_arrays
from polyopt.emit.vector_loops import windows
from polyopt.ir.expr import Binary, VectorLoad, add, integer, walk
from polyopt.ir.linear import normalize
from polyopt.ir.loops import Assign, Body, For, LoopFunction, LoopKind, Node, vectors_of_sums
from polyopt.ir.nodes import all_nodes
from polyopt.machine import Machine

MAX_VECTORS = 8
"""Registers one row of a VECTOR loop may become."""

MOST_OPERATIONS = 8
"""Of a body of which compilers run a few iterations at the ends of a row one by one."""


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
    if past.isdisjoint(written_arrays(loop.body)) and not _gains(loop, lanes, body):
        return (loop,)
    return (loop.annotated(lanes=lanes),)


def _gains(loop: For, lanes: int, body: Body) -> bool:
    """Tell whether explicit vectors run a loop faster than compilers' own lanes.

    They do where registers hold what unaligned or strided reads have in common, for elements of 16
    bits, and where the ends of rows matter, which compilers run element by element: in rows of one
    vector at most, in long bodies.  Neither do compilers vectorize what has loops inside.
    """
    longest = extent_of(loop)
    values = [node.value for node in body if isinstance(node, Assign)]
    if len(values) < len(body) or (longest is not None and longest.size <= lanes):
        return True
    parts = [part for value in values for part in walk(value)]
    loads = (part for part in parts if isinstance(part, VectorLoad))
    operations = (part for part in parts if isinstance(part, Binary) and part.dtype.is_float)
    is_long = len(tuple(operations)) > MOST_OPERATIONS
    return is_long or bool(windows(body)) or any(p.step > 1 or p.dtype.is_half for p in loads)


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
