"""Define the spellings in which languages differ: types, literals, names of functions.

In: dtypes, constants, calls.  Out: the protocol `Dialect`, and C11.
"""

from __future__ import annotations

from typing import Protocol

from polyopt.dataclass import dataclass
from polyopt.emit.cmath import call_text
from polyopt.emit.literals import literal
from polyopt.ir.expr import Call, Const
from polyopt.ir.types import DType

_COMPLEX = {DType.COMPLEX64: "f", DType.COMPLEX128: ""}


class Dialect(Protocol):
    """The words of one language."""

    @property
    def own_functions(self) -> bool:
        """Whether functions like `exp` are printed as arithmetic, so that their loops vectorize."""

    def type_name(self, dtype: DType) -> str:
        """Return the type of a value."""

    def literal(self, const: Const, *, wide: bool = False) -> str:
        """Return a constant's text; `wide` forces 64-bit integers to have their own type."""

    def function(self, name: str, dtype: DType) -> str:
        """Return the name for `dtype` of a function of `math.h` or `complex.h`."""

    def call(self, call: Call, operand: DType, args: tuple[str, ...]) -> str:
        """Return the text of `call`, whose arguments have dtype `operand`."""


@dataclass(frozen=True, slots=True)
class C11Dialect:
    """C11 with `stdint.h`, `math.h` and `complex.h`."""

    own_functions: bool = True

    def type_name(self, dtype: DType) -> str:
        """Return the type of a value."""
        return dtype.value_ctype

    def literal(self, const: Const, *, wide: bool = False) -> str:
        """Return a constant's text."""
        return literal(const, wide=wide)

    def function(self, name: str, dtype: DType) -> str:
        """Return the name for `dtype` of a function."""
        if dtype.is_complex:
            return f"c{name}{_COMPLEX[dtype]}"
        return f"{name}f" if dtype is DType.FLOAT32 else name

    def call(self, call: Call, operand: DType, args: tuple[str, ...]) -> str:
        """Return the text of a call."""
        return call_text(call, operand, args)


C11 = C11Dialect()
