"""Demands become checks of the call: the sizes for which some instance would violate them.

In: demands with their scopes.  Out: `Check` records whose conditions are exact.
"""

from __future__ import annotations

import islpy as isl

from polyopt.frontend.builder import Builder, Demand
from polyopt.frontend.codes import refuse
from polyopt.frontend.domains import Scope, domain_of
from polyopt.frontend.integers import is_affine, negated
from polyopt.frontend.renaming import Renaming, renamed_scope
from polyopt.ir.affine import condition_set, param_space
from polyopt.ir.expr import Expr
from polyopt.ir.isl_ast import condition_expr
from polyopt.ir.source import Check


def checks_of(
    b: Builder, rename: Renaming, params: tuple[str, ...], context: isl.Set
) -> tuple[Check, ...]:
    """Return the checks, in source order; a demand implied by earlier ones makes none."""
    result: list[Check] = []
    known = context
    seen: set[tuple[Scope, Expr]] = set()
    for demand in b.demands:
        if (demand.scope, demand.condition) in seen:
            continue
        if not is_affine(demand.condition):
            refuse(
                "PO0133", f"{demand.message}, and no affine check tells", demand.loc, demand.hint
            )
        seen.add((demand.scope, demand.condition))
        allowed = _allowed(demand, rename, params)
        if known.is_subset(allowed):
            continue
        rest = known.intersect(allowed)
        if rest.is_empty():
            refuse(demand.code, demand.message, demand.loc, demand.hint)
        wanted = allowed.gist(known).coalesce()
        condition = condition_expr(wanted, frozenset(params))
        result.append(Check(condition, demand.code, demand.message, demand.loc, demand.hint))
        known = rest.coalesce()
    return tuple(result)


def _allowed(demand: Demand, rename: Renaming, params: tuple[str, ...]) -> isl.Set:
    """Return the parameter values at which no instance violates the demand."""
    scope = renamed_scope(rename, demand.scope)
    violated = scope.under(negated(rename.expr(demand.condition)))
    bad = domain_of(violated, params, "D").params()
    return bad.complement()


def context_of(context: isl.Set, checks: tuple[Check, ...], params: tuple[str, ...]) -> isl.Set:
    """Return what the checks tell of the sizes, as one conjunction.

    A check such as "n >= 1 unless the loop is empty" is a union; what all its parts say is kept.
    """
    result = context
    for check in checks:
        passing = condition_set(check.condition, param_space(params)).intersect(context)
        result = result.intersect(passing.coalesce().simple_hull().to_set())
    return result.coalesce().remove_redundancies()
