"""Train a model by a kernel and by NumPy, step by step, and compare.

In: a model's step as a function, the same in NumPy with a gradient written by hand, parameters,
batches.  Out: a `Report`: losses, differences, times.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import polyopt as po

TOLERANCE = 1e-4
"""The largest difference of losses and parameters after one step from the same state, in float32:
sums of up to 16384 terms in another order, divided by their moments."""


@dataclass(frozen=True)
class Report:
    """What a training found; `off` is the largest difference after a step from the same state."""

    name: str
    losses: tuple[float, ...]
    expected: tuple[float, ...]
    off: float
    compiling: float
    seconds: float
    numpy_seconds: float

    def __str__(self) -> str:
        ratio = self.numpy_seconds / self.seconds
        return (
            f"{self.name}: {len(self.losses)} steps, loss {self.losses[0]:.3f} -> "
            f"{self.losses[-1]:.3f} (NumPy {self.expected[-1]:.3f})\n"
            f"  largest difference from NumPy after a step from the same state: {self.off:.1e}\n"
            f"  first call {self.compiling:.1f} s; then {self.seconds * 1e3:.3f} ms a step, NumPy "
            f"{self.numpy_seconds * 1e3:.3f} ms: {ratio:.1f} times as fast"
        )


def mapped(function: Callable[..., Any], *trees: Any) -> Any:  # noqa: ANN401
    """Return `function` of the arrays at each place of some structures, in their structure."""
    first = trees[0]
    if not isinstance(first, tuple):
        return function(*trees)
    parts = [mapped(function, *some) for some in zip(*trees, strict=True)]
    return type(first)(*parts) if hasattr(first, "_fields") else tuple(parts)


def leaves(tree: Any) -> Iterator[np.ndarray]:  # noqa: ANN401
    """Yield the arrays of a structure."""
    if isinstance(tree, tuple):
        for part in tree:
            yield from leaves(part)
    else:
        yield tree


def train(
    name: str,
    step: Callable[..., Any],
    numpy_step: Callable[..., Any],
    params: Any,  # noqa: ANN401
    batches: Iterator[tuple[np.ndarray, ...]],
    steps: int,
    rate: float = 1e-3,
    repeats: int = 30,
    budget: float = 60.0,
) -> Report:
    """Train for `steps` steps; the kernel may take `budget` seconds of a processor to compile.

    Both steps change parameters and moments in place and return the loss.  Raises
    `AssertionError` where one of them differs from NumPy's by more than `TOLERANCE`.
    """
    kernel = po.kernel(step, fp="reassociate", fixed_sizes=True, budget=budget)
    state = tuple(mapped(np.array, params) if n == 0 else mapped(np.zeros_like, params)
                  for n in range(3))  # fmt: skip
    alone = mapped(np.array, state)
    losses, expected, off, compiling = [], [], 0.0, 0.0
    for t in range(1, steps + 1):
        batch = next(batches)
        same = mapped(np.array, state)
        start = time.perf_counter()
        losses.append(float(kernel(*state, *batch, t, rate)))
        compiling = compiling or time.perf_counter() - start
        loss = numpy_step(*same, *batch, t, rate)
        off = max(off, abs(losses[-1] - loss), *_differences(state, same))
        assert off <= TOLERANCE, f"{name}: step {t} differs from NumPy's by {off}"
        expected.append(float(numpy_step(*alone, *batch, t, rate)))
    times = [
        fastest(lambda one=one: one(*alone, *batch, steps, rate), repeats)
        for one in (kernel, numpy_step)
    ]
    return Report(name, tuple(losses), tuple(expected), off, compiling, *times)


def _differences(found: Any, wanted: Any) -> Iterator[float]:  # noqa: ANN401
    for one, two in zip(leaves(found), leaves(wanted), strict=True):
        yield float(np.max(np.abs(one - two)))


def fastest(call: Callable[[], object], repeats: int) -> float:
    """Return the seconds of the fastest of some calls."""
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return min(found)
