"""What a program is: a function for polyopt, its data at two sizes, what it writes.

In: a function, its data and sizes.  Out: `Program`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Sizes = Mapping[str, int]
Arguments = dict[str, Any]
SEED = 20


@dataclass(frozen=True, slots=True)
class Program:
    """A program: `data` makes the arguments of `function` from a generator, a type and sizes.

    `is_numpy`: `function` is an array expression and its own reference at all sizes; explicit
    loops are run by Python at the sizes `small` only.
    """

    function: Callable[..., None]
    data: Callable[..., Arguments]
    sizes: Sizes
    small: Sizes
    outputs: tuple[str, ...]
    is_numpy: bool = False

    @property
    def name(self) -> str:
        """The function's name, which its peers have as well."""
        return self.function.__name__

    @property
    def forms(self) -> Mapping[str, Callable[..., None]]:
        """The function by the kind of its form."""
        return {"numpy" if self.is_numpy else "loops": self.function}

    def make(self, sizes: Sizes, dtype: str) -> Arguments:
        """Return fresh arguments, the same ones every time."""
        made = self.data(np.random.default_rng(SEED), **sizes)
        return {name: _cast(value, dtype) for name, value in made.items()}


def _cast(value: Any, dtype: str) -> Any:  # noqa: ANN401
    """Return real arrays in the type asked for, as they are stored by default; others as given."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return np.ascontiguousarray(value, dtype)
    return value
