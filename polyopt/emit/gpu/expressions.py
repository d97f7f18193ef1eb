"""Expressions in kernels: places of arrays, and `int` where 32 bits are proven to do.

In: `Expr`, where arrays lie, which iterators are `int`, what others are counted from.
Out: text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from polyopt.emit.cexpr import ATOM, UNARY, ExprPrinter
from polyopt.emit.helpers import Helper, HelperKind
from polyopt.ir.array import Array
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Const,
    Expr,
    Iter,
    Load,
    Select,
    Unary,
    UnaryOp,
    add,
    integer,
    mul,
    normalize,
    substitute,
)
from polyopt.ir.loops import Space
from polyopt.ir.types import DType

INT_MOST = 2**31 - 1

_SUMS = (BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL)
_BITS = (BinaryOp.AND, BinaryOp.OR, BinaryOp.XOR)
_SHIFTS = (BinaryOp.SHL, BinaryOp.SHR)
_NARROW = {
    BinaryOp.MIN: HelperKind.MIN,
    BinaryOp.MAX: HelperKind.MAX,
    BinaryOp.FLOORDIV: HelperKind.FLOORDIV,
    BinaryOp.MOD: HelperKind.MOD,
}
_CHOICES = (BinaryOp.MIN, BinaryOp.MAX)


@dataclass(frozen=True, slots=True)
class Place:
    """Where an array lies: its name in the text; without a `space`, in the device's memory.

    There it has `strides` in elements, or, where these are empty, rows of its own extents.
    """

    array: Array
    name: str
    space: Space | None
    strides: tuple[Expr, ...] = ()

    def offset(self, index: tuple[Expr, ...]) -> Expr:
        """Return where an element of the device's memory lies, counted from the first one."""
        total: Expr = integer(0)
        if self.strides:
            for subscript, stride in zip(index, self.strides, strict=True):
                total = add(total, mul(subscript, stride))
            return total
        for subscript, extent in zip(index, self.array.shape, strict=True):
            total = add(_times(total, extent), subscript)
        return total


def _times(total: Expr, extent: Expr) -> Expr:
    return total if total == integer(0) else mul(total, extent)


@dataclass(frozen=True, slots=True)
class KernelPrinter(ExprPrinter):
    """Prints expressions of a kernel; `ints` names the iterators that are `int` in the text.

    `offsets` gives others as what they are counted from, and a sum of such iterators.
    """

    places: Mapping[str, Place] = field(default_factory=dict)
    ints: frozenset[str] = frozenset()
    offsets: Mapping[str, Expr] = field(default_factory=dict)

    def element(self, array: str, index: tuple[Expr, ...]) -> str:
        """Return the text of one array element."""
        place = self.places[array]
        match place.space:
            case None:
                return f"{place.name}[{self.text(place.offset(index))}]"
            case Space.REGISTER:
                index = index[1:]
            case Space.LOCAL | Space.SHARED:
                pass
        return place.name + "".join(f"[{self.text(i)}]" for i in index)

    def counted(self, expr: Expr) -> Expr:
        """Return an INT64 expression in terms of what iterators are counted from."""
        return normalize(substitute(expr, self.offsets))

    def with_int(self, name: str, least: int, most: int) -> KernelPrinter:
        """Return the printer where the iterator `name` is an `int` between `least` and `most`."""
        ranges = replace(
            self.ranges,
            lower={**self.ranges.lower, name: least},
            upper={**self.ranges.upper, name: most},
        )
        return replace(self, ranges=ranges, ints=self.ints | {name})

    def fits(self, expr: Expr) -> bool:
        """Tell whether every value of `expr` is known to fit an `int`."""
        least, most = self.ranges.least(expr), self.ranges.most(expr)
        return least is not None and most is not None and least >= -INT_MOST and most <= INT_MOST

    def is_int(self, expr: Expr) -> bool:
        """Tell whether the text of `expr` (INT64) has type `int`."""
        match expr:
            case Const(value=value):
                return isinstance(value, int) and -INT_MOST <= value <= INT_MOST
            case Iter():
                return expr.name in self.ints
            case Unary(op=UnaryOp.NEG | UnaryOp.INVERT):
                return self.is_int(expr.operand)
            case Binary() if not (self.is_int(expr.left) and self.is_int(expr.right)):
                return False
            case Binary() if expr.op in _SUMS:
                return self.fits(expr)
            case Binary():
                return expr.op in _BITS or expr.op in _NARROW
            case Select():
                return self.is_int(expr.then) and self.is_int(expr.otherwise)
            case _:
                return False

    def _print(self, expr: Expr) -> tuple[str, int]:
        match expr:
            case Load():  # flags of faults, too: all threads note the same
                return self.element(expr.array, expr.index), ATOM
            case Binary(dtype=DType.INT64):
                return self._index(expr)
            case _:
                return ExprPrinter._print(self, expr)  # slots: no super()

    def _index(self, expr: Binary) -> tuple[str, int]:
        if not self.is_int(expr):
            short = self.counted(expr)
            if short != expr and self.is_int(short):
                return self._print(short)
        elif expr.op in _NARROW and (expr.op in _CHOICES or self._needs_helper(expr)):
            name = self.helper(Helper(_NARROW[expr.op], DType.INT32))
            return f"{name}({self.text(expr.left)}, {self.text(expr.right)})", ATOM
        return ExprPrinter._print(self, expr)

    def _wide_left(self, expr: Binary, level: int) -> str:
        """Print the left operand, widened where the text would compute in `int` and overflow."""
        left = expr.left
        if expr.dtype is not DType.INT64 or not self.is_int(left):
            return self.text(left, level)
        if expr.op in _SHIFTS or (
            expr.op in _SUMS and self.is_int(expr.right) and not self.fits(expr)
        ):
            if isinstance(left, Const):
                return self.dialect.literal(left, wide=True)
            return f"({self.dialect.type_name(DType.INT64)}){self.text(left, UNARY)}"
        return self.text(left, level)
