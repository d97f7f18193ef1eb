"""Unroll loops of kind UNROLL, and jam rows of stencils into the vector loop inside.

In: a `LoopFunction`.  Out: copies of short loops, the same instances in the same order; loops over
groups of rows, with a copy of the body for each, and over the rest, where the rows of a group have
enough of what they read and add in common.  A count of distinct loads and operations for each row
decides how many (Callahan, Carr and Kennedy, "Improving register allocation for subscripted
variables", 1990).
Leaves: loops whose copies would be more than `LIMIT` nodes, and loops of unknown length; rows that
read what the loop writes, bodies that do not become explicit vectors, reductions, faults.
"""

from __future__ import annotations

from polyopt.dataclass import replace
from polyopt.emit.lanes import NotVector, row_arrays, vector_dtype, vectorized
from polyopt.emit.passes.regrouping import grouped_values
from polyopt.emit.passes.rewriting import (
    Names,
    bottom_up,
    local_names,
    renamed,
    statements,
    substituted,
    trip_count,
)
from polyopt.emit.regions import is_settled, leaves_itself
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Call,
    Iter,
    Load,
    VectorLoad,
    add,
    integer,
    mul,
    sub,
    walk,
)
from polyopt.ir.linear import linear, normalize
from polyopt.ir.loops import Assign, Body, Declare, For, LoopFunction, LoopKind, Node, SetLocal
from polyopt.ir.scop import Role
from polyopt.ir.types import DType
from polyopt.machine import Machine

LIMIT = 1024

FOLDED = 32
"""Bytes of the smallest vectors that instructions read from any address (AVX)."""

ROWS = (2, 4)
MOST_STATEMENTS = 128
"""Statements of all copies."""

LEAST = 0.9
"""Of the loads and operations of a row, what twice as many rows at a time may leave."""


def unroll(fn: LoopFunction) -> LoopFunction:
    """Return `fn` with its UNROLL loops replaced by copies."""
    names = Names(fn)

    def rule(node: Node) -> Body:
        if isinstance(node, For) and node.kind is LoopKind.UNROLL:
            return unrolled(node, names)
        return (node,)

    return replace(fn, body=bottom_up(fn.body, rule))


def unroll_in_lanes(fn: LoopFunction, machine: Machine) -> LoopFunction:
    """Return `fn` with short loops in VECTOR loops as copies where their bounds differ by lane.

    Not for vectors of 16 bytes, whose unaligned operands need an instruction of their own.
    """
    if machine.vector_bytes < FOLDED:
        return fn
    names = Names(fn)

    def rule(node: Node) -> Body:
        if not isinstance(node, For) or node.kind is not LoopKind.VECTOR:
            return (node,)
        return (replace(node, body=_copied(node.body, Iter(node.iter), names)),)

    return replace(fn, body=bottom_up(fn.body, rule))


def _copied(body: Body, lane: Iter, names: Names) -> Body:
    found: list[Node] = []
    for node in body:
        if not isinstance(node, For) or node.kind is not LoopKind.UNROLL:
            found.append(node)
            continue
        inner = replace(node, body=_copied(node.body, lane, names))
        differs = any(lane in walk(bound) for bound in (node.lower, node.upper))
        copies = unrolled(inner, names) if differs or inner.body != node.body else (node,)
        found += copies
    return tuple(found)


def unrolled(loop: For, names: Names) -> Body:
    """Return the copies of `loop`'s body, or `loop` as a sequential loop."""
    count = trip_count(loop)
    if count is None or leaves_itself(loop.body) or not is_settled(loop.lower, loop.body):
        return (replace(loop, kind=LoopKind.SEQUENTIAL),)
    if count * statements(loop.body) > LIMIT:
        return (replace(loop, kind=LoopKind.SEQUENTIAL),)
    copies: list[Node] = []
    for number in range(count):
        value = normalize(add(loop.lower, integer(number * loop.step)))
        body = substituted(loop.body, {loop.iter: value})
        if number > 0:
            body = renamed(body, {name: names.fresh(name) for name in local_names(body)})
        copies += body
    return tuple(copies)


def unroll_and_jam(fn: LoopFunction, machine: Machine) -> LoopFunction:
    """Return `fn` with the rows of its stencils in groups."""
    names = Names(fn)
    faults = frozenset(a.name for a in fn.arrays if a.role is Role.FAULT)

    rows = row_arrays(fn)

    def rule(node: Node) -> Body:
        if not isinstance(node, For) or not _is_nest(node, faults):
            return (node,)
        if not _has_vectors(node, rows, machine):
            return (node,)
        count = _rows(fn, node, machine)
        return (node,) if count == 1 else _grouped(node, count, names)

    return replace(fn, body=bottom_up(fn.body, rule))


