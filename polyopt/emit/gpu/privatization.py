"""Privatize data-dependent atomic updates, as of a histogram, in each block's shared memory.

In: kernels.  Out: the same; where a block repeatedly updates elements of a small array by an exact
associative operation, it updates a private copy and combines that with the array once.
Prints the copies; spills shared arrays that exceed the shared memory to the device's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

from polyopt.dataclass import dataclass, replace
from polyopt.emit.c_statements import Branch, Code, Compound, Line
from polyopt.emit.gpu.declarations import KernelDeclarations
from polyopt.emit.gpu.dialect import DeviceDialect
from polyopt.emit.gpu.each_block import block_of, under_grid
from polyopt.emit.gpu.expressions import KernelPrinter, Storage
from polyopt.emit.regions import expressions
from polyopt.errors import EmitError
from polyopt.ir.array import Array, Role
from polyopt.ir.expr import Binary, BinaryOp, Const, Expr, Iter, Load, add, integer, loads, sub
from polyopt.ir.identity import identity, is_exact, update_of
from polyopt.ir.linear import normalize
from polyopt.ir.loops import (
    AllocateArray,
    Assign,
    Body,
    DeclareArray,
    For,
    Gathered,
    Kernel,
    LoopFunction,
    LoopKind,
    Node,
    Scope,
    Space,
)
from polyopt.ir.nodes import all_nodes, bodies, changed_body, map_bodies
from polyopt.ir.types import DType

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


MAX_SHARED = 48 * 1024
"""Bytes that the threads of a block share, on any device."""


def spill_shared(fn: LoopFunction) -> LoopFunction:
    """Return `fn` with the shared arrays that do not fit spilled."""
    arrays: list[Array] = []
    body = _moved_host(fn.body, arrays)
    return replace(fn, body=body, arrays=(*fn.arrays, *arrays)) if arrays else fn


def bytes_of(array: Array) -> int:
    """Return the bytes of an array of constant shape."""
    extents = (int(part.value.real) for part in array.shape if isinstance(part, Const))
    return prod(extents) * array.dtype.size


def shared_arrays(body: Body) -> list[Array]:
    """Return the arrays that are declared in a body for all threads of a block."""
    found = (node for node in all_nodes(body) if isinstance(node, DeclareArray))
    return [node.array for node in found if node.space is Space.SHARED]


def _moved_host(body: Body, arrays: list[Array]) -> Body:
    result: list[Node] = []
    for node in body:
        if isinstance(node, Kernel):
            result += _spilled(node, arrays)
        else:
            result.append(map_bodies(node, _moved_host, arrays))
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
    return replace(kernel, body=under_grid(grid, _undeclared(changed_body(body, rule), array)))


def _undeclared(body: Body, array: str) -> Body:
    result: list[Node] = []
    for node in body:
        if not (isinstance(node, DeclareArray) and node.array.name == array):
            result.append(map_bodies(node, _undeclared, array))
    return tuple(result)


@dataclass(frozen=True, slots=True)
class PrivateCopy:
    """A block's private copy of an array, in `place`; it is used if `is_small`."""

    array: Array
    by: Gathered
    place: str
    is_small: str

    def update(
        self, declarations: KernelDeclarations, printer: KernelPrinter, target: Load, term: Expr
    ) -> Code:
        """Return an update of the private copy, or of the device's memory."""
        place = Storage(self.array, self.place, Space.SHARED)
        inside = replace(printer, places={**printer.places, self.place: place})
        value = printer.text(term)

        def line(array: str) -> Code:
            element = inside.element(array, target.index)
            return Line(atomic_text(declarations.dialect, self.by.op, target.dtype, element, value))

        return Branch(self.is_small, [line(self.place)], [line(target.array)])

    def around(
        self,
        declarations: KernelDeclarations,
        printer: KernelPrinter,
        threads: int,
        lines: list[Code],
    ) -> list[Code]:
        """Return the lines of a block between initialization and combination."""
        neutral = identity(self.by.op, self.array.dtype)
        assert neutral is not None
        start, index = printer.text(neutral), declarations.fresh("place")
        wait = declarations.dialect.barrier(Scope.BLOCK, orders_arrays=False)
        here = f"{self.place}[{index}]"
        there = printer.element(self.array.name, (Iter(index),))
        update = Line(atomic_text(declarations.dialect, self.by.op, self.array.dtype, there, here))
        extent = printer.text(self.by.extent)
        head = (
            f"for (int {index} = {declarations.thread}; {index} < {extent}; {index} += {threads})"
        )
        clear = Compound(head, [Line(f"{here} = {start};")])
        add = Compound(head, [Branch(f"{here} != {start}", [update], [])])
        return [
            Line(f"const bool {self.is_small} = {extent} <= {self.by.most};"),
            Branch(self.is_small, [clear], []),
            Line(f"{wait}  /* {self.place}: set above, updated below */"),
            *lines,
            Line(f"{wait}  /* {self.place}: updated above, read below */"),
            Branch(self.is_small, [add], []),
        ]


def private_copies_of(
    kernel: Kernel, declarations: KernelDeclarations, printer: KernelPrinter
) -> dict[str, PrivateCopy]:
    """Return the private copies of a kernel, by array."""
    if not declarations.dialect.privatizes:
        return {}
    found = {}
    for by in kernel.gathered:
        array = printer.places[by.array].array
        name = declarations.fresh(f"{array.name}_own")
        shared = Array(name, array.dtype, (integer(by.most),), Role.TEMP)
        is_small = declarations.fresh(f"{array.name}_is_small")
        found[by.array] = PrivateCopy(array, by, declarations.share(shared, name), is_small)
    return found


_CUDA = {
    BinaryOp.ADD: "atomicAdd",
    BinaryOp.MIN: "atomicMin",
    BinaryOp.MAX: "atomicMax",
    BinaryOp.AND: "atomicAnd",
    BinaryOp.OR: "atomicOr",
    BinaryOp.XOR: "atomicXor",
}
_BITS = (BinaryOp.ADD, BinaryOp.AND, BinaryOp.OR, BinaryOp.XOR)


def cuda_atomic(op: BinaryOp, dtype: DType, place: str, value: str) -> str:
    """Return an update in CUDA, which has the bits of 64 only without a sign."""
    if dtype is DType.INT64 and op in _BITS:
        kind = "unsigned long long"
        return f"{_CUDA[op]}(({kind} *)&{place}, ({kind})({value}));"
    return f"{_CUDA[op]}(&{place}, {value});"


def atomic_text(dialect: DeviceDialect, op: BinaryOp, dtype: DType, place: str, value: str) -> str:
    """Return an update in the language of `dialect`; raises `EmitError` PO0411."""
    if dialect.language == "cuda":
        return cuda_atomic(op, dtype, place, value)
    word = _WORDS.get(dtype, {}).get(op)
    if word is None:
        raise EmitError(
            "PO0411",
            f"{dialect.language} has no atomic `{op.value}` of {dtype}",
            hint="leave `atomic` out, or use target='cuda'",
        )
    return f"{word}(&{place}, {value});"


_SHORT = {op: f"atomic_{op.name.lower()}" for op in _CUDA}
_LONG = {op: f"atom_{op.name.lower()}" for op in _CUDA}
_WORDS: Mapping[DType, Mapping[BinaryOp, str]] = {
    DType.INT32: _SHORT,
    DType.UINT32: _SHORT,
    DType.INT64: _LONG,
    DType.UINT64: _LONG,
}
