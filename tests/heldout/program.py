"""What a held-out program is: a function, the rules that decide for it, its sizes.

In: one module of this folder.  Out: `HeldOut`, and arguments for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class HeldOut:
    """A program that the automatic schedule's `rules` decide for, in the mode `fp`, on a target.

    `sizes` has a number for each size that the annotations name.  `prepare` changes the drawn
    arguments, as to make a matrix regular.
    """

    function: Callable[..., Any]
    rules: tuple[str, ...]
    sizes: Mapping[str, int]
    fp: str = "reassociate"
    prepare: Callable[..., None] | None = None
    target: str = "c"

    @property
    def name(self) -> str:
        """The name of the function, and of its module."""
        return f"{self.function.__module__.rpartition('.')[2]}.{self.function.__name__}"

    def arguments(self, seed: int = 0) -> tuple[Any, ...]:
        """Return random arguments, the same for each seed."""
        rng = np.random.default_rng(seed)
        annotations = self.function.__annotations__.items()
        found = tuple(self._value(name, annotation, rng) for name, annotation in annotations)
        if self.prepare is not None:
            self.prepare(*found)
        return found

    def _value(self, name: str, annotation: Any, rng: np.random.Generator) -> Any:
        if annotation is int:
            return self.sizes[name]
        if annotation is float:
            return float(rng.uniform(0.5, 1.5))
        dtype = np.dtype(annotation.dtype.value)
        shape = tuple(self.sizes.get(dim) or int(dim) for dim in annotation.dims)
        if dtype.kind == "b":
            return rng.random(shape) < 0.1
        if dtype.kind in "iu":
            return rng.integers(0, 20, shape).astype(dtype)
        return rng.uniform(-1.0, 1.0, shape).astype(dtype)
