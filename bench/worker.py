"""A process that runs one implementation of one workload on request.

In: one JSON command a line on standard input.  Out: one JSON answer a line on standard output.
The thread count of NumPy's BLAS and of OpenMP is set by the environment it is started with.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import workloads
from bench import baseline
from bench.check import relative_error, same_bits
from bench.clock import now
from bench.records import Implementation, Kind
from bench.serving import serve

Sizes = dict[str, int]
Arguments = dict[str, Any]


class Reference(Arguments):
    """What a workload's reference returns: outputs by their names."""


@dataclass(slots=True)
class Worker:
    """The loaded implementation and the arguments of the last size it ran at."""

    workload: workloads.Workload
    bind: baseline.Bind
    call: Callable[[], object] = lambda: None
    sizes: Sizes = field(default_factory=dict)
    arguments: Arguments = field(default_factory=dict)
    pristine: Arguments = field(default_factory=dict)
    returned: object = None
    kernel: Any = None

    def run(self, sizes: Sizes) -> float:
        """Restore the arguments, call once, return the seconds of the call alone.

        What the last call returned is let go before: C writes the same memory every time.
        """
        if sizes != self.sizes:
            self.arguments = self.workload.make(sizes)
            self.pristine = {n: self.arguments[n].copy() for n in self.workload.written}
            self.call = self.bind(sizes, self.arguments)
            self.sizes = sizes
        for name, values in self.pristine.items():
            np.copyto(self.arguments[name], values)
        self.returned = None
        start = now()
        self.returned = self.call()
        return now() - start

    def outputs(self) -> Arguments:
        """Return the arrays to compare."""
        if isinstance(self.returned, Reference):
            return self.returned
        return self.workload.results(self.arguments, self.returned)


def load(command: dict[str, Any]) -> tuple[Worker, float | None]:
    """Prepare an implementation; the second value is the time polyopt took to compile it."""
    workload = workloads.get(command["workload"])
    chosen = Implementation(
        Kind(command["kind"]), command["form"], command["threads"], command["fp"]
    )
    match chosen.kind:
        case Kind.NUMPY:
            return Worker(workload, numpy_bind(workload)), None
        case Kind.GCC:
            return Worker(workload, baseline.load(workload, Path(command["library"]))), None
        case Kind.POLYOPT:
            return polyopt_worker(workload, chosen)


def numpy_bind(workload: workloads.Workload) -> baseline.Bind:
    """Return the NumPy form as NumPy runs it; the reference where there is no such form."""

    def reference(**arguments: Any) -> Reference:  # noqa: ANN401
        return Reference(workload.reference(arguments))

    form = workload.forms.get("numpy", reference)
    return lambda sizes, arguments: partial(form, **arguments)


def polyopt_worker(
    workload: workloads.Workload, chosen: Implementation
) -> tuple[Worker, float | None]:
    """Compile a form with polyopt."""
    import polyopt as po

    kernel = po.kernel(workload.forms[chosen.form]).with_options(
        fp=chosen.fp, threads=chosen.threads
    )
    small = tuple(workload.make("MINI").values())
    start = perf_counter()
    kernel.compile(*small)
    seconds = perf_counter() - start

    def bind(sizes: Sizes, arguments: Arguments) -> Callable[[], object]:
        return partial(kernel, *arguments.values())

    return Worker(workload, bind, kernel=kernel), seconds


def answer(worker: Worker, command: dict[str, Any]) -> dict[str, Any]:
    """Carry out one command."""
    sizes = command["sizes"]
    match command["do"]:
        case "reference":
            expected = worker.workload.reference(worker.workload.make(sizes))
            save(command["path"], expected)
            return {}
        case "save":
            seconds = worker.run(sizes)
            save(command["path"], worker.outputs())
            return {"seconds": seconds}
        case "check":
            seconds = worker.run(sizes)
            with np.load(command["path"]) as expected:
                return {"seconds": seconds, "error": relative_error(worker.outputs(), expected)}
        case "contract":
            return {"outside": outside(worker.kernel, worker.workload.make(sizes))}
        case "bitwise":
            worker.run(sizes)
            with np.load(command["path"]) as expected:
                return {"same": same_bits(worker.outputs(), expected)}
        case "time":
            return {"seconds": [worker.run(sizes) for _ in range(command["calls"])]}
        case other:
            raise ValueError(f"no command {other}")


def outside(kernel: Any, arguments: Arguments) -> list[str]:  # noqa: ANN401
    """Return what of a call's results is outside its contract, the same function run by Python."""
    values = tuple(arguments.values())
    found = []
    for comparison in kernel.compile(*values).compare(*values):
        worst = comparison.worst
        if worst is not None:
            place = worst.place(comparison.name)
            found.append(f"{place} is {worst.got}, not {worst.want}; bound {worst.bound:.1e}")
    return found


def save(path: str, arrays: Arguments) -> None:
    """Write arrays for other workers to compare with; the file is whole once it is there."""
    staged = f"{path}.{os.getpid()}"
    with open(staged, "wb") as file:
        np.savez(file, allow_pickle=False, **arrays)
    os.replace(staged, path)


def main() -> None:
    """Serve commands until standard input ends."""
    worker: Worker | None = None

    def reply(command: dict[str, Any]) -> dict[str, Any]:
        nonlocal worker
        if worker is not None:
            return answer(worker, command)
        worker, seconds = load(command)
        return {"seconds": seconds}

    serve(reply, lambda error: f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
