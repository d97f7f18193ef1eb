"""What is differentiated: the results of a workload times fixed adjoints, by its float arrays.

In: a workload, the name of a form, sizes, an element type.  Out: `Problem`.
Refuses (`Skipped`): programs without floating-point arrays among arguments and results.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloads import Workload

SEED = 20

Arguments = dict[str, Any]


class Skipped(Exception):
    """A program has no gradient to ask for; the text says why."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A call with its adjoints: one for each written array in `of`, or for what is returned.

    `function` is the form as plain Python; `adjoints` has the structure of the results.
    """

    function: Callable[..., Any]
    arguments: Arguments
    by: tuple[str, ...]
    of: tuple[str, ...]
    adjoints: tuple[Any, ...]

    def weighted(self, changed: Mapping[str, NDArray[Any]]) -> float:
        """Return the sum of all results times their adjoints, computed by Python."""
        own = copy.deepcopy(self.arguments)
        own |= {name: value.copy() for name, value in changed.items()}
        with np.errstate(all="ignore"):
            returned = self.function(**own)
        found = tuple(own[name] for name in self.of) if self.of else returned
        wanted = self.adjoints if self.of else self.adjoints[0]
        return float(_dot(wanted, found))

    @property
    def values(self) -> tuple[Any, ...]:
        """The arguments of the gradient, in order."""
        return (*self.arguments.values(), *self.adjoints)


def problem(
    workload: Workload,
    function: Callable[..., Any],
    sizes: str,
    dtype: np.dtype[Any],
    shapes: object = None,
) -> Problem:
    """Return the gradient to ask for of a form of a workload.

    `shapes`: what the form returns at these sizes, where that is known; else Python tells.
    """
    arguments = workload.make(sizes, dtype)
    by = tuple(name for name, value in arguments.items() if _is_float_array(value))
    if not by:
        raise Skipped("no argument is an array of floating-point numbers")
    of = tuple(name for name in workload.written if _is_float_array(arguments[name]))
    rng = np.random.default_rng(SEED)
    if of:
        bars = tuple(_adjoint(arguments[name], rng) for name in of)
        return Problem(function, arguments, by, of, bars)
    if workload.written:
        raise Skipped("no written array has floating-point numbers")
    if shapes is None:
        with np.errstate(all="ignore"):
            shapes = function(**copy.deepcopy(arguments))
    return Problem(function, arguments, by, (), (_adjoint(shapes, rng),))


def _is_float_array(value: object) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


def _adjoint(value: Any, rng: np.random.Generator) -> Any:  # noqa: ANN401
    """Return random adjoints of the shapes and types of results."""
    if isinstance(value, tuple | list):
        return tuple(_adjoint(part, rng) for part in value)
    found = np.asarray(value)
    if found.dtype.kind != "f":
        raise Skipped("a result is not of floating-point numbers")
    drawn = rng.uniform(-1.0, 1.0, found.shape).astype(found.dtype)
    return drawn if found.ndim else float(drawn)


def _dot(adjoint: Any, value: Any) -> Any:  # noqa: ANN401
    if isinstance(adjoint, tuple):
        return sum(_dot(one, other) for one, other in zip(adjoint, value, strict=True))
    return np.sum(np.asarray(adjoint) * np.asarray(value))
