"""Print loops with nontemporal stores that the compiler vectorizes.

In: a VECTOR loop with `streams`, a printer for its body.  Out: a loop over strips that fills rows
of whole cache lines in L1 and copies these to memory with nontemporal stores; around it the loop
as it was, for the ends of the lines and where sizes are small.
Compilers do not emit nontemporal stores in the loops that they vectorize themselves.
"""

from __future__ import annotations

from collections.abc import Callable

from polyopt.dataclass import dataclass, replace
from polyopt.emit.c_statements import Block, Branch, Code, Compound, Line, Pragma
from polyopt.emit.cexpr import ExprPrinter
from polyopt.emit.helpers import LINE, Helper, HelperKind
from polyopt.emit.lanes import is_unit_stride
from polyopt.emit.views import View
from polyopt.ir.expr import Iter, Load, sub, substitute
from polyopt.ir.linear import normalize
from polyopt.ir.loops import Assign, Body, For
from polyopt.ir.nodes import all_nodes

Lines = list[Code]
ROW = 4
"""Lines of a row: with more of them reading and writing take turns, and both are slower."""


@dataclass(frozen=True, slots=True)
class NontemporalPrinter:
    """Prints one loop; `stores` are nontemporal where their conditions hold.

    `body` prints statements, given further views; `own` finds names.
    """

    loop: For
    stores: tuple[Assign, ...]
    printer: ExprPrinter
    body: Callable[[Body, dict[str, View]], Lines]
    own: Callable[[str], str]
    pragma: str

    def lines(self, name: str) -> Lines:
        """Return the loop, called `name` in C."""
        low, high, begin, end, part = (
            self.own(f"{name}_{word}") for word in ("lo", "hi", "from", "to", "part")
        )
        lower, upper = self.printer.text(self.loop.lower), self.printer.text(self.loop.upper)
        strip = f"for ({end} = {begin}; {end} + {self.strip} <= {high}; {end} += {self.strip})"
        first = [
            Line(f"{begin} = {self.least}({high}, {low} + {self.to_line(low)});"),
            Compound(strip, self.row(name, end)),
        ]
        ends = f"{name} = {part} ? {end} : {low}; {name} < ({part} ? {high} : {begin})"
        rest = [
            Pragma(self.pragma),
            Compound(f"for (int64_t {ends}; {name}++)", self.body(self.loop.body, {})),
        ]
        bounds = f"{low} = {lower}, {high} = {upper}, {begin} = {low}, {end} = {low}"
        return [
            Block(
                [
                    Line(f"int64_t {bounds};"),
                    Branch(self.condition(low), first, []),
                    Compound(f"for (int {part} = 0; {part} < 2; {part}++)", rest),
                ]
            )
        ]

    def row(self, name: str, begin: str) -> Lines:
        """Return what fills a row of each array, and copies them."""
        views: dict[str, View] = {}
        lines: Lines = []
        copies: Lines = []
        body = list(self.loop.body)
        for store in self.stores:
            array, dtype = store.target.array, store.target.dtype
            row = self.own(f"{array.removeprefix('po_')}_row")
            lines.append(
                Line(f"{dtype.ctype} {row}[{self.strip}] __attribute__((aligned({LINE})));")
            )
            seen = self.printer.views[array]
            views[row] = replace(seen, name=row, pointer=row, strides=(), extents=())
            place = Load(row, (sub(Iter(self.loop.iter), Iter(begin)),), dtype)
            body[body.index(store)] = replace(store, target=place)
            copy = self.printer.helper(Helper(HelperKind.STREAM_ROW, dtype))
            target = self.address(store, begin)
            copies.append(Line(f"{copy}({target}, {row}, {self.strip});"))
        head = f"for (int64_t {name} = {begin}; {name} < {begin} + {self.strip}; {name}++)"
        filled = [Pragma(self.pragma), Compound(head, self.body(tuple(body), views))]
        return [*lines, *filled, *copies]

    def condition(self, low: str) -> str:
        """Return the condition of nontemporal rows: all are aligned alike."""
        told = dict(self.loop.streams)
        wanted = dict.fromkeys(self.printer.text(told[s.target.array]) for s in self.stores)
        ahead = [self.to_line(low, store) for store in self.stores]
        return " && ".join([*wanted, *(f"{ahead[0]} == {one}" for one in ahead[1:])])

    def to_line(self, low: str, store: Assign | None = None) -> str:
        """Return how many elements are before the first whole line."""
        store = store or self.stores[0]
        ahead = self.printer.helper(Helper(HelperKind.AHEAD, store.target.dtype))
        return f"{ahead}({self.address(store, low)})"

    def address(self, store: Assign, at: str) -> str:
        """Return the address of an element of the loop's row."""
        values = {self.loop.iter: Iter(at)}
        index = tuple(normalize(substitute(i, values)) for i in store.target.index)
        return self.printer.address(store.target.array, index)

    @property
    def strip(self) -> int:
        """Elements of a row."""
        return ROW * LINE // min(store.target.dtype.size for store in self.stores)

    @property
    def least(self) -> str:
        return self.printer.helper(Helper(HelperKind.MIN))


def nontemporal_stores(loop: For, rows: frozenset[str]) -> tuple[Assign, ...]:
    """Return the statements of a loop with nontemporal stores: those of every iteration."""
    if loop.step != 1:
        return ()
    marked = {name for name, _ in loop.streams}
    every = [node for node in all_nodes(loop.body) if isinstance(node, Assign)]
    return tuple(
        node
        for node in loop.body
        if isinstance(node, Assign)
        and node.target.array in marked
        and isinstance(node.target, Load)
        and is_unit_stride(node.target, loop.iter, rows)
        and sum(other.target.array == node.target.array for other in every) == 1
    )
