"""Merge chunks: loops over neighbouring iterations of one thread, and the loop over threads.

In: a loop AST.  Out: the same with a concurrent loop over chunks, and the loop in one chunk, as one
concurrent loop; a condition selects the iterations of chunks that run.  Each iteration is in one
chunk, so it runs as often as before; running all concurrently allows more orders.
Undoes strip-mining.
"""

from __future__ import annotations

from collections.abc import Iterator

from polyopt.dataclass import dataclass, replace
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Expr,
    Iter,
    Load,
    add,
    integer,
    mul,
    operands,
    sub,
    substitute,
    walk,
)
from polyopt.ir.linear import from_linear, linear, slope_of
from polyopt.ir.loops import CONCURRENT, Assign, Body, For, If, LoopKind, Node
from polyopt.ir.names import has_iterator
from polyopt.ir.nodes import all_nodes, bodies, map_bodies, own_expressions, with_bodies
from polyopt.ir.types import DType
from polyopt.proof.affine import NotAffine
from polyopt.proof.paths import Path, conjuncts, map_paths


def without_chunks(body: Body, path: Path) -> Body:
    """Return `body`, reached by `path`, with chunks merged."""
    found: list[Node] = []
    for node in body:
        node = map_paths(node, path, without_chunks)
        if isinstance(node, For) and node.kind in CONCURRENT:
            found += _merged(node, path) or (node,)
        else:
            found.append(node)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Chunk:
    """`loop` runs from `size` times the chunk's number plus `start`; `chain` leads to it."""

    chain: tuple[For | If, ...]
    loop: For
    size: int
    start: Expr


def _merged(chunks: For, path: Path) -> Body | None:
    """Return the replacement of a loop over chunks, None for other loops."""
    found = _chunk(chunks)
    if found is None or not _has_disjoint_iterations(found.loop):
        return None
    told = [c for node in found.chain if isinstance(node, If) for c in conjuncts(node.condition)]
    wanted = [c for c in told if has_iterator(c, (chunks.iter,))]
    around: list[Node] = []
    for link in found.chain:
        if isinstance(link, For):
            around.append(link)
        else:
            around += [If(c, ()) for c in conjuncts(link.condition) if c not in wanted]
    merged = _one_loop(chunks, found)
    inside = path
    for node in (*around, merged):
        inside = inside.into(node, 0)
    body = merged.body
    for condition in _left_over(chunks, found, wanted, inside):
        body = (If(condition, body),)
    body = (replace(merged, body=body),)
    for node in reversed(around):
        body = (with_bodies(node, (body, ()) if isinstance(node, If) else (body,)),)
    return None if any(_mentions(node, chunks.iter) for node in all_nodes(body)) else body


def _chunk(chunks: For) -> _Chunk | None:
    """Return the loop in a chunk, with only loops and conditions around it."""
    if chunks.step != 1 or chunks.reductions:
        return None
    chain: list[For | If] = []
    body = chunks.body
    while len(body) == 1:
        (node,) = body
        match node:
            case For(kind=LoopKind.SEQUENTIAL | LoopKind.UNROLL, step=1, reductions=()):
                shape = _shape(node, chunks.iter)
                return None if shape is None else _Chunk(tuple(chain), node, *shape)
            case If(otherwise=()):
                pass
            case For(reductions=()) if node.kind in CONCURRENT:
                pass  # one that runs in order would order iterations of other chunks
            case _:
                return None
        chain.append(node)
        body = node.body if isinstance(node, For) else node.then
    return None


def _shape(loop: For, name: str) -> tuple[int, Expr] | None:
    """Return size and start of the chunk that a loop runs a part of."""
    for lower in operands(loop.lower, BinaryOp.MAX):
        size = slope_of(lower, name)
        start = sub(lower, mul(integer(size), Iter(name)))
        if size < 2 or has_iterator(from_linear(linear(start)), (name,)):
            continue
        end = linear(add(lower, integer(size)))
        if any(linear(upper) == end for upper in operands(loop.upper, BinaryOp.MIN)):
            return size, from_linear(linear(start))
    return None


def _one_loop(chunks: For, found: _Chunk) -> For:
    """Return the loop over the iterations of all chunks."""
    loop = found.loop
    first = add(mul(integer(found.size), chunks.lower), found.start)
    end = add(mul(integer(found.size), chunks.upper), found.start)
    lowers = [e for e in operands(loop.lower, BinaryOp.MAX) if not has_iterator(e, (chunks.iter,))]
    uppers = [e for e in operands(loop.upper, BinaryOp.MIN) if not has_iterator(e, (chunks.iter,))]
    lower, upper = (lowers or [first])[0], (uppers or [end])[0]
    for other in lowers[1:]:
        lower = Binary(BinaryOp.MAX, lower, other, DType.INT64)
    for other in uppers[1:]:
        upper = Binary(BinaryOp.MIN, upper, other, DType.INT64)
    return replace(loop, lower=lower, upper=upper, kind=chunks.kind)


