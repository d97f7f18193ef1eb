"""The line of the source that writes an element in one call.

In: a Program, a call's arguments, an array, a subscript.  Out: a `Loc`, None where nothing does.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from polyopt.errors import Loc, PolyoptError
from polyopt.ir.integers import evaluate
from polyopt.ir.interp import Trace, run_program, run_scop
from polyopt.ir.program import Program
from polyopt.ir.run_parts import run_parts
from polyopt.ir.scop import Scop, Statement


def writer_of(
    program: Program, values: tuple[Any, ...], array: str, index: tuple[int, ...]
) -> Loc | None:
    """Return where the last statement stands that writes the element, or else any of the array."""
    last: list[Statement] = []

    def traced(scop: Scop, arrays: Any, params: dict[str, int], symbols: Any) -> None:  # noqa: ANN401
        trace: Trace = []
        run_scop(scop, arrays, params, symbols, trace=trace)
        known = {statement.name: statement for statement in scop.statements}
        for name, point in trace:
            statement = known[name]
            env = {**params, **dict(zip(statement.iters, point, strict=True))}
            if statement.target.array == array and _may_be(statement, env, index):
                last.append(statement)

    def execute(arrays: Any, params: dict[str, int], symbols: Any) -> None:  # noqa: ANN401
        run_parts(program, arrays, params, symbols, traced)

    try:
        with np.errstate(all="ignore"):
            run_program(program, copy.deepcopy(values), execute)
    except PolyoptError:
        pass  # what was written before the fault is known
    found = last or [s for p in program.scops for s in p.statements if s.target.array == array]
    return found[-1].loc if found else None


def _may_be(statement: Statement, env: dict[str, int], index: tuple[int, ...]) -> bool:
    """Tell whether an instance's target is the element, or only data tells."""
    try:
        found = tuple(evaluate(part, env) for part in statement.target.index)
    except (KeyError, TypeError, AssertionError):
        return True
    return found == index
