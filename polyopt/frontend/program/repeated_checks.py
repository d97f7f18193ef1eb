"""Checks of subscripts at run time that repeat others: each is made once.

In: the drafts of a program.  Out: the drafts, without checks that an earlier one has made for the
same values, and with those that a loop does not change made in its first iteration alone.
A check only notes a fault, so that making it again tells nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from polyopt.dataclass import replace
from polyopt.frontend.integers.affine_integers import TRUE
from polyopt.frontend.program.drafts import Draft, arrays_of
from polyopt.frontend.program.marks import Mark
from polyopt.frontend.program.statement_domains import Loop
from polyopt.frontend.values.values import iterators
from polyopt.ir.expr import Compare, CompareOp, Expr, Iter, Load, rewrite


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
            found.append(_in_first_iterations(_of_sources(draft, number, drafts), drafts, dynamic))
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
        return setter.value if always and written.isdisjoint(arrays_of(setter.value)) else None

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
    read = arrays_of(known.guard)
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
    read = arrays_of(draft.scope.guard)
    return any(
        other.target.array in read and _is_inside(other.scope.loops, around) for other in drafts
    )


def _is_inside(loops: tuple[Loop, ...], around: tuple[Loop, ...]) -> bool:
    return loops[: len(around)] == around
