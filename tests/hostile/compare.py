"""Compare what two runs of a program did.

In: results, arguments after the call, what the mode allows.  Out: None, or how they differ.
Numbers that a compiled function returns are NumPy's, of the type that Python's number has there,
lists are tuples or arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

_PYTHON = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}


@dataclass(frozen=True, slots=True)
class Difference:
    """How results differ: `kind` is `type`, `shape`, `value` or `effect`."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Allowed:
    """How far floating-point values may lie apart: `relative` to the largest magnitude seen.

    `wider`: numbers may have a type that holds their own, because names had several.
    """

    relative: float = 0.0
    largest: float = 0.0
    wider: bool = False

    @property
    def is_exact(self) -> bool:
        """Whether all bits have to agree."""
        return self.relative == 0.0


def compare_calls(
    want: Any, wanted_args: tuple[Any, ...], got: Any, got_args: tuple[Any, ...], allowed: Allowed
) -> Difference | None:
    """Compare results, then the arrays among the arguments."""
    found = _compare(want, got, allowed, "result")
    for number, (one, two) in enumerate(zip(wanted_args, got_args, strict=True)):
        if found is None and isinstance(one, np.ndarray):
            difference = _compare(one, two, allowed, f"argument {number}")
            found = difference and Difference("effect", difference.text)
    return found


def is_within(want: Any, others: list[Any], got: Any) -> bool:
    """Tell whether each number of `got` is as near to that of `want` as one of `others` is.

    All are of one structure: tuples, lists and arrays of numbers.
    """
    one, two, *rest = (_numbers(value) for value in (want, got, *others))
    if not rest or any(found.shape != one.shape for found in (two, *rest)):
        return False
    with np.errstate(all="ignore"):
        spread = np.max([np.abs(found - one) for found in rest], axis=0, initial=0.0)
        near = np.abs(two - one) <= spread
    return bool(np.all(near | (one == two) | (np.isnan(one) & np.isnan(two))))


def _numbers(value: Any) -> np.ndarray:
    """Return all numbers in a row."""
    if isinstance(value, tuple | list):
        return np.concatenate([np.empty(0, np.clongdouble), *map(_numbers, value)])
    if not isinstance(value, bool | int | float | complex | np.generic | np.ndarray):
        return np.empty(0, np.clongdouble)
    return np.asarray(value).astype(np.clongdouble).ravel()


def _compare(want: Any, got: Any, allowed: Allowed, where: str) -> Difference | None:
    if want is None or got is None:
        if want is got:
            return None
        return Difference("type", f"{where}: {want!r}, got {got!r}")
    if isinstance(want, list) and isinstance(got, np.ndarray):  # a list that lives in memory
        got = list(got)
    if isinstance(want, tuple | list):
        return _compare_items(want, got, allowed, where)
    if isinstance(want, np.ndarray) and want.ndim == 0:  # kernels return a number: docs/runtime.md
        want = want[()]
    if allowed.wider and _is_wider(want, got):
        want = np.asarray(want, _type_name(got))[()]
    kind = _different_kind(want, got)
    if kind is None and _equal(want, got, _type_name(want), allowed):
        return None
    return Difference(kind or "value", f"{where}: {_shown(want)}, got {_shown(got)}")


def _compare_items(want: Any, got: Any, allowed: Allowed, where: str) -> Difference | None:
    is_same = isinstance(got, type(want)) or (isinstance(want, list) and isinstance(got, tuple))
    if not is_same or len(got) != len(want):
        return Difference("type", f"{where}: {_shown(want)}, got {_shown(got)}")
    for number, (one, two) in enumerate(zip(want, got, strict=True)):
        found = _compare(one, two, allowed, f"{where}[{number}]")
        if found is not None:
            return found
    return None


def _different_kind(want: Any, got: Any) -> str | None:
    """Return "type" or "shape" where these differ."""
    if not isinstance(want, bool | int | float | complex | np.ndarray | np.generic):
        return "type"
    arrays = [isinstance(value, np.ndarray) for value in (want, got)]
    if arrays[0] != arrays[1] or np.shape(want) != np.shape(got):
        return "shape"
    return "type" if _type_name(want) != _type_name(got) else None


def _is_wider(want: Any, got: Any) -> bool:
    """Whether the type of `got` holds all values of `want`'s, Python's integers aside."""
    if not isinstance(want, bool | int | float | complex | np.ndarray | np.generic):
        return False
    one, two = _type_name(want), _type_name(got)
    if one == two or "none" in (one, two):
        return False
    if type(want) is int:
        return np.dtype(two).kind in "iufc" and got.item() == want
    if type(want) in (float, complex):
        return bool(np.can_cast(one, two, "same_kind"))
    return bool(np.can_cast(one, two))


def _type_name(value: Any) -> str:
    return _PYTHON.get(type(value)) or getattr(getattr(value, "dtype", None), "name", "none")


def _equal(want: Any, got: Any, dtype: str, allowed: Allowed) -> bool:
    try:
        one, two = np.asarray(want, dtype=dtype), np.asarray(got, dtype=dtype)
    except OverflowError:  # an integer of Python that no type has
        return False
    if one.dtype.kind not in "fc":
        return bool(np.array_equal(one, two))
    if allowed.is_exact:
        return all(_bits_equal(part(one), part(two)) for part in (np.real, np.imag))
    return all(_near(part(one), part(two), allowed) for part in (np.real, np.imag))


def _bits_equal(one: Any, two: Any) -> bool:
    both = np.isnan(one) & np.isnan(two)
    same = (one == two) & (np.signbit(one) == np.signbit(two))
    return bool(np.all(both | same))


_SINGLE = {"float16": 1e-2, "float32": 1e-5, "complex64": 1e-5}


def _near(one: Any, two: Any, allowed: Allowed) -> bool:
    if allowed.largest > 1e300:  # sums in another order may overflow elsewhere
        return True
    relative = max(allowed.relative, _SINGLE.get(one.dtype.name, 0.0))
    scale = max(allowed.largest, 1.0)
    bound = relative * scale
    with np.errstate(all="ignore"):
        same = (one == two) | (np.isnan(one) & np.isnan(two)) | (np.abs(one - two) <= bound)
    return bool(np.all(same))


def _shown(value: Any) -> str:
    text = " ".join(repr(value).split())
    if isinstance(value, np.generic):
        text = f"{value.dtype.name} {text}"
    elif isinstance(value, np.ndarray):
        text = f"{value.dtype.name} {value.shape} {text}"
    else:
        text = f"{type(value).__name__} {text}"
    return text[:300]
