"""Types of a kernel's arguments, as far as code depends on them; sizes stay symbolic.

In: nothing.  Out: `ArrayType`, `PartType`, `ScalarType`, `ConstType`, hashable; `SizeCondition`,
`NeedConstant`.
"""

from __future__ import annotations

from typing import TypeAlias

from polyopt.dataclass import dataclass
from polyopt.ir.expr import Expr
from polyopt.ir.source import Layout, Part
from polyopt.ir.types import DType


@dataclass(frozen=True, slots=True)
class ArrayType:
    """A NumPy array; `ones[d]` tells that dimension `d` is known to be 1 (it broadcasts).

    `before` is not empty when other arguments share memory with the array without lying inside:
    the memory begins so many elements before it, in each dimension.  `extents` is not empty when
    some are compiled in; None stands for the others.
    """

    dtype: DType
    rank: int
    layout: Layout
    ones: tuple[bool, ...]
    before: tuple[int, ...] = ()
    extents: tuple[int | None, ...] = ()

    def extent(self, dim: int) -> int | None:
        """Return how long a dimension is known to be."""
        known = self.extents[dim] if self.extents else None
        return 1 if known is None and self.ones[dim] else known

    @property
    def shown(self) -> str:
        """The dimensions as text: `8,:`."""
        known = (self.extent(dim) for dim in range(self.rank))
        return ",".join(":" if extent is None else str(extent) for extent in known)


@dataclass(frozen=True, slots=True)
class PartType:
    """An array that shares memory with the array that argument number `part.owner` is.

    `whole[d]` tells that dimension `d` is as long as the owner's; `written`: the kernel writes it.
    """

    part: Part
    ones: tuple[bool, ...]
    whole: tuple[bool, ...]
    written: bool


_PYTHON = (DType.BOOL, DType.INT64, DType.FLOAT64, DType.COMPLEX128)


@dataclass(frozen=True, slots=True)
class ScalarType:
    """A number passed by value; `weak` for Python's bool, int, float and complex (NEP 50).

    No number of another type is weak.
    """

    dtype: DType
    weak: bool = True

    def __post_init__(self) -> None:
        if self.weak and self.dtype not in _PYTHON:
            object.__setattr__(self, "weak", False)


@dataclass(frozen=True, slots=True, eq=False)
class ConstType:
    """An argument whose value is compiled in; `dtype` is that of a NumPy scalar.

    Equal are equal values of one type: 1, 1.0, True and a NumPy scalar differ.
    """

    value: object
    dtype: DType | None = None

    @property
    def known(self) -> object:
        """The value that the function gets."""
        return self.value if self.dtype is None else self.dtype.numpy.type(self.value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConstType):
            return NotImplemented
        same = type(self.value) is type(other.value) and self.dtype is other.dtype
        return same and repr(self.value) == repr(other.value)

    def __hash__(self) -> int:
        return hash((type(self.value), repr(self.value), self.dtype))


@dataclass(frozen=True, slots=True)
class SizeCondition:
    """What holds, or not, in the calls that code is for; stands after the types of all arguments.

    `condition` is BOOL over integer arguments and dimensions of arrays, by their working names.
    """

    condition: Expr
    holds: bool


ArgType: TypeAlias = ArrayType | PartType | ScalarType | ConstType | SizeCondition


class NeedConstant(Exception):
    """An integer argument decides the shape of the code (axis, step, exponent): give its value."""

    def __init__(self, argument: str) -> None:
        super().__init__(f"the value of `{argument}` must be known")
        self.argument = argument
