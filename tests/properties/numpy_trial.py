"""Shapes, types and helpers of random NumPy-style programs, and NumPy's verdict on statements.

In: lines.  Out: whether NumPy runs them at one size, with values that stay tame.
"""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np

from tests.properties.numpy_case import (
    PRELUDE,
    ArraySpec,
    NumpyCase,
    Shape,
    arguments,
    extent,
    printed,
)
from tests.properties.random_sources import Line

TRIAL = {"N": 6, "M": 5}
SHAPES: tuple[tuple[str, ...], ...] = (
    ("N",), ("N",), ("N",), ("M",), ("N", "M"), ("N", "M"), ("N", "N"), ("M", "N"), ("N", "3"),
    ("N", "M", "2"), ("3", "N", "M"), ("N", "N", "N"), ("2",),
)  # fmt: skip
DTYPES = {
    "float": ("float64",),
    "single": ("float32", "float32", "float64"),
    "int": ("int64", "int64", "int32"),
    "mixed": ("float64", "float32", "int32", "int64", "uint8", "bool", "int8", "uint16"),
    "complex": ("complex128", "float64", "complex64"),
}
PROFILES = ("float",) * 9 + ("int",) * 4 + ("mixed",) * 4 + ("single",) * 2 + ("complex",)
HELPERS = {
    "bump": Line("def bump(x, by=1):", (Line("x += by"),)),
    "smooth": Line(
        "def smooth(x):",
        (Line("for i in range(1, len(x)):", (Line("x[i] = x[i] + x[i - 1]"),)), Line("return x")),
    ),
    "limit": Line(
        "def limit(v, most=4):",
        (
            Line("if v > most:", (Line("return most"),)),
            Line("if v < -most:", (Line("return -most"),)),
            Line("return v"),
        ),
    ),
    "pair": Line("def pair(v, w):", (Line("return v + w, v - w"),)),
    "twice": Line("def twice(x):", (Line("return x + x"),)),
    "mix": Line(
        "def mix(x, y, weight=2):", (Line("z = x * weight"), Line("z = z + y"), Line("return z"))
    ),
    "shift": Line(
        "def shift(x):",
        (
            Line("y = np.zeros_like(x)"),
            Line("y[1:] = x[:-1]"),
            Line("return y"),
        ),
    ),
    "norm": Line(
        "def norm(x):",
        (
            Line("total = np.sum(np.abs(x))"),
            Line("if total > 1:", (Line("return x / total"),)),
            Line("return x / 2"),
        ),
    ),
}


class Trial:
    """Runs the statements drawn so far at one size."""

    def __init__(self, arrays: tuple[ArraySpec, ...], scalars: tuple[tuple[str, Any], ...]) -> None:
        case = NumpyCase(arrays, scalars, (), (), True, True)
        values = arguments(case, TRIAL, 1, layouts=False)
        names = [a.name for a in arrays] + [name for name, _ in scalars]
        self.space: dict[str, Any] = dict(zip(names, values, strict=True))
        self.globals: dict[str, Any] = {}
        exec(PRELUDE + "".join("\n".join(printed((h,), 0)) + "\n" for h in HELPERS.values()),
             self.globals)  # fmt: skip

    def run(self, lines: tuple[Line, ...]) -> bool:
        """Run the lines; False and no effect where NumPy refuses or values grow."""
        before = {k: copy.copy(v) for k, v in self.space.items()}
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                warnings.simplefilter("error", np.exceptions.ComplexWarning)
                both = self.globals | self.space
                exec("\n".join(printed(lines, 0)) + "\n", both)
            self.space = {k: v for k, v in both.items() if k not in self.globals}
            if all(tame(v) for v in self.space.values()):
                return True
        except Exception:
            pass
        self.space = before
        return False


def tame(value: Any) -> bool:
    if not isinstance(value, np.ndarray | np.generic | float | int | complex):
        return True
    array = np.asarray(value)
    return (
        array.dtype != object
        and bool(np.all(np.isfinite(array)))
        and bool(np.all(np.abs(array) < 1e6))
    )


def shape_like(found: tuple[int, ...], wanted: Shape) -> Shape | None:
    """Return `wanted`, or its last dimensions, where the trial's array has that shape."""
    for start in range(len(wanted)):
        part = wanted[start:]
        if found == tuple(extent(dim, TRIAL) for dim in part):
            return part
    return None
