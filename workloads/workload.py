"""What a workload is: a program in several forms, its data and its expected results.

In: one module of this package.  Out: `Workload`.
Refuses: a data set or a size that the program does not have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

DATASETS = ("MINI", "SMALL", "MEDIUM", "LARGE", "EXTRALARGE")

Arguments = dict[str, Any]
Outputs = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Workload:
    """A program that is called as `form(**arguments)` and writes its results into its arguments.

    `forms` maps "loops" (always there) and "numpy" (where it is natural) to plain Python functions
    of the same arguments.  `outputs` names the arguments to compare.  `least` holds the sizes the
    program needs to be meaningful, where that is not 0.  `steps` names the size that counts time
    steps: time is proportional to it.  `whole_reference` is False where the NumPy reference is too
    slow for LARGE.  `definite`: the arrays must be positive definite matrices.
    """

    name: str
    forms: Mapping[str, Callable[..., None]]
    sizes: Mapping[str, Mapping[str, int]]
    outputs: tuple[str, ...]
    dtype: np.dtype[Any]
    build: Callable[..., Arguments]
    expect: Callable[..., Outputs]
    count: Callable[..., int]
    chain: Callable[..., int]
    least: Mapping[str, int]
    steps: str | None
    whole_reference: bool
    definite: bool

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the sizes, in the published order."""
        return tuple(self.sizes["MINI"])

    def at(self, sizes: str | Mapping[str, int]) -> dict[str, int]:
        """Return the sizes of a data set, or check the given ones."""
        if isinstance(sizes, str):
            if sizes not in self.sizes:
                raise KeyError(f"{self.name}: no data set {sizes}; there are {', '.join(DATASETS)}")
            return dict(self.sizes[sizes])
        if set(sizes) != set(self.parameters):
            raise KeyError(f"{self.name}: sizes are {', '.join(self.parameters)}")
        return {name: int(sizes[name]) for name in self.parameters}

    def make(
        self,
        sizes: str | Mapping[str, int],
        dtype: DTypeLike | None = None,
        seed: int | None = None,
    ) -> Arguments:
        """Return fresh arguments: the published initial data, or random ones from `seed`."""
        chosen = self.dtype if dtype is None else np.dtype(dtype)
        arguments = self.build(**self.at(sizes), dtype=chosen)
        if seed is not None:
            self._randomize(arguments, np.random.default_rng(seed))
        return arguments

    def _randomize(self, arguments: Arguments, rng: np.random.Generator) -> None:
        """Overwrite the arrays; matrices to be factored stay well conditioned."""
        for value in arguments.values():
            if not isinstance(value, np.ndarray):
                continue
            if value.dtype.kind in "iu":
                value[...] = rng.integers(1, 1000, value.shape)
            elif self.definite:
                square = rng.uniform(-1.0, 1.0, value.shape)
                value[...] = square @ square.T + len(square) * np.eye(len(square))
            else:
                value[...] = rng.uniform(-1.0, 1.0, value.shape)

    def reference(self, arguments: Mapping[str, Any]) -> Outputs:
        """Return what the outputs must be after a call with `arguments`, which stay untouched."""
        with np.errstate(all="ignore"):
            return self.expect(**arguments)

    def flops(self, sizes: str | Mapping[str, int]) -> int:
        """Return how many arithmetic operations the explicit loops do."""
        return self.count(**self.at(sizes))

    def bound(self, sizes: str | Mapping[str, int], dtype: DTypeLike | None = None) -> float:
        """Return the largest error a correct result may have, relative to its largest element.

        Twice the rounding unit for each of the roundings in the longest chain that leads to one
        result; 0 for integers.
        """
        chosen = self.dtype if dtype is None else np.dtype(dtype)
        if chosen.kind in "iu":
            return 0.0
        return float(2 * np.finfo(chosen).eps * (8 + self.chain(**self.at(sizes))))