def _is_nest(loop: For, faults: frozenset[str]) -> bool:
    """Tell whether the rows of a loop may run in any order, element by element."""
    if loop.kind not in (LoopKind.SEQUENTIAL, LoopKind.PARALLEL) or loop.reductions:
        return False
    if loop.step != 1 or len(loop.body) != 1:
        return False
    (lanes,) = loop.body
    if not isinstance(lanes, For) or lanes.kind is not LoopKind.VECTOR or lanes.reductions:
        return False
    if any(Iter(loop.iter) in walk(bound) for bound in (lanes.lower, lanes.upper)):
        return False
    nodes = [node for node in lanes.body if isinstance(node, Assign | Declare | SetLocal)]
    if len(nodes) != len(lanes.body):
        return False
    stores = [node.target for node in nodes if isinstance(node, Assign)]
    arrays = {target.array for target in stores}
    reads = {p.array for n in nodes for p in walk(n.value) if isinstance(p, Load | VectorLoad)}
    if len(arrays) != len(stores) or arrays & (reads | faults):
        return False
    is_free = is_settled(loop.upper, loop.body) and is_settled(loop.lower, loop.body)
    return is_free and all(_is_row(target, loop.iter, lanes.iter) for target in stores)


def _has_vectors(loop: For, rows: frozenset[str], machine: Machine) -> bool:
    """Tell whether the loop inside becomes explicit vectors, which share what they load."""
    (lanes,) = loop.body
    assert isinstance(lanes, For)
    dtype = vector_dtype(lanes.body)
    if dtype is None or machine.vector_bytes < 2 * dtype.size:
        return False
    try:
        vectorized(lanes, machine.vector_bytes // dtype.size, rows)
    except NotVector:
        return False
    return True


def _is_row(target: Load | VectorLoad, row: str, lane: str) -> bool:
    """Tell whether rows write different elements."""
    for index in target.index:
        factors = dict(linear(index).terms)
        parts = [part for atom in factors for part in walk(atom) if part != atom]
        if factors.get(Iter(row)) and Iter(lane) not in factors and Iter(row) not in parts:
            return True
    return False


def _rows(fn: LoopFunction, loop: For, machine: Machine) -> int:
    """Return how many rows run at a time: each doubling has to save enough.

    What they read in common is used again soon where registers hold half of it.
    """
    (lanes,) = loop.body
    assert isinstance(lanes, For)
    chosen, cost = 1, float(sum(_cost(fn, lanes.body, loop.iter, machine)))
    for count in ROWS:
        copies: list[Node] = []
        for number in range(count):
            body = _copy(loop, lanes.body, number)
            copies += renamed(body, {name: f"{name} {number}" for name in local_names(body)})
        reads, operations = _cost(fn, tuple(copies), loop.iter, machine)
        fewer = (reads + operations) / count
        if statements(tuple(copies)) > MOST_STATEMENTS or reads > 2 * machine.vector_registers:
            break
        if fewer >= LEAST * cost:
            break
        chosen, cost = count, fewer
    return chosen


def _copy(loop: For, body: Body, number: int) -> Body:
    value = normalize(add(Iter(loop.iter), integer(number)))
    return substituted(body, {loop.iter: value})


def _cost(fn: LoopFunction, body: Body, row: str, machine: Machine) -> tuple[int, int]:
    """Return how many distinct elements of rows a body reads, and its distinct operations."""
    nodes = [node for node in body if isinstance(node, Assign | Declare | SetLocal)]
    parts = {part for value in grouped_values(fn, nodes, fma=machine.fma) for part in walk(value)}
    reads = [p for p in parts if isinstance(p, Load | VectorLoad) and Iter(row) in walk(p)]
    operations = [p for p in parts if isinstance(p, Binary | Call) and p.dtype is not DType.INT64]
    return len(reads), len(operations)


def _grouped(loop: For, count: int, names: Names) -> Body:
    """Return the loop over groups of rows, and the loop over the rows that are left."""
    (lanes,) = loop.body
    assert isinstance(lanes, For)
    copies: list[Node] = []
    for number in range(count):
        body = _copy(loop, lanes.body, number)
        if number > 0:
            body = renamed(body, {name: names.fresh(name) for name in local_names(body)})
        copies += body
    length = Binary(BinaryOp.FLOORDIV, sub(loop.upper, loop.lower), integer(count), DType.INT64)
    middle = normalize(add(loop.lower, mul(integer(count), length)))
    jammed = replace(lanes, body=tuple(copies))
    groups = replace(loop, upper=middle, step=count, body=(jammed,))
    rest = Binary(BinaryOp.MAX, middle, loop.lower, DType.INT64)
    return groups, replace(loop, lower=rest)
