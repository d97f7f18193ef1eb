"""Demands become checks of the call: the sizes for which some instance would violate them.

In: demands with their scopes.  Out: `Check` records whose conditions are exact.
A check of a subscript at run time that repeats another is left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import islpy as isl

from polyopt.dataclass import dataclass, replace
from polyopt.frontend.integers.affine_integers import TRUE, is_affine, negated
from polyopt.frontend.program.drafts import Binding, Demand, Draft, Mark, dynamic_params
from polyopt.frontend.program.regions import Known, inner_scope
from polyopt.frontend.program.renaming import Renaming, renamed_scope
from polyopt.frontend.program.statement_domains import Loop, Scope, domain_of, scope_exprs
from polyopt.frontend.values.codes import refuse
from polyopt.ir.affine import condition_set, param_space
from polyopt.ir.clock import checkpoint
from polyopt.ir.expr import Compare, CompareOp, Expr, Iter, Load, rewrite
from polyopt.ir.isl_ast import condition_expr
from polyopt.ir.names import iterators, params_of, reads
from polyopt.ir.program import Require
from polyopt.ir.source import OUTSIDE, Check, Fault

NEVER_INSIDE = "no array is large enough: end the loop sooner, or start it later"


def as_if_run(demand: Demand) -> Demand:
    """Return what a demand on subscripts asks of a call, even if data end loops before it matters.

    For code that is not for all sizes.
    """
    if demand.code != OUTSIDE or _names(demand):
        return demand
    loops = tuple(replace(loop, going=None) for loop in demand.scope.loops)
    return replace(demand, scope=replace(demand.scope, loops=loops))


def checks_of(
    demands: Sequence[Demand],
    rename: Renaming,
    params: tuple[str, ...],
    context: isl.Set,
    *,
    any_sizes: bool,
) -> tuple[Check, ...]:
    """Return the checks, in source order; a demand implied by earlier ones makes none.

    Without `any_sizes`, a demand on subscripts in loops is put as if these run, if that is simpler.
    """
    result: list[Check] = []
    known = context
    seen: set[tuple[Scope, Expr]] = set()
    for demand in demands:
        if (demand.scope, demand.condition) in seen:
            continue
        checkpoint()
        _require_affine(demand)
        seen.add((demand.scope, demand.condition))
        allowed = _allowed(demand, rename, params)
        if not any_sizes and demand.code == OUTSIDE:
            allowed = _where_run(allowed, demand, rename, params, known)
        if known.is_subset(allowed):
            continue
        rest = known.intersect(allowed)
        if rest.is_empty():
            refuse(demand.code, demand.message, demand.loc, demand.hint)
        wanted = allowed.gist(known).coalesce()
        condition = condition_expr(wanted, frozenset(params))
        hint = _hint(demand, rest, rename, params)
        result.append(Check(condition, demand.code, demand.message, demand.loc, hint))
        known = rest.coalesce()
    return tuple(result)


def _hint(demand: Demand, rest: isl.Set, rename: Renaming, params: tuple[str, ...]) -> str | None:
    """Return what helps where a demand fails: no array is large enough if only empty loops pass."""
    if demand.code != OUTSIDE or not demand.scope.loops:
        return demand.hint
    runs = domain_of(renamed_scope(rename, demand.scope), params, "D").params()
    return demand.hint if not rest.intersect(runs).is_empty() else NEVER_INSIDE


def _require_affine(demand: Demand) -> None:
    if not is_affine(demand.condition):
        refuse(demand.code, f"{demand.message}: no affine check tells", demand.loc, demand.hint)


def _allowed(demand: Demand, rename: Renaming, params: tuple[str, ...]) -> isl.Set:
    """Return the parameter values at which no instance violates the demand."""
    scope = renamed_scope(rename, demand.scope)
    violated = scope.under(negated(rename.expr(demand.condition)))
    bad = domain_of(violated, params, "D").params()
    return bad.complement()


def _where_run(
    allowed: isl.Set, demand: Demand, rename: Renaming, params: tuple[str, ...], known: isl.Set
) -> isl.Set:
    """Return what a demand that leaves `allowed` says of calls in which its loops run."""
    if allowed.n_basic_set() == 1:
        return allowed
    runs = domain_of(renamed_scope(rename, demand.scope), params, "D").params().intersect(known)
    found = allowed.intersect(runs).gist(runs).coalesce()
    return found if found.n_basic_set() == 1 else allowed


def context_of(context: isl.Set, checks: tuple[Check, ...], params: tuple[str, ...]) -> isl.Set:
    """Return what the checks tell of the sizes, as one conjunction.

    A check such as "n >= 1 unless the loop is empty" is a union; what all its parts say is kept.
    """
    result = context
    for check in checks:
        passing = condition_set(check.condition, param_space(params)).intersect(context)
        result = result.intersect(passing.coalesce().simple_hull().to_set())
    return result.coalesce().remove_redundancies()


def demanded(demands: Sequence[Demand], params: tuple[str, ...], context: isl.Set) -> isl.Set:
    """Return what demands on `params` tell of these, as one conjunction, while a call is read."""
    names, result = frozenset(params), context
    seen: set[tuple[Scope, Expr]] = set()
    for demand in demands:
        key = (demand.scope, demand.condition)
        if key in seen or is_dynamic(demand) or not is_affine(demand.condition):
            continue
        seen.add(key)
        if not params_of((*scope_exprs(demand.scope), demand.condition)) <= names:
            continue
        violated = demand.scope.under(negated(demand.condition))
        bad = domain_of(violated, params, "D").params().intersect(result)
        if not bad.is_empty():
            passing = result.subtract(bad).coalesce().simple_hull().to_set()
            result = result.intersect(passing)
    return result


def passing_of(
    context: isl.Set, checks: tuple[Check, ...], params: tuple[str, ...]
) -> tuple[isl.Set, ...]:
    """Return the sizes that pass each check of which `context` tells a part only."""
    space = param_space(params)
    passing = (condition_set(check.condition, space) for check in checks)
    return tuple(allowed for allowed in passing if not context.is_subset(allowed))


# -- while the kernel runs --------------------------------------------------------------------


def is_dynamic(demand: Demand) -> bool:
    """Whether a demand is about sizes found, or iterations that happen, while the kernel runs."""
    return bool(_names(demand)) or any(loop.going for loop in demand.scope.loops)


def _names(demand: Demand) -> frozenset[str]:
    return dynamic_params(*scope_exprs(demand.scope), demand.condition)


@dataclass(frozen=True, eq=False)
class DynamicChecks:
    """Demands about dynamic sizes and iterations, each checked as soon as it can be.

    That is when the last of its sizes is bound, or at the start of every iteration of the innermost
    loop that data ends.
    """

    demands: Sequence[Demand]
    marks: Sequence[Mark]
    rename: Renaming
    faults: list[Fault]

    def after(
        self, place: str, loops: Sequence[Loop], known: Known
    ) -> list[tuple[isl.Set, Require]]:
        """Return what must hold inside the region's `loops` from `place` on.

        `place` is a size that was bound, or the variable that the innermost loop goes on by.
        """
        result: list[tuple[isl.Set, Require]] = []
        seen: set[tuple[Scope, Expr]] = set()
        context = known.context
        for demand in self.demands:
            if self._place(demand) != place or (demand.scope, demand.condition) in seen:
                continue
            seen.add((demand.scope, demand.condition))
            _require_affine(demand)
            allowed = self._allowed(demand, len(loops), known)
            if context.is_subset(allowed):
                continue
            wanted = allowed.gist(context).coalesce()
            condition = condition_expr(wanted, frozenset(known.params))
            result.append((allowed, Require(condition, self._fault(demand))))
            context = context.intersect(allowed).coalesce()
        return result

    def _place(self, demand: Demand) -> str:
        names = _names(demand)
        going = [loop.going.array for loop in demand.scope.loops if loop.going is not None]
        for mark in reversed(self.marks):
            if isinstance(mark.what, Binding) and mark.what.param in names:
                inside = {loop.going.array for loop in mark.scope.loops if loop.going is not None}
                if not going or going[-1] in inside:
                    return self.rename.params[mark.what.param]
                break
        return going[-1]

    def _allowed(self, demand: Demand, depth: int, known: Known) -> isl.Set:
        """Return the values of what is known at which no instance violates the demand."""
        scope = inner_scope(renamed_scope(self.rename, demand.scope), depth, known)
        condition = known.outside(self.rename.expr(demand.condition))
        bad = domain_of(scope.under(negated(condition)), known.params, "D").params()
        return bad.complement()

    def _fault(self, demand: Demand) -> int:
        fault = Fault(demand.code, demand.message, demand.loc, demand.hint)
        if fault not in self.faults:
            self.faults.append(fault)
        return self.faults.index(fault)


def without_repeated_checks(
    drafts: Sequence[Draft], marks: Iterable[Mark], faults: Collection[str]
) -> list[Draft]:
    """Return the drafts with each check of the arrays `faults` made where its values are new."""
    if not faults:
        return list(drafts)
    dynamic = [mark.scope.loops for mark in marks]
    found: list[Draft] = []
    for number, draft in enumerate(drafts):
        if draft.target.array not in faults or any(loop.going for loop in draft.scope.loops):
            found.append(draft)
        elif not any(
            _repeats(draft, number, early, drafts, dynamic)
            for early in range(number)
            if drafts[early].target.array in faults
        ):
            first = _in_first_iterations(draft, drafts, dynamic)
            moved = _in_first_iterations(_of_sources(draft, number, drafts), drafts, dynamic)
            fewer = len(moved.scope.conditions) > len(first.scope.conditions)
            found.append(moved if fewer else first)  # beside its access a check costs little
    return found


def _of_sources(draft: Draft, number: int, drafts: Sequence[Draft]) -> Draft:
    """Return a check of the elements that its variables stand for: `x[j]`, after `k = x[j]`.

    A variable that one statement sets, in each iteration before the check, from elements that are
    never written, has the value of that element.
    """
    written = {other.target.array for other in drafts}

    def source(part: Expr) -> Expr | None:
        if not isinstance(part, Load) or part.index:
            return None
        setters = [n for n, other in enumerate(drafts) if other.target.array == part.array]
        if len(setters) != 1 or setters[0] > number:
            return None
        setter = drafts[setters[0]]
        always = (
            setter.reduction is None
            and setter.scope.guard == TRUE
            and _is_inside(draft.scope.loops, setter.scope.loops)
            and set(setter.scope.conditions) <= set(draft.scope.conditions)
        )
        return setter.value if always and written.isdisjoint(reads(setter.value)) else None

    guard = rewrite(draft.scope.guard, source)
    return replace(draft, scope=replace(draft.scope, guard=guard))


def _repeats(
    draft: Draft,
    number: int,
    early: int,
    drafts: Sequence[Draft],
    dynamic: Sequence[tuple[Loop, ...]],
) -> bool:
    """Tell whether a draft makes the check that `drafts[early]` has made in the same iteration."""
    known = drafts[early].scope
    if (known.loops, known.conditions, known.guard) != (
        draft.scope.loops,
        draft.scope.conditions,
        draft.scope.guard,
    ):
        return False
    if any(_is_inside(loops, known.loops) for loops in dynamic):
        return False
    read = reads(known.guard)
    return all(between.target.array not in read for between in drafts[early + 1 : number])


def _in_first_iterations(
    draft: Draft, drafts: Sequence[Draft], dynamic: Sequence[tuple[Loop, ...]]
) -> Draft:
    """Return a check that runs in the first iteration of each loop that does not change it."""
    scope = draft.scope
    for depth, loop in enumerate(scope.loops):
        around = scope.loops[: depth + 1]
        if (
            any(loop.iter in iterators(expr) for expr in _depends_on(draft, loop))
            or any(_is_inside(loops, around) for loops in dynamic)
            or _is_changed(draft, around, drafts)
        ):
            continue
        scope = scope.under(Compare(CompareOp.EQ, Iter(loop.iter), loop.lower))
    return draft if scope is draft.scope else replace(draft, scope=scope)


def _depends_on(draft: Draft, loop: Loop) -> list[Expr]:
    """Return what a check computes and what decides whether it runs, but for the loop itself."""
    others = (other for other in draft.scope.loops if other is not loop)
    bounds = (bound for other in others for bound in (other.lower, other.upper))
    return [draft.scope.guard, *draft.target.index, *draft.scope.conditions, *bounds]


def _is_changed(draft: Draft, around: tuple[Loop, ...], drafts: Sequence[Draft]) -> bool:
    """Tell whether a statement inside the loops writes what a check reads."""
    read = reads(draft.scope.guard)
    return any(
        other.target.array in read and _is_inside(other.scope.loops, around) for other in drafts
    )


def _is_inside(loops: tuple[Loop, ...], around: tuple[Loop, ...]) -> bool:
    return loops[: len(around)] == around
