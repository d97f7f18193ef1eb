"""Memory-bound kernels against the bandwidth of a copy, and against CuPy, PyTorch and Triton.

In: the programs, at 8192 x 8192 float32.  Out: a row a program; the first one is the copy.
"""

from __future__ import annotations

from bench.gpu.clock import Clocked, measure, open_context
from bench.gpu.memory import ours, place
from bench.gpu.programs import MEMORY_BOUND, Program
from bench.gpu.rehearsal import size
from bench.gpu.rivals import rivals
from bench.gpu.stages import say, seconds_left

SIZE = 8192
_COPY = 1 << 30
_GOAL = 0.85


def copied(context: Clocked) -> float:
    """Return the bytes per second, read and written, of the driver's own copy of 1 GiB."""
    nbytes = size(_COPY)
    source, target = context.allocate(nbytes), context.allocate(nbytes)
    taken = measure(context, lambda: context.copy(target, source, nbytes))
    context.free(source)
    context.free(target)
    return 2 * nbytes / taken.seconds


def report(context: Clocked, program: Program, best: float) -> None:
    """Measure one program, check its result, and compare."""
    row: dict[str, object] = {"program": program.name}
    try:
        n = size(SIZE)
        arrays = program.make(n, n)
        placed = place(arrays)
        own = ours(program, placed)
        taken = measure(context, own.call)
        error = program.error(arrays, own.result())
        rate = program.moved(n, n) / taken.seconds
        row |= {"ms": 1e3 * taken.seconds, "spread": taken.spread, "GB/s": rate / 1e9}
        row |= {"of copy": rate / best, "goal": _GOAL, "error": error}
        if not error <= program.tolerance * 4:  # rows are long here
            row["wrong"] = f"error {error:.1e}, allowed {4 * program.tolerance:.1e}"
        others = rivals(program.name, placed)
        for name in ("cupy", "torch", "triton"):
            row[f"{name} ms"] = None
            if name in others:
                row[f"{name} ms"] = 1e3 * measure(context, others[name]).seconds
    except Exception as error:
        row["wrong"] = f"{type(error).__name__}: {error}"[:400]
    say(**row)


def main() -> None:
    """Measure the copy, then all programs."""
    context = open_context()
    best = copied(context)
    say(measured="copy of 1 GiB by the driver", **{"GB/s": best / 1e9})
    for program in MEMORY_BOUND:
        if seconds_left() > 0:
            report(context, program, best)


if __name__ == "__main__":
    main()
