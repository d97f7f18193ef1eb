"""Element types of arrays and scalars, with their C and NumPy names.

In: nothing.  Out: `DType`, a closed enum.
"""

from __future__ import annotations

import importlib
from enum import Enum, unique
from functools import cache

import numpy as np

from polyopt.dataclass import dataclass
from polyopt.errors import UsageError


@unique
class Kind(Enum):
    """What family of numbers a dtype belongs to."""

    BOOL = "b"
    SIGNED = "i"
    UNSIGNED = "u"
    FLOAT = "f"
    COMPLEX = "c"


@unique
class DType(Enum):
    """An element type; the value is NumPy's name of it."""

    BOOL = "bool"
    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    UINT8 = "uint8"
    UINT16 = "uint16"
    UINT32 = "uint32"
    UINT64 = "uint64"
    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    COMPLEX64 = "complex64"
    COMPLEX128 = "complex128"

    __hash__ = object.__hash__  # members are alone: by identity, without Python code

    @property
    def numpy(self) -> np.dtype[np.generic]:
        """NumPy's dtype object; that of BFLOAT16 is of the package `ml_dtypes`."""
        return _bfloat16() if self is DType.BFLOAT16 else np.dtype(self.value)

    @property
    def spelled(self) -> str:
        """How a program names the type: `np.float32`."""
        return f"{'ml_dtypes' if self is DType.BFLOAT16 else 'np'}.{self.value}"

    @property
    def size(self) -> int:
        """Bytes of one element."""
        return _size(self)

    @property
    def kind(self) -> Kind:
        """The family of numbers."""
        return _kind(self)

    @property
    def short_name(self) -> str:
        """Short name, as in annotations: `f64`."""
        return _FACTS[self].short_name

    @property
    def ctype(self) -> str:
        """Name of an element's type in C11 (`stdint.h`, `stdbool.h`, `complex.h`)."""
        return _FACTS[self].ctype

    @property
    def value_ctype(self) -> str:
        """Name of a variable's type in C11: halves are stored as bits and computed as `float`.

        Truth values are stored as bytes: gcc makes no vectors of `bool` elements.
        """
        if self is DType.BOOL:
            return "bool"
        return "float" if self.is_half else self.ctype

    @property
    def digits(self) -> int:
        """Binary digits of a number's significand, or of its parts'; 0 for integers."""
        return _FACTS[self].digits

    @property
    def smallest(self) -> float:
        """Distance of the numbers next to zero, or of parts; 0 for integers."""
        return _FACTS[self].smallest

    @property
    def is_integer(self) -> bool:
        """Signed or unsigned integer (bool is not)."""
        return self.kind in (Kind.SIGNED, Kind.UNSIGNED)

    @property
    def is_float(self) -> bool:
        """float16, bfloat16, float32 or float64."""
        return self.kind is Kind.FLOAT

    @property
    def is_half(self) -> bool:
        """float16 or bfloat16: each operation is one of float32, rounded to 16 bits.

        That is the rounding of the exact result for `+ - * /` and the square root, since float32
        has more than twice their digits (Figueroa, "When is double rounding innocuous?", 1995).
        """
        return self in (DType.FLOAT16, DType.BFLOAT16)

    @property
    def is_complex(self) -> bool:
        """complex64 or complex128."""
        return self.kind is Kind.COMPLEX

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class _Facts:
    """Names of a type, and of a float or complex number's parts: digits, least positive power."""

    short_name: str
    ctype: str
    digits: int = 0
    smallest: float = 0.0


_FACTS = {
    DType.BOOL: _Facts("bool", "uint8_t"),
    DType.INT8: _Facts("i8", "int8_t"),
    DType.INT16: _Facts("i16", "int16_t"),
    DType.INT32: _Facts("i32", "int32_t"),
    DType.INT64: _Facts("i64", "int64_t"),
    DType.UINT8: _Facts("u8", "uint8_t"),
    DType.UINT16: _Facts("u16", "uint16_t"),
    DType.UINT32: _Facts("u32", "uint32_t"),
    DType.UINT64: _Facts("u64", "uint64_t"),
    DType.FLOAT16: _Facts("f16", "uint16_t", 11, 2.0**-24),
    DType.BFLOAT16: _Facts("bf16", "uint16_t", 8, 2.0**-133),
    DType.FLOAT32: _Facts("f32", "float", 24, 2.0**-149),
    DType.FLOAT64: _Facts("f64", "double", 53, 2.0**-1074),
    DType.COMPLEX64: _Facts("c64", "float complex", 24, 2.0**-149),
    DType.COMPLEX128: _Facts("c128", "double complex", 53, 2.0**-1074),
}


@cache
def _size(dtype: DType) -> int:
    return 2 if dtype is DType.BFLOAT16 else int(dtype.numpy.itemsize)


@cache
def _kind(dtype: DType) -> Kind:
    return Kind.FLOAT if dtype is DType.BFLOAT16 else Kind(dtype.numpy.kind)


@cache
def _bfloat16() -> np.dtype[np.generic]:
    try:
        found: np.dtype[np.generic] = np.dtype(importlib.import_module("ml_dtypes").bfloat16)
    except ImportError as error:
        raise UsageError(
            "PO0226",
            "bfloat16 is a type of the package ml_dtypes, which is not installed",
            hint='install it: pip install "polyopt[halffloat]"',
        ) from error
    return found


def dtype_of(value: object) -> DType:
    """Return the `DType` of a NumPy dtype, scalar type or dtype name.

    Raises `KeyError`-free `ValueError` for types polyopt does not know (object, structured).
    """
    return DType(np.dtype(value).name)  # type: ignore[call-overload]
