"""The same gradient by JAX: the form as a pure function (`bench.peers`), through `jax.vjp`.

In: a workload, a form, a problem.  Out: a call that returns the gradients.
Refuses: forms that have no pure form, or whose loops JAX cannot differentiate.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from bench.gradients.problem import Problem
from bench.peers import binders
from workloads import Workload


def is_there() -> bool:
    """Tell whether JAX is installed."""
    return find_spec("jax") is not None


def twin(
    workload: Workload, form: str, asked: Problem, dtype: str, threads: int
) -> Callable[[], tuple[Any, ...]]:
    """Return a call of the compiled gradient; loops become `fori_loop` where that traces."""
    if threads == 1:
        single = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {single}".strip()
    import jax

    jax.config.update("jax_enable_x64", dtype != "float32")
    names = list(asked.arguments)
    values = [asked.arguments[name] for name in asked.by]
    adjoints = jax.tree.map(jax.numpy.asarray, asked.adjoints)
    given = [jax.numpy.asarray(value) for value in values]
    numbers = {n: v for n, v in asked.arguments.items() if n not in asked.by}
    fixed = {n: v for n, v in numbers.items() if isinstance(v, int | str | bool)}
    others = {n: jax.numpy.asarray(v) for n, v in numbers.items() if n not in fixed}

    def gradient(pure: Callable[..., Any]) -> Callable[..., Any]:
        def compute(variables: Any, rest: Any, bars: Any) -> Any:  # noqa: ANN401
            def results(*variables: Any) -> Any:  # noqa: ANN401
                known = {**fixed, **rest, **dict(zip(asked.by, variables, strict=True))}
                returned, written = pure(*(known[name] for name in names))
                chosen = dict(zip(workload.written, written, strict=True))
                found = tuple(chosen[name] for name in asked.of) if asked.of else (returned,)
                cast = lambda bar, value: jax.numpy.asarray(value).astype(bar.dtype)  # noqa: E731
                return jax.tree.map(cast, bars, found)

            _, pull = jax.vjp(results, *variables)
            return pull(bars)

        return jax.jit(compute)

    for loops in (True, False):
        compiled = gradient(binders.pure_for_jax(workload, form, loops))
        try:
            jax.block_until_ready(compiled(given, others, adjoints))
            break
        except (TypeError, IndexError, ValueError, jax.errors.JAXTypeError):
            if not loops:
                raise

    def call() -> tuple[Any, ...]:
        found: tuple[Any, ...] = jax.block_until_ready(compiled(given, others, adjoints))
        return found

    return call


def difference(found: tuple[Any, ...], wanted: dict[str, Any]) -> float:
    """Return the largest difference of two gradients, relative to the largest element."""
    errors = [0.0]
    for one, other in zip(found, wanted.values(), strict=True):
        scale = max(float(np.max(np.abs(other), initial=0.0)), 1e-30)
        errors.append(float(np.max(np.abs(np.asarray(one) - other), initial=0.0)) / scale)
    return max(errors)
