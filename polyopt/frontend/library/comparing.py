"""Tests and parts of elements: isclose, allclose, array_equal, angle, sinc.

In: arrays and numbers.  Out: arrays of the operands' common shape, or one truth value.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def angle(z: Any, deg: bool = False) -> Any:
    """The argument of a complex number."""
    radians = np.arctan2(np.imag(z), np.real(z))
    return radians * (180 / np.pi) if deg else radians


def fix(x: Any, out: Any = None) -> Any:
    """Round towards zero."""
    return np.trunc(x, out=out)


def sinc(x: Any) -> Any:
    """Return `sin(pi x) / (pi x)`, one at zero."""
    y = np.pi * np.where(x == 0, 1.0e-20, x)
    return np.sin(y) / y


def isclose(a: Any, b: Any, rtol: Any = 1.0e-5, atol: Any = 1.0e-8, equal_nan: bool = False) -> Any:
    """Whether the distance is within the tolerance; infinities are close to themselves."""
    near = (np.abs(a - b) <= atol + rtol * np.abs(b)) & np.isfinite(b) | (a == b)
    return near | (np.isnan(a) & np.isnan(b)) if equal_nan else near


def allclose(
    a: Any, b: Any, rtol: Any = 1.0e-5, atol: Any = 1.0e-8, equal_nan: bool = False
) -> Any:
    """Whether all elements are close."""
    return bool(np.all(isclose(a, b, rtol, atol, equal_nan)))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Whether two arrays of one shape have equal elements."""
    return (
        False
        if np.ndim(a1) != np.ndim(a2)
        else bool(np.all((a1 == a2) | (np.isnan(a1) & np.isnan(a2))))
        if equal_nan
        else bool(np.all(a1 == a2))
    )


def array_equiv(a1: Any, a2: Any) -> Any:
    """Whether two arrays that broadcast have equal elements."""
    return bool(np.all(a1 == a2))


def isreal(x: Any) -> Any:
    """Whether the imaginary part is zero."""
    return np.imag(x) == 0


def iscomplex(x: Any) -> Any:
    """Whether the imaginary part is not zero."""
    return np.imag(x) != 0


def iscomplexobj(x: Any) -> Any:
    """Whether the type has imaginary parts."""
    return np.result_type(x).kind == "c"


def isrealobj(x: Any) -> Any:
    """Whether the type has no imaginary parts."""
    return np.result_type(x).kind != "c"


def isposinf(x: Any, out: Any = None) -> Any:
    """Whether the element is infinite and positive."""
    return np.logical_and(np.isinf(x), ~np.signbit(x), out=out)


def isneginf(x: Any, out: Any = None) -> Any:
    """Whether the element is infinite and negative."""
    return np.logical_and(np.isinf(x), np.signbit(x), out=out)
