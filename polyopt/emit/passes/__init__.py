"""Loop AST to loop AST: what is done to the loops after lowering.

In: a `LoopFunction`, the machine, the floating-point mode.  Out: an equal `LoopFunction`.
"""

from __future__ import annotations

from collections.abc import Callable

from polyopt.emit.passes.faults import collect_faults
from polyopt.emit.passes.fma import contract
from polyopt.emit.passes.gather import gather_updates
from polyopt.emit.passes.guards import hoist_guards
from polyopt.emit.passes.nontemporal_stores import strip_mine_nontemporal, use_nontemporal_stores
from polyopt.emit.passes.numbers import compute_numbers
from polyopt.emit.passes.outer_vectorization import vectorize_across_rows
from polyopt.emit.passes.panels import pack_panels
from polyopt.emit.passes.promote import promote
from polyopt.emit.passes.ratios import settle_ratios
from polyopt.emit.passes.reduce import vectorize_reductions
from polyopt.emit.passes.share import share_operands
from polyopt.emit.passes.simplify import simplify
from polyopt.emit.passes.unroll import unroll
from polyopt.emit.passes.vectors import vectorize
from polyopt.emit.stops import stop_at_faults
from polyopt.ir.budget import optional
from polyopt.ir.loops import LoopFunction
from polyopt.machine import Machine

__all__ = ["optimize_loops"]

MOST = 0.5  # of the time that is left, for one pass


def optimize_loops(fn: LoopFunction, machine: Machine, fp: str) -> LoopFunction:
    """Return `fn` after all passes; one that takes too long is left out."""
    del fp
    fn = settle_ratios(compute_numbers(fn))
    steps: tuple[tuple[str, Callable[[LoopFunction], LoopFunction]], ...] = (
        ("fused multiply-add", contract if machine.fma else _nothing),
        ("conditions outside loops", hoist_guards),
        ("shorter expressions", simplify),
        ("packed panels", lambda f: pack_panels(f, machine)),
        ("sums in SIMD lanes", vectorize_reductions),
        ("conditions of faults", collect_faults),
        ("strips past the caches", strip_mine_nontemporal),
        ("SIMD vectors", lambda f: vectorize(f, machine)),
        ("lanes across rows", lambda f: vectorize_across_rows(f, machine)),
        ("unrolled loops", unroll),
        ("updates in registers", gather_updates),
        ("elements in registers", promote),
        ("shorter expressions", simplify),
        ("shared operands", share_operands),
        ("stores past the caches", lambda f: use_nontemporal_stores(f, machine)),
    )
    for what, step in steps:
        with optional(what, part=MOST):
            fn = step(fn)
    return stop_at_faults(fn)


def _nothing(fn: LoopFunction) -> LoopFunction:
    return fn
