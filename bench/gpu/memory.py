"""Arrays in the GPU's memory, seen by polyopt and by other libraries without copies.

In: NumPy arrays.  Out: arrays on the GPU, and how polyopt is called on them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import polyopt as po
from bench.gpu.programs import Arrays, Program
from bench.gpu.rehearsal import device

Placed = dict[str, Any]


def place(arrays: Arrays) -> Placed:
    """Copy arrays to the GPU."""
    return {name: po.to_device(array, "cuda", device()) for name, array in arrays.items()}


@dataclass(frozen=True, slots=True)
class Ours:
    """polyopt's kernel as it is called: `call` runs it, `result` fetches what it has written."""

    call: Callable[[], object]
    result: Callable[[], NDArray[Any]]


def ours(program: Program, placed: Placed) -> Ours:
    """Return polyopt's kernel of a program, ready to be called."""
    kernel = po.kernel(target="cuda", device=device(), fp=program.fp)(program.function)
    kernel(**placed)
    output = program.output[0]
    return Ours(lambda: kernel(**placed), lambda: np.asarray(placed[output].numpy()))
