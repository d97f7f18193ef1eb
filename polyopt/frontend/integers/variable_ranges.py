"""Ranges of variables that loops and branches set again, learned from one reading for the next.

In: the builder after a reading.  Out: facts, and limits on how often loops run.
Every reading starts from ranges that are right (any 64-bit integer at first), so each result is.
"""

from __future__ import annotations

from collections.abc import Sequence

from polyopt.dataclass import dataclass, replace
from polyopt.frontend.integers.affine_integers import ONE, TRUE, ZERO
from polyopt.frontend.integers.exact_integers import is_known_at_call
from polyopt.frontend.integers.ranges import WORD, Span, range_of
from polyopt.frontend.program.assembly import Alive, isl_params
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.drafts import Draft, Invocation, dynamic_params
from polyopt.frontend.program.statement_domains import Loop
from polyopt.ir.expr import Binary, BinaryOp, Expr, Iter, Load, Select, Unary, UnaryOp, loads
from polyopt.ir.types import DType

MOST_TURNS = 2**50
"""How often a statement runs at most: a processor takes days for as many iterations.

Loops that a C compiler may sum up without running them are limited by a check of the call."""


@dataclass(frozen=True, slots=True)
class _Change:
    """What a statement makes of a variable: it adds one of `step`, or sets one of `base`."""

    step: Span | None
    base: Span | None

    def joined(self, other: _Change) -> _Change:
        return _Change(_hull(self.step, other.step), _hull(self.base, other.base))


def _hull(one: Span | None, other: Span | None) -> Span | None:
    if one is None or other is None:
        return other if one is None else one
    return one.joined(other)


def learn_ranges(b: Builder, arguments: frozenset[str]) -> None:
    """Note what the reading tells of variables, where a check could be saved; `arguments`: the
    integer ones."""
    if not b.unproven:
        return
    called = {a for m in b.marks if isinstance(m.what, Invocation) for a in m.what.outputs}
    found: dict[str, list[Draft]] = {name: [] for name in b.variables if name not in called}
    for draft in b.drafts:
        if draft.target.array in found:
            found[draft.target.array].append(draft)
    ranges = {b.variables[name]: _range(b, name, drafts) for name, drafts in found.items()}
    ranges = {place: span for place, span in ranges.items() if span != WORD}
    used = isl_params(b, Alive(tuple(b.drafts), tuple(b.marks)))
    b.facts.set_ranges(ranges, used & arguments)


def _range(b: Builder, name: str, drafts: Sequence[Draft]) -> Span:
    """Return what values a variable may have: those that it is set to, and all that is added."""
    base: Span | None = None
    low = high = 0
    resets = _resets(b, name, drafts)
    for draft in drafts:
        change = _change_of(b, name, draft)
        base = _hull(base, change.base)
        if change.step is not None:
            turns = _turns(b, draft, _since(draft, resets))
            low += turns * min(change.step.low, 0)
            high += turns * max(change.step.high, 0)
    if base is None:
        return WORD
    whole = Span(base.low + low, base.high + high)
    return whole if whole.within(WORD) else WORD


def _change_of(b: Builder, name: str, draft: Draft) -> _Change:
    scope = b.scope
    b.scope = draft.scope
    try:
        return _change(b, name, draft.value)
    finally:
        b.scope = scope


def _change(b: Builder, name: str, value: Expr) -> _Change:
    match value:
        case Load(array=array) if array == name:
            return _Change(Span(0, 0), None)
        case Binary(op=BinaryOp.ADD) if value.dtype is DType.INT64:
            for mine, other in ((value.left, value.right), (value.right, value.left)):
                if mine == Load(name, (), DType.INT64) and not _reads(other, name):
                    return _Change(range_of(other, b.span_of), None)
        case Binary(op=BinaryOp.SUB, left=Load(array=array), right=other) if array == name:
            if not _reads(other, name):
                turned = Unary(UnaryOp.NEG, other, DType.INT64)
                return _Change(range_of(turned, b.span_of), None)
        case Binary(op=BinaryOp.MIN | BinaryOp.MAX):
            return _change(b, name, value.left).joined(_change(b, name, value.right))
        case Select():
            return _change(b, name, value.then).joined(_change(b, name, value.otherwise))
        case _:
            pass
    return _Change(None, range_of(value, b.span_of))


def _reads(expr: Expr, name: str) -> bool:
    return any(load.array == name for load in loads(expr))


def _resets(b: Builder, name: str, drafts: Sequence[Draft]) -> list[tuple[Loop, ...]]:
    """Return the loops of which every iteration sets the variable anew."""
    return [
        draft.scope.loops
        for draft in drafts
        if draft.scope.guard == TRUE
        and not draft.scope.conditions
        and _change_of(b, name, draft).step is None
    ]


def _since(draft: Draft, resets: Sequence[tuple[Loop, ...]]) -> tuple[Loop, ...]:
    """Return the loops whose iterations a variable adds up: those inside its last reset."""
    loops = draft.scope.loops
    known = (len(reset) for reset in resets if loops[: len(reset)] == reset)
    return loops[max(known, default=0) :]


def _turns(b: Builder, draft: Draft, loops: tuple[Loop, ...]) -> int:
    """Return how often a statement runs at most in iterations of `loops`, its innermost.

    Under a condition on data every iteration takes its time; a C compiler may sum up others.
    """
    scope, b.scope = b.scope, draft.scope
    counted, waits = 1, False
    for loop in reversed(loops):
        if loop.going is not None:
            waits = True
            break
        span = b.span_of(Iter(loop.iter)) or WORD
        counted *= span.high - span.low + 1
    b.scope = scope
    if draft.scope.guard != TRUE:
        return MOST_TURNS if waits else min(counted, MOST_TURNS)
    if waits:
        return MOST_TURNS * counted
    dynamic = any(dynamic_params(loop.lower, loop.upper) for loop in loops)
    return counted if dynamic else min(counted, MOST_TURNS)


def limit_turns(b: Builder) -> None:
    """Limit how often loops run that only count, which takes no time where C sums it up."""
    seen: set[object] = set()
    for draft in b.drafts:
        if b.variables.get(draft.target.array) not in b.facts.ranges or draft.reduction is None:
            continue
        name = draft.target.array
        same = [other for other in b.drafts if other.target.array == name]
        loops = _since(draft, _resets(b, name, same))
        if len(loops) < 2 or draft.scope.guard != TRUE or loops in seen:
            continue
        if any(loop.going is not None for loop in loops):
            continue
        if not all(is_known_at_call(e) for loop in loops for e in (loop.lower, loop.upper)):
            continue
        seen.add(loops)
        total: Expr = ONE
        for loop in loops:
            first, last = (loop.lower, loop.upper) if loop.step > 0 else (loop.upper, loop.lower)
            count = Binary(BinaryOp.SUB, last, first, DType.INT64)
            count = Binary(BinaryOp.MAX, count, ZERO, DType.INT64)
            total = count if total == ONE else Binary(BinaryOp.MUL, total, count, DType.INT64)
        scope, b.scope = b.scope, draft.scope
        b.limit(total, draft.loc, MOST_TURNS)
        b.limits[-1] = replace(b.limits[-1], words="the number of iterations of these loops")
        b.scope = scope
