"""Every program at small sizes that divide no tile, on a device that may be no GPU.

In: a target and a device, on the command line.  Out: a row a program.
"""

from __future__ import annotations

import sys
import time

import polyopt as po
from bench.gpu.programs import PROGRAMS, Program
from bench.gpu.stages import say, seconds_left

SIZES = ((37, 45), (1, 1), (70, 33))


def check(program: Program, target: str, device: str | None) -> None:
    """Compare one program with NumPy in double precision."""
    begun = time.monotonic()
    row = {"program": program.name, "right": False, "error": None, "seconds": None}
    try:
        kernel = po.kernel(target=target, device=device, fp=program.fp)(program.function)
        worst = 0.0
        for n, m in SIZES:
            arrays = program.make(n, m)
            inputs = {name: array.copy() for name, array in arrays.items()}
            kernel(**arrays)
            worst = max(worst, program.error(inputs, arrays[program.output[0]]))
        row |= {"error": worst, "right": worst <= program.tolerance}
        if worst > program.tolerance:
            row["wrong"] = f"error {worst:.1e}, allowed {program.tolerance:.1e}"
    except Exception as error:
        row["wrong"] = f"{type(error).__name__}: {error}"[:400]
    say(**{**row, "seconds": time.monotonic() - begun})


def main(target: str, device: str) -> None:
    """Check all programs."""
    for program in PROGRAMS:
        if seconds_left() > 0:
            check(program, target, None if device == "default" else device)


if __name__ == "__main__":
    main(*sys.argv[1:])
