"""Exactly the source's instances run, each once.

In: a part's statements and the runs that execute them.  Out: claims, one a statement.
"""

from __future__ import annotations

import islpy as isl

from polyopt.ir.expr import Expr, Load, Symbol, walk
from polyopt.ir.scop import Statement
from polyopt.proof.affine import Frame, NotAffine
from polyopt.proof.certificate import Claim, ClaimKind, Verdict
from polyopt.proof.paths import conjuncts
from polyopt.proof.reading import Run
from polyopt.proof.source import SourcePart


def check_instances(part: SourcePart, statement: Statement, runs: list[Run]) -> Claim:
    """Return whether `runs` together execute every instance of `statement` exactly once."""
    wanted = part.domain(statement)
    least = wanted.intersect(_affine_guard(part, statement))
    done = isl.Set.empty(wanted.get_space())
    for run in runs:
        if not run.instances.is_injective():
            return _refuted(statement, "an instance runs in two iterations")
        here = run.executed
        if not here.is_disjoint(done):
            return _refuted(statement, "an instance runs in two places")
        done = done.union(here).coalesce()
    if not done.is_subset(wanted):
        extra = done.subtract(wanted)
        return _refuted(statement, f"{_example(extra)} runs, which the source does not have")
    if not least.is_subset(done):
        missing = least.subtract(done)
        return _refuted(statement, f"{_example(missing)} does not run")
    return Claim(ClaimKind.INSTANCES, statement.name, Verdict.PROVEN, str(wanted))


def _refuted(statement: Statement, reason: str) -> Claim:
    return Claim(ClaimKind.INSTANCES, statement.name, Verdict.REFUTED, str(statement.domain), reason)


def _affine_guard(part: SourcePart, statement: Statement) -> isl.Set:
    """Return where the conditions of the statement's guard that are on sizes alone hold."""
    frame = Frame(part.scop.params, statement.iters)
    result = frame.universe
    for condition in () if statement.guard is None else conjuncts(statement.guard):
        if _is_data(condition):
            continue
        try:
            result = result.intersect(frame.condition(condition))
        except NotAffine:
            continue
    return result.set_tuple_name(statement.name)


def _is_data(expr: Expr) -> bool:
    return any(isinstance(part, Load | Symbol) for part in walk(expr))


def _example(instances: isl.Set) -> str:
    """Return one instance and its sizes, for people."""
    point = instances.sample_point()
    names = [instances.get_dim_name(isl.dim_type.param, n) for n in range(instances.dim(isl.dim_type.param))]
    sizes = ", ".join(
        f"{name}={point.get_coordinate_val(isl.dim_type.param, n)}" for n, name in enumerate(names)
    )
    rank = instances.dim(isl.dim_type.set)
    values = ", ".join(
        str(point.get_coordinate_val(isl.dim_type.set, d)) for d in range(rank)
    )
    where = f" at {sizes}" if sizes else ""
    return f"{instances.get_tuple_name()}[{values}]{where}"
