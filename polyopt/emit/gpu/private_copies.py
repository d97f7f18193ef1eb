"""Print a block's private copies in shared memory.

In: a kernel with privatized updates, the lines of its blocks.  Out: these lines between the
initialization with the neutral element and the atomic combination, where the copy is large enough.
"""

from __future__ import annotations

from collections.abc import Mapping

from polyopt.dataclass import dataclass, replace
from polyopt.emit.c_statements import Branch, Code, Compound, Line
from polyopt.emit.gpu.declarations import KernelDeclarations
from polyopt.emit.gpu.dialect import DeviceDialect
from polyopt.emit.gpu.expressions import KernelPrinter, Storage
from polyopt.errors import EmitError
from polyopt.ir.array import Array, Role
from polyopt.ir.expr import BinaryOp, Expr, Iter, Load, integer
from polyopt.ir.identity import identity
from polyopt.ir.loops import Gathered, Kernel, Scope, Space
from polyopt.ir.types import DType


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
