"""A process that runs one implementation of one program on request.

In: one JSON command a line on standard input.  Out: one JSON answer a line on standard output.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from bench.check import relative_error
from bench.clock import now
from bench.serving import serve
from bench.unseen.implementations import IMPLEMENTATIONS, Bind
from bench.unseen.program import Arguments, Program, Sizes
from bench.unseen.registry import PROGRAMS
from bench.worker import save


@dataclass(slots=True)
class Worker:
    """The loaded implementation and the arguments of the sizes it ran at last."""

    program: Program
    dtype: str
    bind: Bind
    sizes: Sizes = field(default_factory=dict)
    arguments: Arguments = field(default_factory=dict)
    pristine: Arguments = field(default_factory=dict)

    def run(self, sizes: Sizes) -> float:
        """Restore the arguments, call once, return the seconds of the call alone."""
        if sizes != self.sizes:
            self.arguments = self.program.make(sizes, self.dtype)
            self.pristine = {n: self.arguments[n].copy() for n in self.program.outputs}
            self.sizes = sizes
        for name, values in self.pristine.items():
            np.copyto(self.arguments[name], values)
        call = self.bind(sizes, self.arguments)
        start = now()
        call()
        return now() - start

    def outputs(self) -> Arguments:
        """Return the arrays to compare."""
        return {name: self.arguments[name] for name in self.program.outputs}


def load(command: dict[str, Any]) -> tuple[Worker, float]:
    """Prepare an implementation; the second value is the seconds that took."""
    program, dtype = PROGRAMS[command["program"]], command["dtype"]
    start = perf_counter()
    bind = IMPLEMENTATIONS[command["who"]](program, dtype, command["threads"])
    return Worker(program, dtype, bind), perf_counter() - start


def answer(worker: Worker, command: dict[str, Any]) -> dict[str, Any]:
    """Carry out one command at the sizes `small` or `sizes`."""
    sizes: Sizes = getattr(worker.program, command["at"])
    match command["do"]:
        case "save":
            worker.run(sizes)
            save(command["path"], worker.outputs())
            return {}
        case "check":
            worker.run(sizes)
            with np.load(command["path"]) as expected:
                return {"error": relative_error(worker.outputs(), expected)}
        case "time":
            return {"seconds": [worker.run(sizes) for _ in range(command["calls"])]}
        case other:
            raise ValueError(f"no command {other}")


def reason(error: Exception) -> str:
    """Return an error in one line; polyopt's begin with their code."""
    first = (str(error).strip().splitlines() or [""])[0]
    return first if hasattr(error, "code") else f"{type(error).__name__}: {first}"


def main() -> None:
    """Serve commands until standard input ends."""
    worker: Worker | None = None

    def reply(command: dict[str, Any]) -> dict[str, Any]:
        nonlocal worker
        if worker is not None:
            return answer(worker, command)
        worker, seconds = load(command)
        return {"seconds": seconds}

    serve(reply, reason)


if __name__ == "__main__":
    main()
