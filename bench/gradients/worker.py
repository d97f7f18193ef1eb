"""A process that computes the gradient of one workload, with polyopt or with JAX.

In: commands as JSON, a line each: `load`, then `time`.  Out: an answer to each, a line.
polyopt's worker leaves adjoints and gradients in a file, with which JAX's are compared.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import workloads
from bench.gradients import differences, jax_twin
from bench.gradients.problem import Problem, Skipped, problem
from bench.peers.binders import retyped
from bench.serving import serve

CHECKED = ("MINI", "SMALL")
"""Data sets to compare at: the second where slopes are infinite at the first (the root of zero)."""


@dataclass(frozen=True, slots=True)
class Timed:
    """The calls to time by what they compute; `restore` undoes what one wrote."""

    calls: dict[str, Callable[[], object]]
    restore: Callable[[], None]

    def samples(self, count: int) -> dict[str, list[float]]:
        """Call everything in turn, `count` times; return seconds."""
        found: dict[str, list[float]] = {name: [] for name in self.calls}
        for _ in range(count):
            for name, call in self.calls.items():
                self.restore()
                start = perf_counter()
                result = call()
                found[name].append(perf_counter() - start)
                del result
        return found


def load(command: dict[str, Any]) -> tuple[Timed | None, dict[str, Any]]:
    """Prepare one side; the answer has what was found on the way."""
    workload = workloads.get(command["workload"])
    if command["who"] == "jax":
        return _jax(workload, command)
    return _polyopt(workload, command)


def _polyopt(
    workload: workloads.Workload, command: dict[str, Any]
) -> tuple[Timed | None, dict[str, Any]]:
    form, options = workload.forms[command["form"]], command["options"]
    if workload.dtype.kind != "f":
        raise Skipped(f"its numbers are {workload.dtype.name}")
    if command["check"]:
        return None, _checked(workload, form, options)[1]
    primal, gradient, asked, seconds = _compiled(workload, form, command["dataset"], options)
    checked = gradient if workload.dtype == float else None
    read, reply = _checked(workload, form, options, checked)
    if read != asked.by:
        asked = replace(asked, by=read)
        gradient = _vjp(form, asked, options)
    reply |= seconds
    found = _listed(gradient(*asked.values))
    kept = {
        "asked": replace(asked, function=None),
        "found": dict(zip(asked.by, found, strict=True)),
    }
    Path(command["path"]).write_bytes(pickle.dumps(kept))
    own = {n: v.copy() for n, v in asked.arguments.items() if n in workload.written}
    values = [own.get(name, value) for name, value in asked.arguments.items()]

    def restore() -> None:
        for name, value in own.items():
            np.copyto(value, asked.arguments[name])

    calls = {"primal": lambda: primal(*values), "gradient": lambda: gradient(*asked.values)}
    return Timed(calls, restore), reply


def _checked(
    workload: workloads.Workload,
    form: Callable[..., Any],
    options: dict[str, Any],
    gradient: Any = None,  # noqa: ANN401
) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Compare the gradient in double precision with differences.

    Out: the arrays whose contents before the call matter, and the answer.
    """
    double = retyped(form, "float64")
    for sizes in CHECKED:
        asked = problem(workload, double, sizes, np.dtype(float))
        gradient = gradient or _vjp(double, asked, options)
        found = _listed(gradient(*asked.values))
        if all(np.all(np.isfinite(part)) for part in found):
            break
    error, name = differences.worst(asked, found)
    reply = {"error": error, "worst": name, "right": bool(error <= differences.BOUND)}
    read = tuple(
        name
        for name, part in zip(asked.by, found, strict=True)
        if name not in workload.written or np.any(part)
    )
    return read or asked.by, reply


def _vjp(form: Callable[..., Any], asked: Problem, options: dict[str, Any]) -> Any:  # noqa: ANN401
    import polyopt as po

    return po.vjp(form, asked.by, of=asked.of, **options)


def _compiled(
    workload: workloads.Workload, form: Callable[..., Any], dataset: str, options: dict[str, Any]
) -> tuple[Any, Any, Problem, dict[str, float]]:
    """Return both kernels, and the seconds that each took to compile."""
    import polyopt as po

    primal = po.kernel(form).with_options(**options)
    arguments = workload.make(dataset)
    start = perf_counter()
    primal.compile(*arguments.values())
    seconds = {"primal compile": perf_counter() - start}
    returned = primal(*copy.deepcopy(list(arguments.values())))
    asked = problem(workload, form, dataset, workload.dtype, returned)
    gradient = _vjp(form, asked, options)
    start = perf_counter()
    compilation = gradient.compile(*asked.values)
    seconds["compile"] = perf_counter() - start
    for stage, spent in compilation.timings.items():
        seconds[f"compile {stage}"] = spent
    return primal, gradient, asked, seconds


def _listed(found: object) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


def _jax(
    workload: workloads.Workload, command: dict[str, Any]
) -> tuple[Timed | None, dict[str, Any]]:
    kept = pickle.loads(Path(command["path"]).read_bytes())
    asked, wanted = kept["asked"], kept["found"]
    dtype, threads = workload.dtype.name, command["options"]["threads"]
    start = perf_counter()
    call = jax_twin.twin(workload, command["form"], asked, dtype, threads)
    seconds = perf_counter() - start
    error = jax_twin.difference(call(), wanted)
    return Timed({"jax": call}, lambda: None), {"jax compile": seconds, "jax error": error}


def main() -> None:
    """Serve commands until standard input ends."""
    timed: Timed | None = None

    def reply(command: dict[str, Any]) -> dict[str, Any]:
        nonlocal timed
        try:
            if command["do"] != "load":
                assert timed is not None
                return {"samples": timed.samples(command["count"])}
            timed, found = load(command)
        except Skipped as skipped:
            return {"skipped": str(skipped)}
        return found

    serve(reply, reason)


def reason(error: Exception) -> str:
    """Return an error in one line, with its code."""
    code = getattr(error, "code", type(error).__name__)
    return f"{code}: {str(error).strip().splitlines()[0][:200]}"


if __name__ == "__main__":
    main()