def _left_over(chunks: For, found: _Chunk, wanted: list[Expr], inside: Path) -> list[Expr]:
    """Return the condition that an iteration's chunk runs, unless its loop implies it."""
    place = sub(Iter(found.loop.iter), found.start)
    number = Binary(BinaryOp.FLOORDIV, place, integer(found.size), DType.INT64)
    here = Iter(chunks.iter)
    needed = [
        *(Compare(CompareOp.GE, here, e) for e in operands(chunks.lower, BinaryOp.MAX)),
        *(Compare(CompareOp.LT, here, e) for e in operands(chunks.upper, BinaryOp.MIN)),
        *wanted,
    ]
    conditions = [substitute(condition, {chunks.iter: number}) for condition in needed]
    return [condition for condition in conditions if not holds(condition, inside)]


def _has_disjoint_iterations(loop: For) -> bool:
    """Tell whether iterations obviously access disjoint elements: their order is irrelevant.

    Other chunks are left for the proof to check their order.
    """
    if not all(isinstance(node, Assign | If) for node in all_nodes(loop.body)):
        return False
    assigned = [node for node in all_nodes(loop.body) if isinstance(node, Assign)]
    targets = {node.target.array: node.target for node in assigned}
    if len(targets) != len({node.target for node in assigned}):
        return False
    if not all(has_iterator(target, (loop.iter,)) for target in targets.values()):
        return False
    return all(
        part == targets.get(part.array, part)
        for node in all_nodes(loop.body)
        for expr in own_expressions(node)
        for part in walk(expr)
        if isinstance(part, Load)
    )


def _mentions(node: Node, name: str) -> bool:
    instance = getattr(node, "instance", ())
    target = getattr(node, "target", None)
    parts: Iterator[Expr] = iter((*own_expressions(node), *instance))
    return any(has_iterator(e, (name,)) for e in parts) or (
        target is not None and has_iterator(target, (name,))
    )


def holds(condition: Expr, path: Path) -> bool:
    """Tell whether a condition is true at all iterations of `path`."""
    try:
        return bool(path.domain.is_subset(path.frame.condition(condition)))
    except NotAffine:
        return False


def without_strips(body: Body) -> Body:
    """Return `body` with such loops undone."""
    return tuple(_node(node) for node in body)


def _node(node: Node) -> Node:
    node = map_bodies(node, without_strips)
    if not isinstance(node, For) or node.reductions:
        return node
    inner = _within(node, node.body)
    if inner is None or _is_used(node, inner):
        return node
    rest = _without(node.body, inner)
    return replace(inner, lower=node.lower, upper=node.upper, body=rest)


def _within(strips: For, body: Body) -> For | None:
    """Return the loop over one of `strips`, with only loops and conditions around."""
    if len(body) != 1:
        return None
    (node,) = body
    match node:
        case For() if _is_strip(strips, node):
            return node
        case For(reductions=()):
            return _within(strips, node.body)
        case If(otherwise=()):
            return _within(strips, node.then)
        case _:
            return None


def _is_strip(strips: For, loop: For) -> bool:
    if loop.kind not in CONCURRENT or loop.reductions or loop.label != strips.label:
        return False
    if loop.lower != Iter(strips.iter):
        return False
    end = add(Iter(strips.iter), integer(strips.step))
    found = operands(loop.upper, BinaryOp.MIN)
    others = {part for part in found if linear(part) != linear(end)}
    return (
        len(others) < len(found)
        and others == set(operands(strips.upper, BinaryOp.MIN))
        and strips.step % loop.step == 0
    )


def _is_used(strips: For, inner: For) -> bool:
    """Tell whether anything but the bounds of `inner` depends on the strip."""
    for node in all_nodes(strips.body):
        if node is not inner and any(has_iterator(e, (strips.iter,)) for e in _expressions(node)):
            return True
    return False


def _expressions(node: Node) -> tuple[Expr, ...]:
    instance = getattr(node, "instance", ())
    target = getattr(node, "target", None)
    return (*own_expressions(node), *instance, *(() if target is None else (target,)))


def _without(body: Body, inner: For) -> Body:
    """Return `body` with `inner` replaced by its own body."""
    (node,) = body
    if node is inner:
        return inner.body
    return (
        with_bodies(node, tuple(_without(part, inner) if part else () for part in bodies(node))),
    )
