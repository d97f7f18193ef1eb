"""One program, run once on the GPU: what compute-sanitizer and ncu look at.

In: a name, and a size or none for a small ragged one, on the command line.  Out: nothing; the exit
code is 1 where the result is wrong, which is looked at for the ragged size alone.
"""

from __future__ import annotations

import sys

import polyopt as po
from bench.gpu.programs import PROGRAMS
from bench.gpu.rehearsal import device


def main(name: str, size: str = "") -> int:
    """Run it."""
    program = next(program for program in PROGRAMS if program.name == name)
    n, m = (int(size), int(size)) if size else (70, 133)
    arrays = program.make(n, m)
    inputs = {given: array.copy() for given, array in arrays.items()}
    po.kernel(target="cuda", device=device(), fp=program.fp)(program.function)(**arrays)
    if size:
        return 0
    return int(program.error(inputs, arrays[program.output[0]]) > program.tolerance)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
