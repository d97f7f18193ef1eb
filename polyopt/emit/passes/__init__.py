"""Loop AST to loop AST: passes that run after lowering, in the order of `PASSES`.

In: a `LoopFunction`, the machine, the floating-point mode.  Out: an equal `LoopFunction`.
"""

from __future__ import annotations

from polyopt.ir.loops import LoopFunction
from polyopt.machine import Machine


def optimize_loops(fn: LoopFunction, machine: Machine, fp: str) -> LoopFunction:
    """Return `fn` after all passes."""
    del machine, fp
    return fn
