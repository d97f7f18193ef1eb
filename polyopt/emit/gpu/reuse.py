"""Separate full tiles in which a thread reads elements again, so that loads are made once.

In: kernels.  Out: nests in which a thread runs a small loop along which it reads neighbours: where
all of its iterations exist, without conditions, so that the compiler reuses registers.
Leaves: loops along which nothing is read twice.
"""

from __future__ import annotations

from polyopt.dataclass import dataclass, replace
from polyopt.emit.gpu.each_block import in_each_block
from polyopt.emit.gpu.full_tiles import MOST
from polyopt.emit.gpu.nests import rebuilt, spans, thread_nest
from polyopt.ir.expr import (
    BinaryOp,
    Compare,
    CompareOp,
    Expr,
    Load,
    add,
    conjunction,
    integer,
    operands,
    sub,
    walk,
)
from polyopt.ir.linear import linear, normalize
from polyopt.ir.loops import Assign, Body, Declare, For, If, Kernel, LoopFunction, LoopKind, Node
from polyopt.ir.names import has_iterator, iterators
from polyopt.ir.nodes import all_nodes, map_bodies, map_inner

LARGEST = 8
"""Assignments in a loop that is written twice, whole and with conditions."""


def separate_reused_tiles(fn: LoopFunction) -> LoopFunction:
    """Return `fn` with full tiles separated where threads read neighbours repeatedly."""
    return in_each_block(fn, _in_block)


def _in_block(kernel: Kernel, body: Body, fn: LoopFunction, around: tuple[For, ...]) -> Body:
    del kernel, fn, around
    return _full(body)


def _full(body: Body) -> Body:
    result: list[Node] = []
    for node in body:
        if isinstance(node, For) and node.kind is LoopKind.THREAD:
            nest = thread_nest(node)
            if _is_plain(nest.body) and any(_reuses(loop) for loop in _loops(nest.body)):
                node = rebuilt(nest, _separated(nest.body))
            result.append(node)
        else:
            result.append(map_bodies(node, _full))
    return tuple(result)


def _separated(body: Body) -> Body:
    """Return the code of a thread, without conditions where all iterations of its loops exist."""
    found: dict[str, _ConstantLoop] = {}
    inside = {loop.iter for loop in _loops(body)}
    for loop in _loops(body):
        whole = _constant_loop(loop, inside)
        if whole is None or found.setdefault(loop.iter, whole) != whole:
            return body
    conditions = list(dict.fromkeys(c for whole in found.values() for c in whole.conditions))
    changed = tuple(_mapped(node, found) for node in body)
    if not conditions:
        return changed
    return (If(conjunction(conditions), changed, body),)


@dataclass(frozen=True, slots=True)
class _ConstantLoop:
    """A loop from `start` to `end`, where all of `conditions` hold."""

    start: Expr
    end: Expr
    conditions: tuple[Expr, ...]


def _constant_loop(loop: For, inside: set[str]) -> _ConstantLoop | None:
    """Return a small loop with bounds at a constant distance; None where others determine them."""
    if inside & iterators(loop.lower, loop.upper) or loop.step != 1:
        return None
    length, start = min(((n, start) for start, n in spans(loop)), key=lambda found: found[0])
    end = normalize(add(start, integer(length)))
    lowers = [e for e in operands(loop.lower, BinaryOp.MAX) if normalize(e) != normalize(start)]
    uppers = [e for e in operands(loop.upper, BinaryOp.MIN) if normalize(e) != end]
    conditions = [Compare(CompareOp.LE, lower, start) for lower in lowers]
    conditions += [Compare(CompareOp.LE, end, upper) for upper in uppers]
    return _ConstantLoop(start, end, tuple(conditions))


def _mapped(node: Node, found: dict[str, _ConstantLoop]) -> Node:
    """Return a node with whole loops in place of those in `found`, unrolled."""
    node = map_inner(node, _mapped, found)
    if not isinstance(node, For):
        return node
    whole = found[node.iter]
    return replace(node, lower=whole.start, upper=whole.end, kind=LoopKind.UNROLL)


def _loops(body: Body) -> list[For]:
    return [node for node in all_nodes(body) if isinstance(node, For)]


def _is_plain(body: Body) -> bool:
    """Tell whether a thread runs a few assignments in small loops, and nothing else."""
    found = all_nodes(body)
    count = sum(isinstance(node, Assign) for node in found)
    loops = all(_is_small(loop) for loop in _loops(body))
    return loops and 0 < count <= LARGEST and all(isinstance(n, _PLAIN) for n in found)


_PLAIN = (Assign, For, If, Declare)


def _is_small(loop: For) -> bool:
    """Tell whether a loop has few iterations, at most a number that is known."""
    kinds = (LoopKind.SEQUENTIAL, LoopKind.UNROLL)
    extents = [length for _, length in spans(loop)]
    return loop.kind in kinds and bool(extents) and 0 < min(extents) <= MOST


def _reuses(loop: For) -> bool:
    """Tell whether two reads of an iteration are one element in different iterations."""
    reads = [
        part
        for node in all_nodes(loop.body)
        if isinstance(node, Assign)
        for part in walk(node.value)
        if isinstance(part, Load)
    ]
    return any(
        one.array == other.array and _is_neighbour(one, other, loop.iter)
        for number, one in enumerate(reads)
        for other in reads[:number]
    )


def _is_neighbour(one: Load, other: Load, name: str) -> bool:
    """Tell whether subscripts differ by a number, only where they move with the loop."""
    moved = False
    for left, right in zip(one.index, other.index, strict=True):
        distance = linear(sub(left, right))
        if distance.terms:
            return False
        if distance.constant:
            if not has_iterator(left, (name,)):
                return False
            moved = True
    return moved
