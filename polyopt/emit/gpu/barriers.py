"""Barriers: exactly where threads of a block would meet at an element in any order without.

In: kernels without barriers.  Out: the same with `Barrier` nodes, each of which names what it
orders.  One that could be left out is not placed; a warp waits where only its own threads meet.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from polyopt.emit.gpu.gaps import Gap, Layout, layout_of
from polyopt.emit.gpu.meetings import Meeting, meetings_of
from polyopt.emit.nodes import nested, with_nested
from polyopt.ir.loops import (
    Barrier,
    Body,
    For,
    Kernel,
    LoopFunction,
    LoopKind,
    Node,
    Scope,
)

MOST_NOTES = 3


def place_barriers(fn: LoopFunction) -> LoopFunction:
    """Return `fn` with the barriers that its kernels need."""
    return replace(fn, body=_host(fn.body, fn, ()))


def _host(body: Body, fn: LoopFunction, around: tuple[For, ...]) -> Body:
    result: list[Node] = []
    for node in body:
        if isinstance(node, Kernel):
            result.append(_kernel(node, fn, around))
            continue
        loops = (*around, node) if isinstance(node, For) else around
        result.append(with_nested(node, tuple(_host(part, fn, loops) for part in nested(node))))
    return tuple(result)


def _kernel(kernel: Kernel, fn: LoopFunction, around: tuple[For, ...]) -> Kernel:
    if kernel.threads == 1:
        return kernel
    grid, body = block_of(kernel)
    meetings = meetings_of(kernel, body, fn, (*around, *grid))
    body = with_barriers(body, (), chosen(meetings, layout_of(body)))
    for loop in reversed(grid):
        body = (replace(loop, body=body),)
    return replace(kernel, body=body)


def block_of(kernel: Kernel) -> tuple[tuple[For, ...], Body]:
    """Return the loops over the blocks of a kernel, and what a block runs."""
    grid: list[For] = []
    body = kernel.body
    while len(body) == 1:
        (node,) = body
        if not isinstance(node, For) or node.kind is not LoopKind.BLOCK:
            break
        grid.append(node)
        body = node.body
    return tuple(grid), body


def chosen(meetings: tuple[Meeting, ...], layout: Layout) -> dict[Gap, Barrier]:
    """Return barriers between all `meetings`, none of which can be left out."""
    wide = [m for m in meetings if not m.within_warp]
    gaps = _fewest(wide, layout, ())
    close = [m for m in meetings if m.within_warp and not _is_met(m, layout, gaps)]
    warps = _fewest(close, layout, gaps)
    found: dict[Gap, Barrier] = {}
    for scope, places in ((Scope.BLOCK, gaps), (Scope.WARP, warps)):
        for gap in places:
            notes = list(_notes(gap, meetings, layout, (*gaps, *warps)))
            found[gap] = Barrier(scope, "; ".join(notes[:MOST_NOTES]))
    return found


def _fewest(wanted: list[Meeting], layout: Layout, given: tuple[Gap, ...]) -> tuple[Gap, ...]:
    """Return gaps that together with `given` lie between all of `wanted`: outer ones first."""
    waiting = [m for m in wanted if not _is_met(m, layout, given)]
    waiting.sort(key=lambda m: -min(len(gap.body) for gap in layout.between(m)))
    gaps: list[Gap] = []
    for meeting in waiting:
        if _is_met(meeting, layout, gaps):
            continue
        candidates = layout.between(meeting)
        least = min(len(gap.body) for gap in candidates)
        outer = [gap for gap in candidates if len(gap.body) == least]
        gaps.append(max(outer, key=lambda g: (_use(g, waiting, gaps, layout), g.position)))
    for gap in sorted(gaps, key=lambda g: -len(g.body)):
        rest = [*given, *(g for g in gaps if g != gap)]
        if all(_is_met(m, layout, rest) for m in wanted):
            gaps.remove(gap)
    return tuple(gaps)


def _use(gap: Gap, waiting: list[Meeting], gaps: list[Gap], layout: Layout) -> int:
    """Return how many of the meetings that are left a barrier at `gap` would order."""
    left = (m for m in waiting if not _is_met(m, layout, gaps))
    return sum(gap in layout.between(m) for m in left)


def _is_met(meeting: Meeting, layout: Layout, gaps: tuple[Gap, ...] | list[Gap]) -> bool:
    return any(gap in layout.between(meeting) for gap in gaps)


def _notes(
    gap: Gap, meetings: tuple[Meeting, ...], layout: Layout, every: tuple[Gap, ...]
) -> Iterator[str]:
    """Yield what the barrier at `gap` orders and no other does, then the rest."""
    here = [m for m in meetings if gap in layout.between(m)]
    alone = [m for m in here if sum(g in layout.between(m) for g in every) == 1]
    yield from dict.fromkeys(m.note for m in alone or here)


def with_barriers(body: Body, spot: tuple[int, ...], barriers: dict[Gap, Barrier]) -> Body:
    """Return the code of a block with `barriers` in its gaps."""
    result: list[Node] = []
    for position, node in enumerate(body):
        if (before := barriers.get(Gap(spot, position))) is not None:
            result.append(before)
        if not (isinstance(node, For) and node.kind is LoopKind.THREAD):
            inner = (
                with_barriers(part, (*spot, position, number), barriers)
                for number, part in enumerate(nested(node))
            )
            node = with_nested(node, tuple(inner))
        result.append(node)
    if (after := barriers.get(Gap(spot, len(body)))) is not None:
        result.append(after)
    return tuple(result)
