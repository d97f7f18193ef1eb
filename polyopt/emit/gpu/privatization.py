"""Privatize data-dependent atomic updates, as of a histogram, in each block's shared memory.

In: kernels.  Out: the same; where a block repeatedly updates elements of a small array by an exact
associative operation, it updates a private copy and combines that with the array once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from polyopt.dataclass import replace
from polyopt.emit.gpu.shared_spilling import MAX_SHARED, bytes_of, shared_arrays
from polyopt.emit.nodes import expressions
from polyopt.ir.array import Array
from polyopt.ir.atomic import update_of
from polyopt.ir.expr import BinaryOp, loads
from polyopt.ir.identity import is_exact
from polyopt.ir.loops import Assign, Body, For, Gathered, Kernel, LoopFunction, LoopKind, Node
from polyopt.ir.nodes import all_nodes, bodies, map_bodies

ROOM = 16 * 1024
"""Bytes that a block has for what it gathers: several blocks have room on one multiprocessor."""


def privatize_updates(fn: LoopFunction) -> LoopFunction:
    """Return `fn` with the repeated atomic updates of its kernels privatized by block."""
    arrays = {array.name: array for array in fn.arrays}
    return replace(fn, body=_host(fn.body, arrays))


def _host(body: Body, arrays: Mapping[str, Array]) -> Body:
    return tuple(
        _kernel(node, arrays) if isinstance(node, Kernel) else map_bodies(node, _host, arrays)
        for node in body
    )


def _kernel(kernel: Kernel, arrays: Mapping[str, Array]) -> Kernel:
    repeated = {node.target.array for node in _repeated(kernel.body, False)}
    free = MAX_SHARED - sum(map(bytes_of, shared_arrays((*kernel.body, *kernel.finish))))
    if kernel.threads == 1 or free < ROOM or len(repeated) != 1:
        return kernel
    array = arrays.get(repeated.pop())
    if array is None or len(array.shape) != 1 or array.name in _accessed(kernel.finish):
        return kernel
    op = _operation(kernel.body, array)
    if op is None:
        return kernel
    most = ROOM // array.dtype.size
    return replace(kernel, gathered=(Gathered(array.name, op, array.shape[0], most),))


def _repeated(body: Body, again: bool) -> Iterator[Assign]:
    """Yield atomic updates of data-dependent elements that a thread makes repeatedly."""
    for node in body:
        if isinstance(node, Assign) and node.is_atomic and again and _is_chosen(node):
            yield node
        inside = again or (isinstance(node, For) and node.kind is LoopKind.SEQUENTIAL)
        for part in bodies(node):
            yield from _repeated(part, inside)


def _is_chosen(node: Assign) -> bool:
    return any(loads(index) for index in node.target.index)


def _operation(body: Body, array: Array) -> BinaryOp | None:
    """Return the operation of all updates of an array that `body` does not access otherwise."""
    found: set[BinaryOp] = set()
    for node in all_nodes(body):
        if not (isinstance(node, Assign) and node.is_atomic and node.target.array == array.name):
            if array.name in _accessed_here(node):
                return None
            continue
        found.add(update_of(node.target, node.value)[0])
    op = found.pop() if len(found) == 1 else None
    return op if op is not None and is_exact(op, array.dtype) else None


def _accessed(body: Body) -> set[str]:
    return {name for node in all_nodes(body) for name in _accessed_here(node)}


def _accessed_here(node: Node) -> set[str]:
    read = {load.array for expr in expressions(node) for load in loads(expr)}
    return read | ({node.target.array} if isinstance(node, Assign) else set())
