"""Arrays of a program: type, shape, where they come from.

In: nothing.  Out: immutable records without isl, for every layer.
"""

from __future__ import annotations

from enum import Enum, unique

from polyopt.dataclass import dataclass
from polyopt.ir.expr import Binary, BinaryOp, Const, Expr, integer, mul
from polyopt.ir.source import Layout
from polyopt.ir.types import DType


@unique
class Role(Enum):
    """Where an array comes from and who sees it afterwards."""

    INPUT = "input"  # an argument that is only read
    INOUT = "inout"  # an argument that is written
    OUTPUT = "output"  # created by the call, returned
    TEMP = "temp"  # created and dropped inside the call
    FAULT = "fault"  # element k is set to 1 when fault k happens: written in any order, never read


@dataclass(frozen=True, slots=True)
class Turn:
    """Where elements of a row lie in shared memory: element (…, r, …, c) at column `c ^ f(r)`.

    f(r) is `group * (r / rows % count)`: groups of neighbours change places, from row to row in
    another way.  r is the subscript `back` dimensions before the last; all are powers of two.
    """

    group: int
    back: int
    rows: int
    count: int

    @property
    def block(self) -> int:
        """Elements that change places among each other."""
        return self.group * self.count

    def place(self, row: int, column: int) -> int:
        """Return the column that the element with these subscripts lies in."""
        return column ^ self.group * (row // self.rows % self.count)

    def amount(self, index: tuple[Expr, ...]) -> Expr:
        """Return f(r) for an element."""
        row = index[-1 - self.back]
        for op, by in ((BinaryOp.FLOORDIV, self.rows), (BinaryOp.MOD, self.count)):
            row = row if by == 1 else Binary(op, row, integer(by), row.dtype)
        return mul(row, integer(self.group))

    def column(self, index: tuple[Expr, ...]) -> Expr:
        """Return the column that an element lies in."""
        return Binary(BinaryOp.XOR, index[-1], self.amount(index), index[-1].dtype)

    def fits(self, shape: tuple[Expr, ...]) -> bool:
        """Tell whether each row of an array has all of its own elements, each once."""
        powers = all(n > 0 and n & (n - 1) == 0 for n in (self.group, self.rows, self.count))
        if not powers or self.count < 2 or not 0 < self.back < len(shape):
            return False
        row = shape[-1]
        return isinstance(row, Const) and int(row.value.real) % self.block == 0


@dataclass(frozen=True, slots=True)
class Array:
    """An array; `shape` is over `Param`, a 0-d array is a scalar variable.

    `turn` says how rows lie where the threads of a block share it; elsewhere it has no meaning.
    """

    name: str
    dtype: DType
    shape: tuple[Expr, ...]
    role: Role
    layout: Layout = Layout.C
    turn: Turn | None = None
