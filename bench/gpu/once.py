"""One program, run once on the GPU at a ragged size: what compute-sanitizer looks at.

In: a name on the command line.  Out: nothing; the exit code is 1 where the result is wrong.
"""

from __future__ import annotations

import sys

import polyopt as po
from bench.gpu.programs import PROGRAMS


def main(name: str) -> int:
    """Run it."""
    program = next(program for program in PROGRAMS if program.name == name)
    arrays = program.make(70, 133)
    inputs = {given: array.copy() for given, array in arrays.items()}
    po.kernel(target="cuda", fp=program.fp)(program.function)(**arrays)
    return int(program.error(inputs, arrays[program.output[0]]) > program.tolerance)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
