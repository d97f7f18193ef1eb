"""Optimize the loop AST after lowering.

In: a `LoopFunction`, the machine, the floating-point mode.  Out: an equal `LoopFunction`.
"""

from __future__ import annotations

from collections.abc import Callable

from polyopt import emit
from polyopt.emit.dead_locals import remove_dead_locals
from polyopt.emit.fault_exits import exit_on_faults
from polyopt.emit.passes.body_scalar_replacement import replace_in_bodies
from polyopt.emit.passes.common_subexpressions import eliminate_common_operands
from polyopt.emit.passes.explicit_vectors import vectorize
from polyopt.emit.passes.extrema import vectorize_extrema
from polyopt.emit.passes.faults import collect_faults
from polyopt.emit.passes.fma import contract
from polyopt.emit.passes.gathers import shorten_gathering_vectors
from polyopt.emit.passes.guards import hoist_guards
from polyopt.emit.passes.immediate_faults import leave_at_faults
from polyopt.emit.passes.invariant_hoisting import hoist_invariants
from polyopt.emit.passes.joined_conditions import join_conditions
from polyopt.emit.passes.loop_versioning import computed_sizes, version_on_subscripts
from polyopt.emit.passes.nontemporal_stores import strip_mine_nontemporal, use_nontemporal_stores
from polyopt.emit.passes.outer_vectorization import vectorize_across_rows
from polyopt.emit.passes.packing import pack_operands
from polyopt.emit.passes.ratios import settle_ratios
from polyopt.emit.passes.reduce import vectorize_reductions
from polyopt.emit.passes.regrouping import regroup
from polyopt.emit.passes.scalar_replacement import replace_in_loops
from polyopt.emit.passes.simplify import simplify
from polyopt.emit.passes.unroll import unroll, unroll_and_jam, unroll_in_lanes
from polyopt.ir.array import Role
from polyopt.ir.budget import optional
from polyopt.ir.loops import LoopFunction, LoopKind
from polyopt.ir.nodes import has_loop
from polyopt.machine import Machine

__all__ = ["optimize_loops"]

MOST = 0.5  # of the time that is left, for one pass


def optimize_loops(fn: LoopFunction, machine: Machine, fp: str) -> LoopFunction:
    """Return `fn` after all passes; one that takes too long is left out."""
    del fp
    if has_loop(fn.body, LoopKind.LIBRARY):
        fn, products = emit.library_products.set_aside(fn)
        return emit.library_products.put_back(optimize_loops(fn, machine, ""), products)
    sizes = computed_sizes(fn)
    fn = settle_ratios(hoist_invariants(fn))
    steps: tuple[tuple[str, Callable[[LoopFunction], LoopFunction]], ...] = (
        ("hoisted guards", hoist_guards),
        ("unrolled windows", lambda f: unroll_in_lanes(f, machine)),
        ("unroll-and-jam", lambda f: unroll_and_jam(f, machine)),
        ("regrouped sums", lambda f: regroup(f, fma=machine.fma)),
        ("fused multiply-add", contract if machine.fma else _nothing),
        ("simplification", simplify),
        ("packing", lambda f: pack_operands(f, machine)),
        ("vectorized reductions", vectorize_reductions),
        ("exits at faults", leave_at_faults),
        ("joined conditions", join_conditions),
        ("collected faults", collect_faults),
        ("strip-mined nontemporal stores", strip_mine_nontemporal),
        ("explicit vectors", lambda f: vectorize(f, machine)),
        ("outer-loop vectorization", lambda f: vectorize_across_rows(f, machine)),
        ("unrolling", unroll),
        ("scalar replacement in loop bodies", replace_in_bodies),
        ("scalar replacement in loops", replace_in_loops),
        ("simplification", simplify),
        ("common-subexpression elimination", eliminate_common_operands),
        ("nontemporal stores", lambda f: use_nontemporal_stores(f, machine)),
        ("dead locals", remove_dead_locals),
        ("extrema in lanes", vectorize_extrema),
        ("vectors of gathers", lambda f: shorten_gathering_vectors(f, machine)),
        ("versions of loops", lambda f: version_on_subscripts(f, sizes)),
        ("memory plan", emit.memory_plan.plan_memory if _has_several(fn) else _nothing),
    )
    for what, step in steps:
        with optional(what, part=MOST):
            fn = step(fn)
    return exit_on_faults(fn)


def _nothing(fn: LoopFunction) -> LoopFunction:
    return fn


def _has_several(fn: LoopFunction) -> bool:
    """Whether there are temporaries that might share memory."""
    return sum(array.role is Role.TEMP and bool(array.shape) for array in fn.arrays) > 1
