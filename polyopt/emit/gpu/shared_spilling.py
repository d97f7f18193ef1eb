"""Spill shared arrays that exceed the shared memory to the device's memory.

In: kernels with SHARED arrays.  Out: the same; spilled arrays have a part for each block in an
array that is allocated before the kernel.
"""

from __future__ import annotations

from math import prod

from polyopt.dataclass import replace
from polyopt.emit.gpu.each_block import block_of, under_grid
from polyopt.emit.nodes import map_body
from polyopt.ir.array import Array, Role
from polyopt.ir.expr import Binary, BinaryOp, Const, Expr, Iter, Load, add, integer, sub
from polyopt.ir.linear import normalize
from polyopt.ir.loops import (
    AllocateArray,
    Body,
    DeclareArray,
    For,
    Kernel,
    LoopFunction,
    Node,
    Space,
)
from polyopt.ir.nodes import all_nodes, map_bodies
from polyopt.ir.types import DType

MAX_SHARED = 48 * 1024
"""Bytes that the threads of a block share, on any device."""


def spill_shared(fn: LoopFunction) -> LoopFunction:
    """Return `fn` with the shared arrays that do not fit spilled."""
    arrays: list[Array] = []
    body = _host(fn.body, arrays)
    return replace(fn, body=body, arrays=(*fn.arrays, *arrays)) if arrays else fn


def bytes_of(array: Array) -> int:
    """Return the bytes of an array of constant shape."""
    extents = (int(part.value.real) for part in array.shape if isinstance(part, Const))
    return prod(extents) * array.dtype.size


def shared_arrays(body: Body) -> list[Array]:
    """Return the arrays that are declared in a body for all threads of a block."""
    found = (node for node in all_nodes(body) if isinstance(node, DeclareArray))
    return [node.array for node in found if node.space is Space.SHARED]


def _host(body: Body, arrays: list[Array]) -> Body:
    result: list[Node] = []
    for node in body:
        if isinstance(node, Kernel):
            result += _spilled(node, arrays)
        else:
            result.append(map_bodies(node, _host, arrays))
    return tuple(result)


def _spilled(kernel: Kernel, arrays: list[Array]) -> Body:
    """Return a kernel with its largest shared arrays spilled until the others fit."""
    before: list[Node] = []
    shared = sorted(shared_arrays(kernel.body), key=bytes_of)
    while shared and sum(map(bytes_of, shared)) > MAX_SHARED:
        array = shared.pop()
        grid, _ = block_of(kernel)
        shape = (*map(_extent, grid), *array.shape)
        memory = replace(array, shape=shape, role=Role.TEMP)
        arrays.append(memory)
        before.append(AllocateArray(memory))
        kernel = _moved(kernel, array.name, tuple(map(_place, grid)))
    return (*before, kernel)


def _extent(loop: For) -> Expr:
    """Return how many iterations a loop over blocks has at most."""
    length = normalize(sub(add(loop.upper, integer(loop.step - 1)), loop.lower))
    count = _steps(length, loop.step)
    return Binary(BinaryOp.MAX, integer(0), count, DType.INT64)


def _place(loop: For) -> Expr:
    """Return the number of an iteration."""
    return _steps(normalize(sub(Iter(loop.iter), loop.lower)), loop.step)


def _steps(length: Expr, step: int) -> Expr:
    return length if step == 1 else Binary(BinaryOp.FLOORDIV, length, integer(step), DType.INT64)


def _moved(kernel: Kernel, array: str, block: tuple[Expr, ...]) -> Kernel:
    """Return a kernel with a shared array in the device's memory."""

    def rule(part: Expr) -> Expr | None:
        if isinstance(part, Load) and part.array == array:
            return replace(part, index=(*block, *part.index))
        return None

    grid, body = block_of(kernel)
    return replace(kernel, body=under_grid(grid, _undeclared(map_body(body, rule), array)))


def _undeclared(body: Body, array: str) -> Body:
    result: list[Node] = []
    for node in body:
        if not (isinstance(node, DeclareArray) and node.array.name == array):
            result.append(map_bodies(node, _undeclared, array))
    return tuple(result)
