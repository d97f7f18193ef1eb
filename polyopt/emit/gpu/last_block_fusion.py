"""Fuse a kernel of one block into the last block of the kernel before it.

In: kernels, their barriers placed.  Out: one launch for two where a loop of the second asks for it.
Leaves: a kernel with more threads than the one before, or with registers for another number.
"""

from __future__ import annotations

from polyopt.dataclass import replace
from polyopt.emit.gpu.each_block import block_of
from polyopt.emit.gpu.nests import thread_nest
from polyopt.emit.gpu.threads import fresh, outermost_nests
from polyopt.ir.expr import integer
from polyopt.ir.loops import Body, DeclareArray, For, Kernel, LoopFunction, LoopKind, Node, Space
from polyopt.ir.nodes import all_nodes, map_bodies


def fuse_into_last_block(fn: LoopFunction) -> LoopFunction:
    """Return `fn` with kernels fused into the last block of their predecessors where requested."""
    return replace(fn, body=_host(fn.body))


def _host(body: Body) -> Body:
    result: list[Node] = []
    for node in body:
        match node:
            case Kernel():
                before = result[-1] if result else None
                if isinstance(before, Kernel) and _is_requested(node) and _fits(before, node):
                    result[-1] = replace(before, finish=_by_threads(before, node))
                    continue
                result.append(node)
            case _:
                result.append(map_bodies(node, _host))
    return tuple(result)


def _is_requested(kernel: Kernel) -> bool:
    return any(isinstance(node, For) and node.finishes for node in all_nodes(kernel.body))


def _fits(before: Kernel, last: Kernel) -> bool:
    """Tell whether the blocks of `before` have the threads that `last` needs."""
    if before.threads == 1 or not block_of(before)[0] or block_of(last)[0] or before.finish:
        return False
    inside = list(all_nodes(last.body))
    if any(isinstance(node, For) and node.kind is LoopKind.MATRIX for node in inside):
        return False
    if before.threads == last.threads:
        return True
    if last.threads == 1:
        return True
    own = any(isinstance(n, DeclareArray) and n.space is Space.REGISTER for n in inside)
    sizes = [thread_nest(loop).size for loop in outermost_nests(last.body)]
    return not own and last.threads < before.threads and max(sizes, default=0) <= last.threads


def _by_threads(before: Kernel, last: Kernel) -> Body:
    """Return the code of `last` for a block with the threads of `before`."""
    if last.threads > 1:
        return last.body
    taken = {node.iter for node in all_nodes((before, last)) if isinstance(node, For)}
    alone = fresh("last", taken)
    return (For(alone, integer(0), integer(1), 1, LoopKind.THREAD, last.body),)
