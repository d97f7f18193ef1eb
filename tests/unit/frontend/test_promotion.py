"""Operators and ufuncs on every pair of element types: values, types and shapes as NumPy's."""

from __future__ import annotations

import itertools
import linecache
from typing import Any

import numpy as np
import pytest

from polyopt.ir.types import DType
from tests.unit.frontend.harness import agree

KINDS = [dtype.value for dtype in DType if dtype is not DType.BFLOAT16]
OPERATIONS = [
    "a + b", "a - b", "a * b", "a / b", "a // b", "a % b", "a ** abs(b)", "a & b", "a | b",
    "a ^ b", "a << b", "a >> b", "a < b", "a <= b", "a == b", "a != b", "np.maximum(a, b)",
    "np.fmin(a, b)", "np.arctan2(a, b)", "np.copysign(a, b)", "np.where(c, a, b)",
    "np.logical_and(a, b)", "np.hypot(a, b)", "np.power(a, 3)", "-a", "+a", "abs(a)", "~a",
    "np.sqrt(abs(a))", "np.sign(a)", "np.floor(a)", "np.sum(a)", "np.mean(a)", "np.cumsum(a)",
    "np.prod(b)", "np.square(a)", "a @ b", "np.outer(a, b)", "np.clip(a, b, None)",
]  # fmt: skip
SCALARS = [True, 3, 2.5, 1 - 2j, np.int8(3), np.uint8(200), np.float32(0.5), np.complex64(1j)]


def values(kind: str) -> Any:
    """Return eight values of the type, the extreme ones among them."""
    dtype = np.dtype(kind)
    match dtype.kind:
        case "b":
            return np.array([True, False, True, True, False, False, True, False])
        case "i":
            low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
            return np.array([low, high, -1, 0, 1, 2, -3, 7], dtype)
        case "u":
            high = np.iinfo(dtype).max
            return np.array([high, high - 1, 5, 0, 1, 2, 3, 7], dtype)
        case "f":
            return np.array([np.nan, np.inf, -np.inf, -0.0, 1.5, -2.0, 3.25, 0.0], dtype)
        case _:
            return np.array([1 + 2j, -1j, 0, 2, -3.5 + 0.5j, 1j, 0.25, -2 - 2j], dtype)


def works(text: str, names: dict[str, Any]) -> bool:
    """Whether NumPy computes it, in a type that polyopt has."""
    try:
        with np.errstate(all="ignore"):
            result = eval(text, {"np": np}, dict(names))
    except (TypeError, ValueError):
        return False
    return np.asarray(result).dtype.name in KINDS


def program(texts: list[str], names: str, tag: str) -> Any:
    """Return a function that computes all of the expressions."""
    body = ",\n        ".join(texts)
    source = f"def every({names}):\n    return (\n        {body},\n    )\n"
    linecache.cache[tag] = (len(source), None, source.splitlines(keepends=True), tag)
    scope: dict[str, Any] = {"np": np}
    exec(compile(source, tag, "exec"), scope)
    return scope["every"]


def is_undefined(text: str, left: np.dtype[Any], right: np.dtype[Any]) -> bool:
    """What C leaves open: shifts by negative counts; powers of infinite complex numbers."""
    if "<<" in text or ">>" in text:
        return right.kind == "i"
    return "**" in text and "c" in (left.kind, right.kind)


@pytest.mark.matrix
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("left", "right"), list(itertools.product(KINDS, KINDS)))
def test_pairs_of_types(left: str, right: str) -> None:
    a, b = values(left), np.roll(values(right), 3)
    c = values("bool")
    given = {"a": a, "b": b, "c": c}
    texts = [
        text
        for text in OPERATIONS
        if works(text, given) and not is_undefined(text, a.dtype, b.dtype)
    ]
    agree(program(texts, "a, b, c", f"<{left} {right}>"), a, b, c)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_arrays_with_numbers(kind: str) -> None:
    a = values(kind)
    for number in SCALARS:
        shown = (
            repr(number)
            if not isinstance(number, np.generic)
            else (f"np.{number.dtype.name}({number.item()!r})")
        )
        templates = ["a + {}", "{} - a", "a * {}", "a / {}", "a // {}", "{} % a", "a == {}",
                     "a > {}", "np.minimum(a, {})", "np.where(a > 0, {}, a)"]  # fmt: skip
        texts = [t.format(shown) for t in templates]
        texts = [t for t in texts if _fits(t, a)]
        if texts:
            agree(program(texts, "a", f"<{kind} {shown}>"), a)


def _fits(text: str, a: Any) -> bool:
    try:
        return works(text, {"a": a})
    except OverflowError:
        return False


@pytest.mark.parametrize(("base", "power"), [(-3, 0), (-3, 5), (0, 0), (2, 1), (2, 5)])
def test_powers_of_pythons_integers(base: int, power: int) -> None:
    def integer(a, k):
        return a**k, a**3, 2**k, a // 2, a % 3, -a // 4, -a % -3, a / 2

    agree(integer, base, power)
