"""Check numbers that grow or shrink evenly with a loop once, at the loop's two ends.

In: checks of subscripts that are not affine, and of overflow, found in a loop's body.
Out: the same faults, noted behind the loop; all values of a sum lie between the smallest and the
largest, as in the elimination of checks in loops (Gupta, "Optimizing array bound checks using flow
analysis", 1993).
Leaves: what the loop changes, what a condition on its iterator leaves out, loops with exits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

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
from polyopt.ir.expr import Const, Expr, Iter, Load, integer, rewrite, substitute
from polyopt.ir.linear import STEEPEST, linear, normalize, slope_of
from polyopt.ir.names import iterators, reads


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

    @property
    def values(self) -> tuple[Expr, ...]:
        """What changes evenly, if anything does."""
        return (self.low, self.high)

    @property
    def others(self) -> tuple[Expr, ...]:
        """What must not change."""
        return (self.first, self.end)

    def at_ends(
        self, b: Builder, name: str, small: Expr, large: Expr
    ) -> tuple[Expr, SubscriptCheck]:
        """Return where the check fails for an iterator from `small` to `large`, and the check."""
        low, high = _with(self.low, name, small, large), _with(self.high, name, large, small)
        outside = either(self._is_before(low), at_least(high, self.end))
        if low != high and range_of(low, b.span_of) == WORD:
            wrapped = either(at_least(low, self.end), self._is_before(high))  # in between
            outside = either(outside, wrapped)
        return outside, replace(self, low=low, high=high)

    def _is_before(self, index: Expr) -> Expr:
        """Return whether a subscript is before the first element.

        In the form in which conditions are printed; a sum that wraps around is of one behind them.
        """
        return less(minus(index, self.first), ZERO)


@dataclass(frozen=True, slots=True)
class OverflowCheck:
    """`draft` notes that an operation on `operands` leaves 64 bits, which is where `outside` holds.

    Where it does not at both ends of a loop in which the operands change evenly, it never does.
    """

    draft: Draft
    scope: Scope
    outside: Expr
    operands: tuple[Expr, ...]

    @property
    def values(self) -> tuple[Expr, ...]:
        """What changes evenly, if anything does."""
        return self.operands

    @property
    def others(self) -> tuple[Expr, ...]:
        """What must not change."""
        return ()

    def at_ends(
        self, b: Builder, name: str, small: Expr, large: Expr
    ) -> tuple[Expr, OverflowCheck]:
        """Return where the check fails for an iterator from `small` to `large`, and the check."""
        del b
        ends = [substitute(self.outside, {name: end}) for end in (small, large)]
        operands = tuple(
            normalize(substitute(value, {name: end}))
            for end in (small, large)
            for value in self.operands
        )
        outside = either(*ends) if name in iterators(self.outside) else self.outside
        return outside, replace(self, outside=outside, operands=tuple(dict.fromkeys(operands)))


Check: TypeAlias = SubscriptCheck | OverflowCheck


def note_subscript(
    b: Builder, outside: Expr, number: int, index: Expr, first: Expr, end: Expr
) -> None:
    """Note fault `number` where `outside` holds, which is where `index` is not in the range."""
    before, scope = len(b.drafts), b.scope
    b.fail_where(outside, number)
    index = _defined(b, index)
    if len(b.drafts) == before + 1:
        b.even_checks[before] = SubscriptCheck(b.drafts[before], scope, index, index, first, end)


def note_overflow(b: Builder, outside: Expr, number: int, operands: Sequence[Expr]) -> None:
    """Note fault `number` where `outside` holds: a sum of the operands leaves 64 bits."""
    before, scope = len(b.drafts), b.scope
    b.fail_where(outside, number, guarded=True)
    if len(b.drafts) == before + 1:
        parts = tuple(_defined(b, operand) for operand in operands)
        outside = _defined(b, outside)
        b.even_checks[before] = OverflowCheck(b.drafts[before], scope, outside, parts)


def note_definition(b: Builder, variable: Expr, value: Expr) -> None:
    """Note what a variable that is set once stands for in the rest of the innermost loop's body."""
    if isinstance(variable, Load):
        b.definitions[variable.array] = (b.scope.loops, value)


def _defined(b: Builder, expr: Expr) -> Expr:
    """Return an expression with variables of this loop as what they stand for."""

    def rule(part: Expr) -> Expr | None:
        if not isinstance(part, Load) or part.index:
            return None
        loops, value = b.definitions.get(part.array, ((), part))
        return _defined(b, value) if value is not part and loops == b.scope.loops else None

    return rewrite(expr, rule)


def check_at_ends(b: Builder, loop: Loop, drafts: int, marks: int) -> None:
    """Put checks of the finished `loop` behind it; `drafts`, `marks`: how many were before it."""
    checks = {
        n: check
        for n in range(drafts, len(b.drafts))
        if (check := b.even_checks.get(n)) is not None
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
            b.even_checks[n], b.drafts[n] = moved, moved.draft


def _behind(b: Builder, loop: Loop, check: Check, changed: set[str]) -> Check | None:
    """Return the check behind `loop`, None where it has to stay."""
    scope = check.scope
    whole = (*scope.conditions, scope.guard, *check.others)
    used = (*whole, *check.values)
    if (reads(*used) | dynamic_params(*used)) & changed or loop.iter in iterators(*whole):
        return None
    if not all(_changes_evenly(value, loop.iter) for value in check.values):
        return None
    steps = floordiv(plus(loop.distance(loop.upper), -1), integer(abs(loop.step)))
    last = plus(loop.lower, times(steps, loop.step))
    lower, upper = (loop.lower, last) if loop.step > 0 else (last, loop.lower)
    outside, renewed = check.at_ends(b, loop.iter, lower, upper)
    (number,) = check.draft.target.index
    assert isinstance(number, Const)
    inside = replace(b.scope, conditions=scope.conditions, guard=scope.guard, operand=scope.operand)
    with _said_by(b, check.draft, inside.under(at_least(steps, ZERO))):
        place = b.scope
        b.fail_where(outside, int(number.value.real), guarded=True)
    return replace(renewed, draft=b.drafts.pop(), scope=place)


@contextmanager
def _said_by(b: Builder, draft: Draft, scope: Scope) -> Iterator[None]:
    """What is emitted inside stands in `scope` and says that it is of the text of `draft`."""
    before = b.scope, b.loc, b.text
    b.scope, b.loc, b.text = scope, draft.loc, draft.text
    try:
        yield
    finally:
        b.scope, b.loc, b.text = before


def _changes_evenly(value: Expr, name: str) -> bool:
    terms = dict(linear(value).terms)
    return abs(terms.pop(Iter(name), 0)) <= STEEPEST and name not in iterators(*terms)


def _with(value: Expr, name: str, small: Expr, large: Expr) -> Expr:
    """Return the smallest value for an iterator from `small` to `large`."""
    slope = slope_of(value, name)
    if slope == 0:
        return value
    return normalize(substitute(value, {name: small if slope > 0 else large}))
