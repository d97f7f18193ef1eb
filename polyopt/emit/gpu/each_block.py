"""Apply a pass to the code of each block.

In: loops with kernels, a change of one block's code.  Out: the same loops, the code changed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from polyopt.dataclass import replace
from polyopt.ir.loops import Body, For, Kernel, LoopFunction, LoopKind, Node
from polyopt.ir.nodes import map_bodies

Change: TypeAlias = Callable[[Kernel, Body, LoopFunction, tuple[For, ...]], Body]
"""Of a kernel, a block's code, the function, the loops of host and grid around it."""


def in_each_block(fn: LoopFunction, change: Change) -> LoopFunction:
    """Return `fn` with `change` made to the code of every kernel's blocks."""
    return replace(fn, body=_host(fn.body, fn, (), change))


def _host(body: Body, fn: LoopFunction, around: tuple[For, ...], change: Change) -> Body:
    result: list[Node] = []
    for node in body:
        if isinstance(node, Kernel):
            grid, code = block_of(node)
            code = change(node, code, fn, (*around, *grid))
            result.append(replace(node, body=under_grid(grid, code)))
            continue
        loops = (*around, node) if isinstance(node, For) else around
        result.append(map_bodies(node, _host, fn, loops, change))
    return tuple(result)


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


def under_grid(grid: Sequence[For], body: Body) -> Body:
    """Return `body` inside the loops of `grid`, outermost first."""
    for loop in reversed(grid):
        body = (replace(loop, body=body),)
    return body
