"""Arrays of a program: type, shape, where they come from.

In: nothing.  Out: immutable records without isl, for every layer.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, unique

from polyopt.ir.expr import Expr
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
class Array:
    """An array; `shape` is over `Param`, a 0-d array is a scalar variable."""

    name: str
    dtype: DType
    shape: tuple[Expr, ...]
    role: Role
    layout: Layout = Layout.C
