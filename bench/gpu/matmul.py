"""Products of matrices against cuBLAS, through CuPy and PyTorch, and Triton: float32 without TF32,
float16 and bfloat16 on matrix instructions.

In: sizes.  Out: a row a size.
"""

from __future__ import annotations

import numpy as np

from bench.gpu.clock import Clocked, measure, open_context
from bench.gpu.memory import ours, place
from bench.gpu.programs import HALVES, MATMUL, Program
from bench.gpu.rehearsal import size
from bench.gpu.rivals import rivals
from bench.gpu.stages import say, seconds_left

SIZES = (1024, 2048, 4096, 4093)
HALF_SIZES = (4096, 8192)
_GOALS = {("float32", 4096): 0.80, ("float16", 8192): 0.60, ("bfloat16", 8192): 0.60}
_ROWS = 64  # that are compared with a product in double precision


def report(context: Clocked, program: Program, n: int) -> None:
    """Measure one size, check some rows, and compare."""
    row: dict[str, object] = {"type": program.dtype, "n": n}
    try:
        arrays = program.make(n, n)
        placed = place(arrays)
        own = ours(program, placed)
        taken = measure(context, own.call)
        rows = np.random.default_rng(2).choice(n, min(n, _ROWS), replace=False)
        want = arrays["a"][rows].astype(np.float64) @ arrays["b"].astype(np.float64)
        got = own.result()[rows].astype(np.float64)
        error = float(np.linalg.norm(got - want) / np.linalg.norm(want))
        row |= {"ms": 1e3 * taken.seconds, "spread": taken.spread}
        row |= {"TFLOP/s": 2e-12 * n**3 / taken.seconds}
        row["error"] = error
        if not error <= program.tolerance:
            row["wrong"] = f"error {error:.1e}, allowed {program.tolerance:.1e}"
        times = {
            name: measure(context, call).seconds for name, call in rivals("matmul", placed).items()
        }
        blas = [times[name] for name in ("cupy", "torch") if name in times]
        row["of cuBLAS"] = min(blas) / taken.seconds if blas else None
        row["goal"] = _GOALS.get((program.dtype, n))
        for name in ("cupy", "torch", "triton"):
            row[f"{name} ms"] = 1e3 * times[name] if name in times else None
    except Exception as error:
        row["wrong"] = f"{type(error).__name__}: {error}"[:400]
    say(**row)


def main() -> None:
    """Measure all sizes."""
    context = open_context()
    every = [(MATMUL, n) for n in SIZES]
    for program in HALVES:
        try:
            every += [(program, n) for n in HALF_SIZES if program.numpy.itemsize]
        except ImportError as error:
            say(type=program.dtype, left_out=str(error))
    for program, n in [(program, size(n)) for program, n in every]:
        if seconds_left() > 0:
            report(context, program, n)


if __name__ == "__main__":
    main()
