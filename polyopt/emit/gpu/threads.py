"""Form the code of a block: nests of THREAD loops with constant boxes, and code for all threads.

In: the body of a kernel's grid.  Out: the same, its loops either across threads or in order.
A THREAD loop of no constant extent is strip-mined; where its bounds depend on another THREAD loop
around it, each thread runs it in order.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product
from math import prod

from polyopt.dataclass import replace
from polyopt.emit.gpu.distribution import directly_inside, distribute_loop, in_order
from polyopt.emit.gpu.grids import boxed
from polyopt.emit.gpu.nests import Unbounded, bounds_use, extent, spans
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Expr,
    Iter,
    Symbol,
    add,
    conjunction,
    integer,
    loads,
    operands,
)
from polyopt.ir.loops import (
    Barrier,
    Body,
    Declare,
    DeclareArray,
    For,
    If,
    LoopKind,
    Node,
    SetLocal,
    Space,
)
from polyopt.ir.names import fresh_name, iterators
from polyopt.ir.nodes import all_nodes, bodies, has_loop, map_bodies
from polyopt.ir.types import DType

STRIP = 256
"""Threads of a block where the extents of loops do not say."""
WARP = 32
"""Neighbouring iterations for a loop inside another without an extent."""


def block_body(body: Body, taken: set[str], around: tuple[For, ...] = ()) -> Body:
    """Return what the threads of a block run for `body`; new names are added to `taken`.

    `around` are loops that the block runs in order.
    """
    return tuple(part for node in body for part in _node(node, taken, around))


def _node(node: Node, taken: set[str], around: tuple[For, ...]) -> Body:
    match node:
        case For(kind=LoopKind.THREAD):
            return tuple(
                part for loop in distribute_loop(node) for part in _nest(loop, taken, around)
            )
        case For(kind=LoopKind.SCAN):
            return (node,)
        case For(kind=LoopKind.PARALLEL) if not has_loop(node.body, LoopKind.THREAD):
            return _node(
                replace(node, kind=LoopKind.THREAD).annotated(reductions=()), taken, around
            )
        case For() if around and has_loop(around[-1].body, LoopKind.THREAD) and _is_alone(node):
            loop = For(fresh("alone", taken), integer(0), integer(1), 1, LoopKind.THREAD, (node,))
            return _nest(loop, taken, around)
        case For():
            inside = block_body(node.body, taken, (*around, node))
            return (replace(_ordered(node), body=inside),)
        case _:
            return (map_bodies(node, block_body, taken, around),)


def _is_alone(loop: For) -> bool:
    """Tell whether one thread runs a loop as well as all, of which the first assigns."""
    inside = list(all_nodes((loop,)))
    free = not any(isinstance(n, Declare | DeclareArray | SetLocal | Barrier) for n in inside)
    kinds = (LoopKind.THREAD, LoopKind.PARALLEL, LoopKind.MATRIX, LoopKind.SCAN)
    return free and not any(isinstance(n, For) and n.kind in kinds for n in inside)


def _ordered(loop: For) -> For:
    kept = (LoopKind.UNROLL, LoopKind.MATRIX)
    kind = loop.kind if loop.kind in kept else LoopKind.SEQUENTIAL
    return replace(loop, kind=kind).annotated(reductions=(), lanes=1)


def thread_body(body: Body) -> Body:
    """Return what one thread runs for `body`."""
    result: list[Node] = []
    for node in body:
        inner = map_bodies(node, thread_body)
        result.append(_ordered(inner) if isinstance(inner, For) else inner)
    return tuple(result)


def share_arrays(body: Body) -> Body:
    """Return the code of a block with its own arrays shared by all of its threads."""
    result: list[Node] = []
    for node in body:
        match node:
            case For(kind=LoopKind.THREAD):
                result.append(node)
            case DeclareArray(space=Space.LOCAL):
                result.append(replace(node, space=Space.SHARED))
            case _:
                result.append(map_bodies(node, share_arrays))
    return tuple(result)


# -- boxes


def _nest(outermost: For, taken: set[str], around: tuple[For, ...]) -> Body:
    """Return a nest of THREAD loops as one with a constant box, in strips where it needs them."""
    loops, between, body = _with_uniform_bounds(*_chain(outermost), around)
    for position, loop in enumerate(loops):
        outer = frozenset(around.iter for around in loops[:position])
        if _extent(loop) is None and bounds_use(loop, outer):
            rest = _rebuilt(loops[position:], between[position:], body)
            loops, between = loops[:position], between[:position]
            body = in_order((rest,), LoopKind.THREAD)
            break
    strips: list[For] = []
    declared: list[Node] = []
    counts = _counts([_extent(loop) for loop in loops])
    for position, count in enumerate(counts):
        if count is not None:
            loop, before = with_named_bounds(loops[position], taken)
            declared += before
            strip, loops[position] = stripped(loop, count, taken, LoopKind.SEQUENTIAL)
            strips.append(strip)
    result: Body = (_rebuilt(*_from_origins(loops, between, thread_body(body))),)
    for strip in reversed(strips):
        result = (replace(strip, body=result),)
    return (*declared, *result)


def _counts(extents: list[int | None]) -> list[int | None]:
    """Return the strip sizes of loops without a constant extent."""
    counts: list[int | None] = []
    left = max(1, STRIP // max(1, prod(known for known in extents if known is not None)))
    waiting = extents.count(None)
    for known in reversed(extents):
        if known is not None:
            counts.append(None)
            continue
        waiting -= 1
        count = min(left, WARP) if waiting else left
        counts.append(count)
        left //= count
    return counts[::-1]


def _chain(outermost: For) -> tuple[list[For], list[tuple[Expr, ...]], Body]:
    """Return directly nested THREAD loops, the conditions before each, and what is inside all."""
    loops, body = [outermost], outermost.body
    between: list[tuple[Expr, ...]] = [()]
    while (found := directly_inside(body, LoopKind.THREAD)) is not None:
        conditions, loop = found
        loops.append(loop)
        between.append(conditions)
        body = loop.body
    return loops, between, body


def _rebuilt(loops: list[For], between: list[tuple[Expr, ...]], body: Body) -> Node:
    for loop, conditions in zip(reversed(loops), reversed(between), strict=True):
        body = (replace(loop, body=body),)
        for condition in reversed(conditions):
            body = (If(condition, body),)
    (node,) = body
    return node


def _with_uniform_bounds(
    loops: list[For], between: list[tuple[Expr, ...]], body: Body, around: tuple[For, ...]
) -> tuple[list[For], list[tuple[Expr, ...]], Body]:
    """Return the nest with constant boxes where bounds depend only on loops `around`."""
    found = [
        None if _extent(loop) is not None else with_uniform_bounds(loop, around) for loop in loops
    ]
    held = [one[0] if one is not None else loop for one, loop in zip(found, loops, strict=True)]
    after = [one[1] if one is not None else () for one in found]
    return _under(held, between, body, after)


def _from_origins(
    loops: list[For], between: list[tuple[Expr, ...]], body: Body
) -> tuple[list[For], list[tuple[Expr, ...]], Body]:
    """Return the nest with loops that start where their box does, whatever else bounds them.

    Threads that are before the first iteration have nothing to do: neighbours stay where rows of
    memory are aligned.
    """
    moved: list[For] = []
    after: list[tuple[Expr, ...]] = []
    for loop in loops:
        found = [] if loop.step != 1 or loads(loop.lower) else spans(loop)
        origins = [(length, start) for start, length in found if start != loop.lower]
        here: tuple[Expr, ...] = ()
        if origins and not any(start == loop.lower for start, _ in found):
            _, start = min(origins, key=lambda origin: origin[0])
            rest = (end for end in operands(loop.lower, BinaryOp.MAX) if end != start)
            here = tuple(Compare(CompareOp.GE, Iter(loop.iter), end) for end in rest)
            loop = replace(loop, lower=start)
        moved.append(loop)
        after.append(here)
    return _under(moved, between, body, after)


def _under(
    loops: list[For],
    between: list[tuple[Expr, ...]],
    body: Body,
    after: list[tuple[Expr, ...]],
) -> tuple[list[For], list[tuple[Expr, ...]], Body]:
    """Return a nest with the conditions `after` each of its loops."""
    if after[-1]:
        body = (If(conjunction(after[-1]), body),)
    joined = [(*own, *before) for own, before in zip([(), *after[:-1]], between, strict=True)]
    return loops, joined, body


def _extent(loop: For) -> int | None:
    try:
        return extent(loop)
    except Unbounded:
        return None


def with_named_bounds(loop: For, taken: set[str]) -> tuple[For, tuple[Node, ...]]:
    """Return a loop whose bounds read no array, and the locals that are they."""
    before: list[Node] = []

    def named(bound: Expr, wish: str) -> Expr:
        if not loads(bound):
            return bound
        name = fresh(f"{loop.iter}_{wish}", taken)
        before.append(Declare(name, DType.INT64, 1, bound))
        return Symbol(name, DType.INT64)

    lower, upper = named(loop.lower, "from"), named(loop.upper, "to")
    return replace(loop, lower=lower, upper=upper), tuple(before)


def stripped(loop: For, count: int, taken: set[str], kind: LoopKind) -> tuple[For, For]:
    """Return a loop of `kind` over strips of `count` iterations, and the loop within one."""
    name = fresh(f"{loop.iter}_strip", taken)
    length = count * loop.step
    end = Binary(BinaryOp.MIN, loop.upper, add(Iter(name), integer(length)), DType.INT64)
    inner = replace(loop, lower=Iter(name), upper=end)
    return For(name, loop.lower, loop.upper, length, kind, (), loop.label), inner


def fresh(wish: str, taken: set[str]) -> str:
    """Return a name like `wish` that is not taken, and take it."""
    name = fresh_name(wish, taken)
    taken.add(name)
    return name


def outermost_nests(body: Body) -> Iterator[For]:
    """Yield the outermost THREAD loops of a block."""
    for node in body:
        if isinstance(node, For) and node.kind is LoopKind.THREAD:
            yield node
        else:
            for part in bodies(node):
                yield from outermost_nests(part)


# -- make the bounds of a thread loop invariant in the sequential loops around it ----------------


LARGEST = 256
"""Iterations that such a loop may have."""
CHOICES = 16
"""Bounds of the loops around that are tried."""


def with_uniform_bounds(loop: For, around: tuple[For, ...]) -> tuple[For, tuple[Expr, ...]] | None:
    """Return the loop with bounds that are invariant in `around`, and its guards."""
    used = iterators(loop.lower, loop.upper)
    own = [other for other in around if other.iter in used]
    best: tuple[int, For, tuple[Expr, ...]] | None = None
    for chosen in islice(_choices(own), CHOICES):
        found = boxed(loop, chosen)
        if found is None:
            continue
        extents = [length for _, length in spans(found[0])]
        if extents and 0 < min(extents) <= LARGEST and (best is None or min(extents) < best[0]):
            best = (min(extents), *found)
    return None if best is None else best[1:]


def _choices(around: list[For]) -> Iterator[list[For]]:
    """Yield the loops with one of their lower and one of their upper bounds each."""
    for bounds in product(*(_bounds(loop) for loop in around)):
        yield list(bounds)


def _bounds(loop: For) -> list[For]:
    return [
        replace(loop, lower=lower, upper=upper)
        for lower in operands(loop.lower, BinaryOp.MAX)
        for upper in operands(loop.upper, BinaryOp.MIN)
    ]
