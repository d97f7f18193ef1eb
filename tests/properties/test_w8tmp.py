"""Random subscripts: slices, integers, index arrays, masks and new axes, read and written."""

from __future__ import annotations

import copy
import importlib.util
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from tests.unit.frontend.harness import agree

RNG = np.random.default_rng(1)
VALUES: dict[str, Any] = {
    "p": np.array([0, 2, -1]),
    "q": np.array([1, -2, 0], np.int32),
    "u": np.array([1, 0, 2], np.uint8),
    "P": np.array([[0, 1, 2], [-1, 1, 0]]),
    "k": 1,
    "m3": np.array([1, 0, 1], bool),
    "m4": np.array([0, 1, 1, 0], bool),
    "m34": RNG.random((3, 4)) > 0.5,
}
ARRAYS = ("p", "q", "u", "P", "p[::-1]", "[0, 2]", "[k, 0, -1]", "np.arange(3)", "(p * p) % 3")
SLICES = (":", "1:", "::2", "::-1", ":-1")
BODIES = (
    "return A[{0}]",
    "B = A[{0}]\n    return B * 2 + A[{0}]",
    "A[{0}] = A[{0}] * 2 + 1",
    "A[{0}] += 1.5",
    "A[{0}] = 0",
)


def subscript(rnd: Random, shape: tuple[int, ...]) -> str:
    """Return parts of a subscript that fit an array of this shape."""
    parts: list[str] = []
    d = 0
    while d < len(shape) and (not parts or rnd.random() < 0.9):
        kind = rnd.choice(["array"] * 4 + ["number"] * 2 + ["slice"] * 3 + ["new", "mask", "dots"])
        match kind:
            case "array":
                parts.append(rnd.choice(ARRAYS))
            case "number":
                parts.append(rnd.choice(["0", "-1", "k"]))
            case "slice":
                parts.append(rnd.choice(SLICES))
            case "new":
                parts.append("None")
                continue
            case "mask" if shape[d : d + 2] == (3, 4) and rnd.random() < 0.5:
                parts.append("m34")
                d += 1
            case "mask" if shape[d] in (3, 4):
                parts.append(f"m{shape[d]}")
            case _:
                if "..." in parts or d + 1 < len(shape):
                    continue
                parts.append("...")
        d += 1
    return ", ".join(parts)


def write_programs(path: Path, seed: int, count: int) -> dict[str, tuple[int, ...]]:
    """Write functions into a file; return the shape of each one's array."""
    rnd = Random(seed)
    shapes: dict[str, tuple[int, ...]] = {}
    text = "import numpy as np\n"
    for number in range(count):
        shape = rnd.choice([(4,), (3, 4), (3, 4), (3, 4, 5), (3, 4, 5)])
        body = rnd.choice(BODIES).format(subscript(rnd, shape))
        text += f"\n\ndef f{number}(A, {', '.join(VALUES)}):\n    {body}\n"
        shapes[f"f{number}"] = shape
    path.write_text(text, encoding="utf-8")
    return shapes


def load(path: Path) -> dict[str, Callable[..., object]]:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return vars(module)


@pytest.mark.parametrize("seed", range(3, 40))
def test_subscripts_mean_what_they_mean_in_numpy(seed: int, tmp_path: Path) -> None:
    path = tmp_path / f"subscripts_{seed}.py"
    shapes = write_programs(path, seed, 40)
    functions, compared = load(path), 0
    for name, shape in shapes.items():
        args = (RNG.random(shape), *VALUES.values())
        try:
            functions[name](*copy.deepcopy(args))
        except (IndexError, ValueError):
            continue  # shapes that do not broadcast
        agree(functions[name], *args)
        compared += 1
    assert compared > 20
