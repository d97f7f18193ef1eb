"""Compile with isl stopped after so many operations, and see what becomes of the program.

In: the number of operations that isl may use between two checkpoints.  Out: what the loops that
are made compute on small arrays, or the error that says that there was not enough.
`python -m tests.bombs.limits --points 1500` tries many numbers.
"""

from __future__ import annotations

import argparse
import copy
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import numpy as np

from polyopt.errors import BudgetError, InternalError
from polyopt.frontend import build
from polyopt.ir import budget as budgets
from polyopt.ir.budget import Budget
from polyopt.ir.interp import run_loops, run_program
from polyopt.machine import Machine
from polyopt.pipeline import Compilation, compile_program
from polyopt.specialize import Parameters, plain_values, types_of
from polyopt.targets import Options

MOST = 300_000


def seidel(A, steps):
    for _ in range(steps):
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                A[i, j] = (A[i - 1, j] + A[i, j - 1] + A[i, j] + A[i, j + 1] + A[i + 1, j]) / 4.0


def layer(x, W, b):
    y = x @ W + b
    return np.maximum(y, 0.0) / (1.0 + y.max())


def triangle(A, b):
    n = A.shape[0]
    for i in range(n):
        total = b[i]
        for j in range(i):
            scaled = A[i, j] * 0.5
            total -= scaled * b[j]
            if 2 * j < i:
                A[j, i] = scaled + total
        b[i] = total / (A[i, i] + 2.0)


def found(x, index):
    kept = x[x > 0.25]
    total = kept.sum()
    rounds = 0
    while total > 1.0:
        total = total * 0.5
        rounds += 1
        for i in range(rounds):
            x[index[i % index.shape[0]]] += total
    return total, rounds


_RNG = np.random.default_rng(5)
PROGRAMS: dict[Callable[..., Any], tuple[Any, ...]] = {
    seidel: (_RNG.random((5, 6)), 3),
    layer: (_RNG.random((3, 4)), _RNG.random((4, 2)), _RNG.random(2)),
    triangle: (_RNG.random((5, 5)), _RNG.random(5)),
    found: (_RNG.random(9), np.array([0, 3, 7, 2])),
}


def compiled(function: Callable[..., Any], operations: int | None) -> Compilation:
    """Return what all stages make of a function; raises the error that ends them."""
    parameters = Parameters.of(function)
    types = types_of(parameters, plain_values(PROGRAMS[function]), frozenset())
    budget = Budget(60.0, operations)
    with budget.running():
        program = build(function, types)
        return compile_program(program, Options(), Machine(cores=4), budget=budget)


def results(made: Compilation, args: tuple[Any, ...]) -> list[Any]:
    """Return what the loops, parallel ones in any order, give and leave in their arguments."""
    mine = copy.deepcopy(args)

    def execute(arrays: Any, params: Any, symbols: Any) -> None:
        run_loops(made.loops, arrays, params, symbols, Random(7))

    value = run_program(made.program, mine, execute)
    return [*(value if isinstance(value, tuple) else (value,)), *mine]


def numbers(points: int) -> list[int]:
    """Return numbers of operations up to `MOST`, small ones closer together."""
    return sorted({round(MOST ** (k / max(points - 1, 1))) for k in range(points)})


@contextmanager
def stopped_at(number: int, name: str = "") -> Iterator[list[str]]:
    """Let isl do nothing from the moment that its limit is set for the given time to the next.

    Gives the names of the blocks it was set for; with `name`, only these count.
    """
    limit = budgets._limit
    times: list[str] = []

    def limited(block: Any) -> int:
        if name in ("", block.name):
            times.append(block.name)
            if len(times) == number:
                return 1
        return limit(block)

    budgets._limit = limited
    try:
        yield times
    finally:
        budgets._limit = limit


def outcome(function: Callable[..., Any], operations: int | None) -> str:
    """Return `same`, `less` (the same result from other loops), a code, or what must not be."""
    args = PROGRAMS[function]
    expected = copy.deepcopy(args)
    value = function(*expected)
    whole = [*(value if isinstance(value, tuple) else (value,)), *expected]
    try:
        made = compiled(function, operations)
    except BudgetError as error:
        return error.code
    try:
        given = results(made, args)
    except InternalError as error:
        return f"wrong: {error.message}"
    for one, other in zip(given, whole, strict=True):
        if other is not None and not np.allclose(one, other, rtol=1e-12, atol=0.0):
            return f"wrong: {one} instead of {other}"
    return "less" if made.dropped else "same"


def main() -> int:
    """Print how often each outcome was met; return 0 when none is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.bombs.limits")
    parser.add_argument("--points", type=int, default=100, help="numbers to try (100)")
    counts: dict[str, int] = {}
    for operations in numbers(parser.parse_args().points):
        for function in PROGRAMS:
            met = outcome(function, operations)
            counts[met] = counts.get(met, 0) + 1
            if met.startswith("wrong"):
                print(function.__name__, operations, met)
    print(", ".join(f"{met}: {count}" for met, count in counts.items()))
    return int(any(met.startswith("wrong") for met in counts))


if __name__ == "__main__":
    sys.exit(main())
