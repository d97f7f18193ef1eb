"""A function with its bounds, for tests: built, analysed, called.

In: a function, argument values.  Out: the Program, its loops in the source's order, its bounds.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polyopt.bounding import source_loops
from polyopt.ir.interp import run_loops, run_program
from polyopt.ir.loops import LoopFunction
from polyopt.ir.program import Program
from polyopt.numerics.bounds import Bounds, analyse, error_bounds
from polyopt.numerics.compare import Comparison, compare
from polyopt.numerics.results import named_results, result_arrays
from tests.unit.frontend.harness import compiled


@dataclass(frozen=True, eq=False)
class Analysed:
    """A call, what Python makes of it, and how far from that a kernel may be."""

    program: Program
    loops: LoopFunction
    values: tuple[Any, ...]
    want: dict[str, Any]
    bounds: Bounds

    def interpreted(self, loops: LoopFunction) -> dict[str, Any]:
        """Return the results of running `loops` in the interpreter."""
        own = copy.deepcopy(self.values)
        returned = run_program(self.program, own, lambda a, p, s: run_loops(loops, a, p, s))
        return named_results(self.program, own, returned)

    def compare(self, got: dict[str, Any]) -> list[Comparison]:
        """Compare results with Python's under the bounds."""
        arrays = result_arrays(self.program)
        errors = self.bounds.errors
        return [compare(n, got[n], want, errors.get(arrays[n])) for n, want in self.want.items()]


def analysed(func: Callable[..., Any], *values: Any) -> Analysed:
    """Build and analyse `func` for a call with `values`."""
    program = compiled(func, *values)
    loops = source_loops(program)
    bounds = error_bounds(analyse(program, loops), values)
    own = copy.deepcopy(values)
    with np.errstate(all="ignore"):
        returned = func(*own)
    return Analysed(program, loops, values, named_results(program, own, returned), bounds)


def inexact_outputs(found: Analysed) -> Sequence[str]:
    """Return the names of the outputs that have bounds."""
    arrays = result_arrays(found.program)
    return [name for name in found.want if arrays[name] in found.bounds.errors]
