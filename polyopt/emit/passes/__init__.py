"""Loop AST to loop AST: what is done to the loops after lowering.

In: a `LoopFunction`, the machine, the floating-point mode.  Out: an equal `LoopFunction`.
"""

from __future__ import annotations

from polyopt.emit.passes.faults import collect_faults
from polyopt.emit.passes.fma import contract
from polyopt.emit.passes.guards import hoist_guards
from polyopt.emit.passes.panels import pack_panels
from polyopt.emit.passes.promote import promote
from polyopt.emit.passes.reduce import vectorize_reductions
from polyopt.emit.passes.share import share_operands
from polyopt.emit.passes.simplify import simplify
from polyopt.emit.passes.unroll import unroll
from polyopt.emit.passes.vectors import vectorize
from polyopt.emit.stops import stop_at_faults
from polyopt.ir.loops import LoopFunction
from polyopt.machine import Machine

__all__ = ["optimize_loops"]


def optimize_loops(fn: LoopFunction, machine: Machine, fp: str) -> LoopFunction:
    """Return `fn` after all passes."""
    del fp
    if machine.fma:
        fn = contract(fn)
    fn = pack_panels(simplify(hoist_guards(fn)), machine)
    fn = unroll(vectorize(collect_faults(vectorize_reductions(fn)), machine))
    return stop_at_faults(share_operands(simplify(promote(fn))))
