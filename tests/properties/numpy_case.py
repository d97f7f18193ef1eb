"""A random NumPy-style program: its text, its arguments, how exactly results must agree.

In: lines and argument descriptions.  Out: the module's text, arguments for given sizes.
Refuses: nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from tests.properties.random_sources import Line

Dim: TypeAlias = tuple[str, int]  # ("N", 2): max(0, N - 2); ("3", 0): three
Shape: TypeAlias = tuple[Dim, ...]

SIZES: tuple[dict[str, int], ...] = (
    {"N": 7, "M": 4},
    {"N": 0, "M": 3},
    {"N": 1, "M": 1},
    {"N": 2, "M": 5},
    {"N": 9, "M": 0},
)
PRELUDE = "import math\n\nimport numpy as np\n"


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """An array argument; `index_of` names the size its integers are subscripts of."""

    name: str
    dtype: str
    shape: tuple[str, ...]
    index_of: str = ""


@dataclass(frozen=True, slots=True)
class NumpyCase:
    """A function `f`, helpers before it, and what to call it with.

    `exact`: floating-point results agree bit for bit; `signed`: the signs of zeros too.
    """

    arrays: tuple[ArraySpec, ...]
    scalars: tuple[tuple[str, Any], ...]
    helpers: tuple[Line, ...]
    lines: tuple[Line, ...]
    exact: bool
    signed: bool

    @property
    def text(self) -> str:
        """The module's source."""
        names = ", ".join([*(a.name for a in self.arrays), *(s[0] for s in self.scalars)])
        helpers = "".join(f"\n\n{line}" for line in _helper_blocks(self.helpers))
        body = "\n".join(printed(self.lines, 1)) or "    pass"
        return f"{PRELUDE}{helpers}\n\ndef f({names}):\n{body}\n"


def _helper_blocks(helpers: tuple[Line, ...]) -> Iterator[str]:
    for helper in helpers:
        yield "\n".join(printed((helper,), 0)) + "\n"


def printed(lines: tuple[Line, ...], depth: int) -> Iterator[str]:
    """Yield the lines as text."""
    for line in lines:
        yield "    " * depth + line.text
        yield from printed(line.body, depth + 1)


def extent(dim: Dim, sizes: dict[str, int]) -> int:
    """Return the length of a dimension."""
    size, cut = dim
    whole = (sizes["N"] + 1) // 2 if size == "H" else sizes.get(size)
    return max(0, (int(size) if whole is None else whole) - cut)


def arguments(case: NumpyCase, sizes: dict[str, int], seed: int, *, layouts: bool) -> list[Any]:
    """Return seeded arguments; with `layouts` some arrays are strided or in Fortran's order."""
    rng = np.random.default_rng(seed)
    found: list[Any] = []
    for spec in case.arrays:
        array = _array(spec, sizes, rng)
        roll = rng.random()
        if layouts and array.ndim and roll < 0.25:
            wide = np.zeros(tuple(2 * n for n in array.shape), array.dtype)
            view = wide[tuple(slice(None, None, 2) for _ in array.shape)]
            view[...] = array
            array = view
        elif layouts and array.ndim and roll < 0.4:
            array = np.ascontiguousarray(array[::-1])[::-1]
        elif layouts and array.ndim > 1 and roll < 0.6:
            array = np.asfortranarray(array)
        found.append(array)
    return [*found, *(value for _, value in case.scalars)]


def _array(spec: ArraySpec, sizes: dict[str, int], rng: np.random.Generator) -> Any:
    shape = tuple(extent((size, 0), sizes) for size in spec.shape)
    if spec.index_of:
        bound = max(1, extent((spec.index_of, 0), sizes))
        return np.asarray(rng.integers(0, bound, shape), dtype=spec.dtype)
    raw = np.asarray(rng.integers(-24, 25, shape))
    kind = np.dtype(spec.dtype).kind
    if kind == "b":
        raw = raw % 2
    elif kind == "u":
        raw = np.abs(raw)
    elif kind == "f":
        raw = raw / 8
    elif kind == "c":
        raw = raw / 8 + 1j * np.asarray(rng.integers(-24, 25, shape)) / 8
    return np.asarray(raw).astype(spec.dtype)


def to_text(case: NumpyCase, title: str) -> str:
    """Return the case as a module whose second line says what to call `f` with."""
    head = json.dumps(
        {
            "arrays": [[a.name, a.dtype, list(a.shape), a.index_of] for a in case.arrays],
            "scalars": [list(scalar) for scalar in case.scalars],
            "exact": case.exact,
            "signed": case.signed,
        }
    )
    return f"# {title}\n# {head}\n{case.text}"


@dataclass(frozen=True, slots=True)
class KeptCase:
    """A case read back from a file: its text is the file's."""

    arrays: tuple[ArraySpec, ...]
    scalars: tuple[tuple[str, Any], ...]
    text: str
    exact: bool
    signed: bool


SEPARATOR = "\n# ----\n\n"


def kept_cases(path: Path) -> list[KeptCase]:
    """Return the cases of a file: what `to_text` wrote, with separators."""
    return [from_text(part) for part in path.read_text("utf-8").split(SEPARATOR) if part.strip()]


def from_text(text: str) -> KeptCase:
    """Read a case that `to_text` wrote."""
    head = json.loads(text.splitlines()[1].lstrip("# "))
    arrays = tuple(ArraySpec(n, d, tuple(s), i) for n, d, s, i in head["arrays"])
    scalars = tuple((name, value) for name, value in head["scalars"])
    return KeptCase(arrays, scalars, text, head["exact"], head["signed"])
