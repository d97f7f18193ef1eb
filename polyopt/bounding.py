"""Bounds on a call's rounding errors, by the slow interpreter or by compiled code.

In: a Program, a call's arguments.  Out: `Bounds`.
Small calls are interpreted; large ones run the same loops as C, in the source's order and without
any of the passes whose results are judged by them.
Refuses: what the front end's program runs into, as the kernel does.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyopt.emit import emit_c
from polyopt.emit.wrapper import wrapper_source
from polyopt.errors import ArgumentError, BudgetError, ToolchainError
from polyopt.ir.budget import Budget
from polyopt.ir.integers import evaluate
from polyopt.ir.interp import bind_sizes
from polyopt.ir.loops import Body, For, If, LoopFunction, While
from polyopt.ir.program import Program
from polyopt.ir.source import ScalarArg
from polyopt.numerics.bounds import Analysis, Bounds, analyse, error_bounds
from polyopt.numerics.compare import Comparison, compare
from polyopt.numerics.results import result_arrays
from polyopt.pipeline import bounded_lower
from polyopt.proving import sequential
from polyopt.runtime import build as builder
from polyopt.runtime.caller import caller_for
from polyopt.runtime.check import check_call
from polyopt.runtime.library import has_no_buffers, load_extension, load_foreign
from polyopt.runtime.process import calls_text, process_for
from polyopt.runtime.store import open_store
from polyopt.runtime.toolchain import find_compiler
from polyopt.schedule import source_schedule
from polyopt.targets import Options, seconds_to_compile

INTERPRETED = 20_000
"""Statements that the interpreter is asked to run; more are compiled."""

UNKNOWN_COUNT = 16
"""Iterations that a loop is taken to have whose bounds only data tells."""


def source_loops(program: Program) -> LoopFunction:
    """Return the loops of `program` in the source's order, no pass applied."""
    with Budget(seconds_to_compile(Options())).running():
        schedules = tuple(map(source_schedule, program.scops))
        return sequential(bounded_lower(schedules, program))


def analysis_of(program: Program) -> Analysis:
    """Return the program extended by its bounds."""
    return analyse(program, source_loops(program))


def bounds_of(program: Program, args: Sequence[Any], compiler: str | None = None) -> Bounds:
    """Return the bounds of the results of calling `program` with `args`, which stay untouched."""
    analysis = analysis_of(program)
    if not analysis.inexact:
        return Bounds({})
    sizes = bind_sizes(program.signature, args)
    if work(analysis.function.body, sizes) <= INTERPRETED:
        return error_bounds(analysis, args)
    with _compiled(analysis.function, compiler) as call:
        return error_bounds(analysis, args, call)


def known_bounds(
    program: Program, args: Sequence[Any], results: Mapping[str, Any], compiler: str | None = None
) -> dict[str, NDArray[np.float64]]:
    """Return the bounds of the inexact ones of a call's named results.

    Infinite for all where the call is not analysed: arrays share memory, or it takes too long.
    """
    arrays = result_arrays(program)
    try:
        errors = bounds_of(program, args, compiler).errors
    except (ArgumentError, BudgetError):
        return {name: np.full(np.shape(value), np.inf) for name, value in results.items()}
    return {name: errors[arrays[name]] for name in results if arrays[name] in errors}


def compare_results(
    program: Program,
    args: Sequence[Any],
    got: Mapping[str, Any],
    want: Mapping[str, Any],
    compiler: str | None = None,
) -> tuple[Comparison, ...]:
    """Compare the named results of a call with `args`, each under its contract."""
    bounds = known_bounds(program, args, want, compiler)
    return tuple(compare(name, got[name], want[name], bounds.get(name)) for name in want)


@contextlib.contextmanager
def _compiled(function: LoopFunction, compiler: str | None) -> Iterator[Callable[..., Any]]:
    source = emit_c(function)
    store = open_store()
    found = find_compiler(store, compiler)
    foreign = builder.python_headers() is None or has_no_buffers(source)
    wrapper = None if foreign else wrapper_source(source)
    texts = builder.kernel_texts(source, wrapper, calls_text(source, found))
    key = builder.library_key(texts, found)
    process = process_for(source, store, found)
    with builder.library(store, found, texts, key) as path:
        numbers = [a for a in source.signature.arguments if isinstance(a, ScalarArg)]
        weak = (False,) * len(numbers)
        if foreign:
            loaded = load_foreign(path, source, weak, 1, process)
        else:
            caller = caller_for(store, found)
            loaded = load_extension(path, source.signature, weak, source.openmp, 1, caller, process)

        def call(*values: object) -> Any:  # noqa: ANN401
            symbols = check_call(source.signature, values).symbols
            exact = [
                symbols[a.symbol] if isinstance(a, ScalarArg) else value
                for a, value in zip(source.signature.arguments, values, strict=True)
            ]
            result = loaded.call_apart(*exact)
            if result is NotImplemented:
                raise ToolchainError("PO0503", "the code that computes bounds refuses the call")
            return result

        yield call


def work(body: Body, sizes: Mapping[str, int]) -> int:
    """Return about how many statements a body runs, from a few iterations of every loop."""
    total = 0
    for node in body:
        match node:
            case For():
                total += _loop_work(node, sizes)
            case While():
                total += UNKNOWN_COUNT * work(node.body, sizes)
            case If():
                total += max(work(node.then, sizes), work(node.otherwise, sizes))
            case _:
                total += 1
    return total


def _loop_work(node: For, sizes: Mapping[str, int]) -> int:
    try:
        values = range(evaluate(node.lower, sizes), evaluate(node.upper, sizes), node.step)
    except (KeyError, TypeError):
        return UNKNOWN_COUNT * work(node.body, {**sizes, node.iter: 0})
    if not values:
        return 0
    picked = {values[0], values[len(values) // 2], values[-1]}
    inside = sum(work(node.body, {**sizes, node.iter: value}) for value in picked)
    return len(values) * inside // len(picked)
