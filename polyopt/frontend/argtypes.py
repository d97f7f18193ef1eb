"""Types of a kernel's arguments, as far as code depends on them; sizes stay symbolic.

In: nothing.  Out: `ArrayType`, `PartType`, `ScalarType`, `ConstType`, hashable; `NeedConstant`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from polyopt.ir.source import Layout, Part
from polyopt.ir.types import DType


@dataclass(frozen=True, slots=True)
class ArrayType:
    """A NumPy array; `ones[d]` tells that dimension `d` is known to be 1 (it broadcasts).

    `before` is not empty when other arguments share memory with the array without lying inside:
    the memory begins so many elements before it, in each dimension.
    """

    dtype: DType
    rank: int
    layout: Layout
    ones: tuple[bool, ...]
    before: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class PartType:
    """An array that shares memory with the array that argument number `part.owner` is.

    `whole[d]` tells that dimension `d` is as long as the owner's; `written`: the kernel writes it.
    """

    part: Part
    ones: tuple[bool, ...]
    whole: tuple[bool, ...]
    written: bool


@dataclass(frozen=True, slots=True)
class ScalarType:
    """A number passed by value; `weak` for Python's int, float and complex (NEP 50)."""

    dtype: DType
    weak: bool = True


@dataclass(frozen=True, slots=True)
class ConstType:
    """An argument whose value is compiled in."""

    value: object


ArgType: TypeAlias = ArrayType | PartType | ScalarType | ConstType


class NeedConstant(Exception):
    """An integer argument decides the shape of the code (axis, step, exponent): give its value."""

    def __init__(self, argument: str) -> None:
        super().__init__(f"the value of `{argument}` must be known")
        self.argument = argument
