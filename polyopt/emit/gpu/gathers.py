"""What a block gathers in shared memory, as text.

In: a kernel that gathers updates, the lines of its blocks.  Out: these between the neutral element
in all places and the updates of the device's memory, each by one thread, where places suffice.
"""

from __future__ import annotations

from polyopt.dataclass import dataclass, replace
from polyopt.emit.blocks import Branch, Code, Line, Nest
from polyopt.emit.gpu.atomics import atomic_text
from polyopt.emit.gpu.expressions import KernelPrinter, Place
from polyopt.emit.gpu.own import Own
from polyopt.ir.array import Array, Role
from polyopt.ir.expr import Expr, Iter, Load, integer
from polyopt.ir.identity import identity
from polyopt.ir.loops import Gathered, Kernel, Scope, Space


@dataclass(frozen=True, slots=True)
class Gather:
    """A block's own elements of an array, in `place`; they are used if `is_small`."""

    array: Array
    by: Gathered
    place: str
    is_small: str

    def update(self, own: Own, printer: KernelPrinter, target: Load, term: Expr) -> Code:
        """Return an update of the block's own element, or of the device's."""
        place = Place(self.array, self.place, Space.SHARED)
        inside = replace(printer, places={**printer.places, self.place: place})
        value = printer.text(term)

        def line(array: str) -> Code:
            element = inside.element(array, target.index)
            return Line(atomic_text(own.dialect, self.by.op, target.dtype, element, value))

        return Branch(self.is_small, [line(self.place)], [line(target.array)])

    def around(
        self, own: Own, printer: KernelPrinter, threads: int, lines: list[Code]
    ) -> list[Code]:
        """Return the lines of a block between the first and the last of its own elements."""
        neutral = identity(self.by.op, self.array.dtype)
        assert neutral is not None
        start, index = printer.text(neutral), own.fresh("place")
        wait = own.dialect.barrier(Scope.BLOCK, orders_arrays=False)
        here = f"{self.place}[{index}]"
        there = printer.element(self.array.name, (Iter(index),))
        update = Line(atomic_text(own.dialect, self.by.op, self.array.dtype, there, here))
        extent = printer.text(self.by.extent)
        head = f"for (int {index} = {own.thread}; {index} < {extent}; {index} += {threads})"
        clear = Nest(head, [Line(f"{here} = {start};")])
        add = Nest(head, [Branch(f"{here} != {start}", [update], [])])
        return [
            Line(f"const bool {self.is_small} = {extent} <= {self.by.most};"),
            Branch(self.is_small, [clear], []),
            Line(f"{wait}  /* {self.place}: set above, updated below */"),
            *lines,
            Line(f"{wait}  /* {self.place}: updated above, read below */"),
            Branch(self.is_small, [add], []),
        ]


def gathers_of(kernel: Kernel, own: Own, printer: KernelPrinter) -> dict[str, Gather]:
    """Return what a kernel gathers, by array."""
    if not own.dialect.gathers:
        return {}
    found = {}
    for by in kernel.gathered:
        array = printer.places[by.array].array
        name = own.fresh(f"{array.name}_own")
        shared = Array(name, array.dtype, (integer(by.most),), Role.TEMP)
        is_small = own.fresh(f"{array.name}_is_small")
        found[by.array] = Gather(array, by, own.share(shared, name), is_small)
    return found
