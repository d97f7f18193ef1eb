"""Compile gemm and jacobi-2d at their LARGE sizes, check them against NumPy, print times.

In: nothing; run as `python bench/demo.py`.  Out: a table, and the exit code 0, 1, 3 or 4.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.baseline import NoCompiler
from bench.records import Request
from bench.run import run
from bench.table import render

NAMES = ("gemm", "jacobi-2d")


def main() -> int:
    """Run the demonstration; return the exit code."""
    request = Request(names=NAMES, dataset="LARGE", forms=("loops",), repeat=3, seconds=8.0)
    print("gemm and jacobi-2d at LARGE: NumPy, plain C under gcc, polyopt", flush=True)
    try:
        report = run(request, lambda line: print(f"  {line}", flush=True))
    except NoCompiler as error:
        print(f"demo: {error}", file=sys.stderr)
        return 3
    errors = tuple(
        f"{result.name}: largest error {max(found):.1e} of the largest element"
        for result in report.results
        if (found := [m.error for m in result.measurements if m.error is not None])
    )
    print("\n" + render(replace(report, notes=(*errors, *report.notes))))
    return report.exit_code


if __name__ == "__main__":
    sys.exit(main())
