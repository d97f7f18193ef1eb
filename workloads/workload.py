"""What a workload is: a program in one or two forms, its data and its expected results.

In: one module of a suite.  Out: `Workload`.
Refuses: a data set or a size that the program does not have.
"""

from __future__ import annotations

import copy
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
    """A program that is called as `form(**arguments)`.

    `forms` maps "loops", "numpy" or both to plain Python functions of the same arguments.
    `outputs` names what to compare: an argument that is written, "return", or "return[1]", one
    of several returned values.  `expect` computes the outputs in another way (None: the NumPy
    form, or else the loops, is its own reference); `whole_reference` is False where that is too
    slow for LARGE.  `least` holds the sizes the program needs to be meaningful, where that is not
    0.  `steps` names the size that counts time steps: time is proportional to it.  `count` is
    exact where `counted`, else an estimate.  `exact`: the loops compute no function like exp, whose
    last bit differs between libraries.  `definite`: the arrays must be positive definite.
    """

    name: str
    suite: str
    forms: Mapping[str, Callable[..., Any]]
    sizes: Mapping[str, Mapping[str, int]]
    outputs: tuple[str, ...]
    dtype: np.dtype[Any]
    build: Callable[..., Arguments]
    randomize: Callable[[Arguments, np.random.Generator], None] | None
    expect: Callable[..., Outputs] | None
    count: Callable[..., int]
    counted: bool
    exact: bool
    chain: Callable[..., int]
    approximation: float
    least: Mapping[str, int]
    steps: str | None
    whole_reference: bool
    definite: bool

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the sizes, in the published order."""
        return tuple(self.sizes["MINI"])

    @property
    def written(self) -> tuple[str, ...]:
        """The names of the arguments among the outputs."""
        return tuple(name for name in self.outputs if not name.startswith("return"))

    def at(self, sizes: str | Mapping[str, int]) -> dict[str, int]:
        """Return the sizes of a data set, or check the given ones."""
        if isinstance(sizes, str):
            if sizes not in self.sizes:
                known = ", ".join(self.sizes)
                raise KeyError(f"{self.name}: no data set {sizes}; there are {known}")
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
            randomize = self.randomize or self._randomize
            randomize(arguments, np.random.default_rng(seed))
        return arguments

    def _randomize(self, arguments: Arguments, rng: np.random.Generator) -> None:
        """Overwrite the arrays; matrices to be factored stay well conditioned."""
        for value in arguments.values():
            if not isinstance(value, np.ndarray):
                continue
            if value.dtype.kind in "iu":
                value[...] = rng.integers(1, min(1000, np.iinfo(value.dtype).max), value.shape)
            elif value.dtype.kind == "b":
                value[...] = rng.integers(0, 2, value.shape)
            elif self.definite and value.ndim == 2:
                square = rng.uniform(-1.0, 1.0, value.shape)
                value[...] = square @ square.T + len(square) * np.eye(len(square))
            elif value.dtype.kind == "c":
                value.real = rng.uniform(-1.0, 1.0, value.shape)
                value.imag = rng.uniform(-1.0, 1.0, value.shape)
            else:
                value[...] = rng.uniform(-1.0, 1.0, value.shape)

    def results(self, arguments: Mapping[str, Any], returned: object) -> Outputs:
        """Return the outputs after a call with `arguments` that gave back `returned`."""
        return {name: _output(name, arguments, returned) for name in self.outputs}

    def reference(self, arguments: Mapping[str, Any]) -> Outputs:
        """Return what the outputs must be after a call with `arguments`, which stay untouched."""
        with np.errstate(all="ignore"):
            if self.expect is not None:
                return self.expect(**arguments)
            own = copy.deepcopy(dict(arguments))
            form = self.forms.get("numpy") or self.forms["loops"]
            return self.results(own, form(**own))

    def flops(self, sizes: str | Mapping[str, int]) -> int:
        """Return how many arithmetic operations the explicit loops do."""
        return self.count(**self.at(sizes))

    def bound(self, sizes: str | Mapping[str, int], dtype: DTypeLike | None = None) -> float:
        """Return the largest error a correct result may have, relative to its largest element.

        Twice the rounding unit for each of the roundings in the longest chain that leads to one
        result, and the error of a formula that approximates; 0 for integers.
        """
        chosen = self.dtype if dtype is None else np.dtype(dtype)
        if chosen.kind in "iub":
            return 0.0
        rounding = 2 * np.finfo(chosen).eps * (8 + self.chain(**self.at(sizes)))
        return float(rounding + self.approximation)


def _output(name: str, arguments: Mapping[str, Any], returned: Any) -> NDArray[Any]:
    """Return one output as an array."""
    if not name.startswith("return"):
        return np.asarray(arguments[name])
    position = name[len("return") :].strip("[]")
    return np.asarray(returned[int(position)] if position else returned)
