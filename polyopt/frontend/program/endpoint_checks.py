"""Check subscripts that grow or shrink evenly with a loop once, at the loop's two ends.

In: checks of subscripts that are not affine, found in a loop's body.  Out: the same faults, noted
behind the loop; all values of a sum lie between the smallest and the largest, as in the elimination
of checks in loops (Gupta, "Optimizing array bound checks using flow analysis", 1993).
Leaves: what the loop changes, what a condition on its iterator leaves out, loops with exits.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from polyopt.dataclass import dataclass, replace
from polyopt.frontend.integers.affine_integers import (
    ZERO,
    at_least,
    either,
    floordiv,
    less,
    minus,
    plus,
    times,
)
from polyopt.frontend.integers.ranges import WORD, range_of
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.drafts import Binding, Draft, dynamic_params
from polyopt.frontend.program.statement_domains import Loop, Scope
from polyopt.ir.expr import Const, Expr, Iter, integer, substitute
from polyopt.ir.linear import linear, normalize
from polyopt.ir.names import iterators, reads

STEEPEST = 1 << 12
"""A subscript changes by no more in one iteration, so that it cannot wrap around on the way."""


@dataclass(frozen=True, slots=True)
class SubscriptCheck:
    """`draft` notes that a subscript, at least `low` and at most `high`, is outside.

    It lies inside from `first` on, before `end`; `scope` is where it is evaluated.
    """

    draft: Draft
    scope: Scope
    low: Expr
    high: Expr
    first: Expr
    end: Expr


def note_subscript(
    b: Builder, outside: Expr, number: int, index: Expr, first: Expr, end: Expr
) -> None:
    """Note fault `number` where `outside` holds, which is where `index` is not in the range."""
    before, scope = len(b.drafts), b.scope
    b.fail_where(outside, number)
    if len(b.drafts) == before + 1:
        b.subscripts[before] = SubscriptCheck(b.drafts[before], scope, index, index, first, end)


def check_at_ends(b: Builder, loop: Loop, drafts: int, marks: int) -> None:
    """Put checks of the finished `loop` behind it; `drafts`, `marks`: how many were before it."""
    checks = {
        n: check
        for n in range(drafts, len(b.drafts))
        if (check := b.subscripts.get(n)) is not None
        and check.draft is b.drafts[n]
        and check.scope.loops == (*b.scope.loops, loop)
    }
    if not checks or loop.going is not None:
        return
    own = (b.drafts[n] for n in range(drafts, len(b.drafts)) if n not in checks)
    changed = {draft.target.array for draft in own}
    found = (mark.what for mark in b.marks[marks:])
    changed |= {what.param for what in found if isinstance(what, Binding)}
    for n, check in checks.items():
        moved = _behind(b, loop, check, changed)
        if moved is not None:
            b.subscripts[n], b.drafts[n] = moved, moved.draft


def _behind(
    b: Builder, loop: Loop, check: SubscriptCheck, changed: set[str]
) -> SubscriptCheck | None:
    """Return the check behind `loop`, None where it has to stay."""
    scope = check.scope
    whole = (*scope.conditions, scope.guard, check.first, check.end)
    used = (*whole, check.low, check.high)
    if (reads(*used) | dynamic_params(*used)) & changed or loop.iter in iterators(*whole):
        return None
    up = loop.step > 0
    distance = minus(loop.upper, loop.lower) if up else minus(loop.lower, loop.upper)
    steps = floordiv(plus(distance, -1), integer(abs(loop.step)))
    last = plus(loop.lower, times(steps, loop.step))
    lower, upper = (loop.lower, last) if up else (last, loop.lower)
    low = _with(check.low, loop.iter, lower, upper)
    high = _with(check.high, loop.iter, upper, lower)
    if low is None or high is None:
        return None
    outside = either(less(low, check.first), at_least(high, check.end))
    if low != high and range_of(low, b.span_of) == WORD:
        wrapped = either(at_least(low, check.end), less(high, check.first))  # around in between
        outside = either(outside, wrapped)
    (number,) = check.draft.target.index
    assert isinstance(number, Const)
    inside = replace(b.scope, conditions=scope.conditions, guard=scope.guard, operand=scope.operand)
    with _said_by(b, check.draft, inside.under(at_least(steps, ZERO))):
        place = b.scope
        b.fail_where(outside, int(number.value.real))
    return replace(check, draft=b.drafts.pop(), scope=place, low=low, high=high)


@contextmanager
def _said_by(b: Builder, draft: Draft, scope: Scope) -> Iterator[None]:
    """What is emitted inside stands in `scope` and says that it is of the text of `draft`."""
    before = b.scope, b.loc, b.text
    b.scope, b.loc, b.text = scope, draft.loc, draft.text
    try:
        yield
    finally:
        b.scope, b.loc, b.text = before


def _with(value: Expr, name: str, small: Expr, large: Expr) -> Expr | None:
    """Return the smallest value for an iterator from `small` to `large`, None if it is unknown."""
    terms = dict(linear(value).terms)
    slope = terms.pop(Iter(name), 0)
    if abs(slope) > STEEPEST or name in iterators(*terms):
        return None
    if slope == 0:
        return value
    return normalize(substitute(value, {name: small if slope > 0 else large}))
