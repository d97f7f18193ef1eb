"""What a compile bomb is.

In: the text of a function `f`, the text of its arguments.  Out: the function, the arguments.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Bomb:
    """A function that is hard to compile, small to run.

    `arguments` is an expression over `np` and `rng`; `schedule` is a schedule's text or None.
    `runs`: Python runs the function in a moment, to compare results.
    """

    name: str
    text: str
    arguments: str
    schedule: str | None = None
    runs: bool = True

    def function(self, folder: Path) -> Callable[..., Any]:
        """Return the function, defined in a file in `folder`, where its text can be read."""
        path = folder / f"{self.name}.py"
        path.write_text(f"import numpy as np\n\n\n{self.text}", encoding="utf-8")
        spec = importlib.util.spec_from_file_location(f"bomb_{self.name}", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.f  # type: ignore[no-any-return]


def lines(*parts: str) -> str:
    """Return lines of text joined, with a last line end."""
    return "\n".join(parts) + "\n"


def nest(depth: int, bounds: Callable[[int], str], body: list[str], head: str) -> str:
    """Return a function of `depth` loops over i0, i1, … around `body`."""
    text = [head]
    for d in range(depth):
        text.append("    " * (d + 1) + f"for i{d} in range({bounds(d)}):")
    text += ["    " * (depth + 1) + line for line in body]
    return lines(*text)


def names(prefix: str, number: int) -> list[str]:
    """Return prefix0, prefix1, …"""
    return [f"{prefix}{n}" for n in range(number)]
