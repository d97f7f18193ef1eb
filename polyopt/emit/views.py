"""Print an array's view in C: a pointer to rows, a strided pointer, or a scalar cell.

In: an `Array` and the identifiers chosen for it.  Out: text of elements and declarations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.dataclass import dataclass, replace
from polyopt.emit.c_statements import Code, Line
from polyopt.emit.dialect import OR, PRODUCT
from polyopt.ir.expr import Expr, integer, mul
from polyopt.ir.linear import normalize
from polyopt.ir.loops import DeclareView, Place
from polyopt.ir.scop import Array
from polyopt.ir.source import Layout

if TYPE_CHECKING:
    from polyopt.emit.cexpr import ExprPrinter


@dataclass(frozen=True, slots=True)
class View:
    """One array: `name` in subscripts, `pointer` the parameter or allocation behind it.

    `strides` are texts of the strides in elements, "1" last for rows; empty for contiguous arrays.
    `extents` are texts of the dimensions but the first, for declaring the pointer to rows.
    `is_plain`: the array is a C variable of its own, no memory behind a pointer.
    `is_local`: pointer and strides are locals of the text around.
    """

    array: Array
    name: str
    pointer: str
    written: bool
    strides: tuple[str, ...] = ()
    extents: tuple[str, ...] = ()
    is_plain: bool = False
    is_local: bool = False

    @property
    def qualifier(self) -> str:
        """`const ` for arrays that are only read."""
        return "" if self.written else "const "

    @property
    def is_rows(self) -> bool:
        """Whether elements are reached through a pointer to rows."""
        return bool(self.extents)

    def element(self, index: tuple[str, ...], factors: tuple[str, ...]) -> str:
        """Return the text of an element; `factors` are the subscripts fit for multiplication."""
        if not index:
            return self.name if self.is_plain else f"{self.name}[0]"
        if not self.strides:
            return self.name + "".join(f"[{i}]" for i in index)
        return f"{self.name}[{' + '.join(self._offsets(index, factors))}]"

    def address(self, index: tuple[str, ...], factors: tuple[str, ...]) -> str:
        """Return the text of a pointer to an element, which may lie before its row's first."""
        terms = self._offsets(index, factors) if self.strides else [index[-1]]
        row = self.name + "".join(f"[{i}]" for i in index[:-1] if not self.strides)
        return " + ".join([row, *(term for term in terms if term != "0")])

    def _offsets(self, index: tuple[str, ...], factors: tuple[str, ...]) -> list[str]:
        return [
            plain if stride == "1" else f"{factor} * {stride}"
            for plain, factor, stride in zip(index, factors, self.strides, strict=True)
        ]

    def parameter(self) -> str:
        """Return the declaration of the pointer, or the variable, as a parameter or local."""
        if self.is_plain:
            return f"{self.array.dtype.ctype} {self.name}"
        return f"{self.qualifier}{self.array.dtype.ctype} *restrict {self.pointer}"

    def inside(self, host: View) -> View:
        """Return the view of this array in the memory of another one."""
        if self.is_rows or self.strides:
            return replace(self, pointer=host.pointer)
        return replace(self, name=host.pointer, pointer=host.pointer)

    @property
    def memory(self) -> str:
        """Return the text of a pointer to the first element."""
        if self.is_plain:
            return f"&{self.name}"
        is_stack = self.pointer == self.name and len(self.array.shape) > 1 and not self.strides
        return f"&{self.name}{'[0]' * len(self.array.shape)}" if is_stack else self.pointer

    def rows(self) -> str:
        """Return the declaration of the pointer to rows."""
        tail = "".join(f"[{e}]" for e in self.extents)
        head = f"{self.qualifier}{self.array.dtype.ctype}"
        return f"{head} (*{self.name}){tail} = ({head} (*){tail}){self.pointer}"


def has_rows(array: Array) -> bool:
    """Tell whether `array` is contiguous with at least two dimensions."""
    return array.layout is Layout.C and len(array.shape) > 1


def view_declaration(node: DeclareView, printer: ExprPrinter) -> list[Code]:
    """Return the declarations of the pointer and the strides of a view."""
    view, chosen = printer.views[node.array.name], printer.text(node.condition, OR)
    then, other = (
        printer.address(p.first.array, p.first.index) for p in (node.then, node.otherwise)
    )
    lines: list[Code] = [
        Line(f"const {view.array.dtype.ctype} *{view.name} = {chosen} ? {then} : {other};")
    ]
    pairs = zip(
        view.strides, _steps(node.then, printer), _steps(node.otherwise, printer), strict=False
    )
    values = [f"{name} = {chosen} ? {one} : {two}" for name, one, two in pairs]
    return [*lines, Line(f"const int64_t {', '.join(values)};")] if values else lines


def _steps(place: Place, printer: ExprPrinter) -> list[str]:
    """Return C of how many elements those of a view that are neighbours are apart."""
    view = printer.views[place.first.array]
    strides = list(view.strides)
    if not strides:
        apart: list[Expr] = [integer(1)]
        for extent in reversed(view.array.shape[1:]):
            apart.insert(0, mul(apart[0], extent))
        strides = [printer.text(normalize(one), PRODUCT) for one in apart]
    return [
        " + ".join(
            text if step == 1 else str(step) if text == "1" else f"{step} * {text}"
            for step, text in zip(steps, strides, strict=True)
            if step
        )
        or "0"
        for steps in place.steps
    ]
