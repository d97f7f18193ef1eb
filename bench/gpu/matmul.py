"""Products of float32 matrices against cuBLAS without TF32, through CuPy and PyTorch, and Triton.

In: sizes.  Out: a row a size.
"""

from __future__ import annotations

import numpy as np

from bench.gpu.clock import Context, measure
from bench.gpu.memory import ours, place
from bench.gpu.programs import MATMUL
from bench.gpu.rivals import rivals
from bench.gpu.stages import say, seconds_left

SIZES = (1024, 2048, 4096, 4093)
_GOAL = 0.80
_ROWS = 64  # that are compared with a product in double precision
_TOLERANCE = 1e-5


def report(context: Context, n: int) -> None:
    """Measure one size, check some rows, and compare."""
    row: dict[str, object] = {"n": n}
    try:
        arrays = MATMUL.make(n, n)
        placed = place(arrays)
        own = ours(MATMUL, placed)
        taken = measure(context, own.call)
        rows = np.random.default_rng(2).choice(n, _ROWS, replace=False)
        want = arrays["a"][rows].astype(np.float64) @ arrays["b"].astype(np.float64)
        got = own.result()[rows]
        error = float(np.linalg.norm(got - want) / np.linalg.norm(want))
        row |= {"ms": 1e3 * taken.seconds, "spread": taken.spread}
        row |= {"TFLOP/s": 2e-12 * n**3 / taken.seconds}
        row["error"] = error
        if not error <= _TOLERANCE:
            row["wrong"] = f"error {error:.1e}, allowed {_TOLERANCE:.1e}"
        times = {
            name: measure(context, call).seconds for name, call in rivals("matmul", placed).items()
        }
        blas = [times[name] for name in ("cupy", "torch") if name in times]
        row["of cuBLAS"] = min(blas) / taken.seconds if blas else None
        row["goal"] = _GOAL if n == 4096 else None
        for name in ("cupy", "torch", "triton"):
            row[f"{name} ms"] = 1e3 * times[name] if name in times else None
    except Exception as error:
        row["wrong"] = f"{type(error).__name__}: {error}"[:400]
    say(**row)


def main() -> None:
    """Measure all sizes."""
    context = Context()
    for n in SIZES:
        if seconds_left() > 0:
            report(context, n)


if __name__ == "__main__":
    main()
