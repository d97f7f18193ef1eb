"""Programs in no suite, for which each rule of the automatic schedule decides.

A rule is stated by properties of dependences and accesses, so that it decides for programs that
nobody wrote it for: these.  `python -m tests.rules` runs them beside the workloads.
"""

from tests.heldout import (
    devices,
    eliminations,
    lanes,
    products,
    recurrences,
    rows,
    stencils,
    sums,
)
from tests.heldout.program import HeldOut

PROGRAMS: dict[str, HeldOut] = {
    program.name: program
    for module in (devices, eliminations, lanes, products, recurrences, rows, stencils, sums)
    for program in module.PROGRAMS
}

__all__ = ["PROGRAMS", "HeldOut"]
