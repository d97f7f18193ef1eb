"""What emitted C calls of the C library and of the compiler.

In: operands with their kinds.  Out: results of the kind that C declares, None for other names.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from tests.oracle.text.kinds import DOUBLE, FLOAT, INT, LONG, ULONG, Kind, Number

Valued = tuple[Kind, Any]

CONSTANTS: dict[str, Valued] = {
    "INFINITY": (FLOAT, np.float32(np.inf)),
    "NAN": (FLOAT, np.float32(np.nan)),
    "SIZE_MAX": (ULONG, 2**64 - 1),
    "INT64_MIN": (LONG, -(2**63)),
    "INT32_MIN": (INT, -(2**31)),
    "__ATOMIC_RELAXED": (INT, 0),
}
_TESTS: dict[str, Callable[[Any], Any]] = {
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isfinite": np.isfinite,
    "signbit": np.signbit,
}


def call(name: str, args: list[Valued]) -> Valued | None:
    """Return the result of a function of the library."""
    values = [value for _, value in args]
    if name == "po_exact":
        return args[0]
    if name in ("INT64_C", "UINT64_C"):
        return (LONG if name == "INT64_C" else ULONG), values[0]
    if name in _TESTS:
        return INT, int(_TESTS[name](values[0]))
    if name == "__builtin_expect":
        return args[0]
    if name == "__builtin_popcountll":
        return INT, bin(values[0] % 2**64).count("1")
    if name in ("CMPLX", "CMPLXF"):
        number = complex(*map(float, values))
        if name == "CMPLX":
            return Number("complex", 128), np.complex128(number)
        return Number("complex", 64), np.complex64(number)
    narrow = name.endswith("f") and name[:-1] in (_REAL | _OF_COMPLEX)
    if (name[:-1] if narrow else name) in _OF_COMPLEX:
        kind, wide = (Number("complex", 64), np.complex64), (Number("complex", 128), np.complex128)
        number, make = kind if narrow else wide
        with np.errstate(all="ignore"):
            return number, make(_OF_COMPLEX[name[:-1] if narrow else name](*map(make, values)))
    function = _REAL.get(name[:-1] if narrow else name)
    if function is None:
        return None
    make = np.float32 if narrow else np.float64
    with np.errstate(all="ignore"):
        found = function(
            *(v if isinstance(v, complex | np.complexfloating) else make(v) for v in values)
        )
        return (FLOAT if narrow else DOUBLE), make(found)


def _fused(a: Any, b: Any, c: Any) -> Any:
    """Return `a * b + c`, rounded once."""
    if not all(map(np.isfinite, (a, b, c))):
        return a * b + c
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    if exact == 0:
        return a * b + c
    try:
        return float(exact)
    except OverflowError:
        return math.copysign(math.inf, exact)


def _rounded(x: Any) -> Any:
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


_SAME = (
    "sqrt", "exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh", "floor", "ceil", "trunc",
    "rint", "fabs", "fmod", "copysign", "hypot", "exp2", "log2", "log10", "log1p", "expm1", "cbrt",
    "fmin", "fmax", "ldexp", "nextafter",
)  # fmt: skip
_ARCS = ("sin", "cos", "tan", "tan2", "sinh", "cosh", "tanh")
_COMPLEX = ("sqrt", "exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh")
_REAL: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in _SAME},
    **{f"a{name}": getattr(np, f"arc{name}") for name in _ARCS},
    **{name: np.vectorize(getattr(math, name)) for name in ("erf", "erfc")},
    "tgamma": np.vectorize(math.gamma),
    "lgamma": np.vectorize(math.lgamma),
    "cabs": np.abs,
    "carg": np.angle,
    "pow": np.power,
    "round": _rounded,
    "fma": _fused,
    "creal": lambda z: z.real,
    "cimag": lambda z: z.imag,
}
_OF_COMPLEX: dict[str, Callable[..., Any]] = {
    **{f"c{name}": getattr(np, name) for name in _COMPLEX},
    **{f"ca{name}": getattr(np, f"arc{name}") for name in _ARCS if name != "tan2"},
    "cpow": np.power,
    "conj": np.conj,
}
