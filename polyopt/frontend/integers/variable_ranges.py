"""Ranges of variables that loops and branches set again, learned from one reading for the next.

In: the builder after a reading.  Out: facts, and limits on how often loops run.
Every reading starts from ranges that are right (any 64-bit integer at first), so each result is.
Limits of the sizes at a call, so that no integer leaves its type.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from polyopt.dataclass import dataclass, replace
from polyopt.frontend.integers.affine_integers import ONE, TRUE, ZERO, both
from polyopt.frontend.integers.exact_integers import has_iterator
from polyopt.frontend.integers.ranges import INDEX, LEAST, WORD, Span, range_of
from polyopt.frontend.program.assembly import Alive, isl_params
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.drafts import Draft, Invocation, Limit, dynamic_params
from polyopt.frontend.program.facts import Occurrence
from polyopt.frontend.program.renaming import Renaming
from polyopt.frontend.program.statement_domains import Loop, Scope
from polyopt.ir.expr import (
    Binary,
    BinaryOp,
    Compare,
    CompareOp,
    Const,
    Expr,
    Iter,
    Load,
    Param,
    Select,
    Unary,
    UnaryOp,
    integer,
)
from polyopt.ir.names import params_of, reads
from polyopt.ir.source import Check
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
    times = Counter(draft.target.array for draft in b.drafts)
    once = {d.target.array: d.value for d in b.drafts if times[d.target.array] == 1}
    before, ranges = b.facts.ranges, dict[Occurrence, Span]()
    b.facts.ranges = dict(before)
    for name in dict.fromkeys(draft.target.array for draft in b.drafts):
        if name in found:  # in the order in which they are first set, as one is made of another
            place, span = b.variables[name], _range(b, name, found[name], once)
            if span != WORD:
                ranges[place] = b.facts.ranges[place] = span
    b.facts.ranges = before
    used = isl_params(b, Alive(tuple(b.drafts), tuple(b.marks)))
    b.facts.set_ranges(ranges, used & arguments)


def _range(b: Builder, name: str, drafts: Sequence[Draft], once: Mapping[str, Expr]) -> Span:
    """Return what values a variable may have: those that it is set to, and all that is added.

    `once` are the values of variables that one statement sets.
    """
    base: Span | None = None
    low = high = 0
    resets = _resets(b, name, drafts, once)
    for draft in drafts:
        change = _change_of(b, name, draft, once)
        base = _hull(base, change.base)
        if change.step is not None:
            turns = _turns(b, draft, _since(draft, resets))
            low += turns * min(change.step.low, 0)
            high += turns * max(change.step.high, 0)
    if base is None:
        return WORD
    whole = Span(base.low + low, base.high + high)
    return whole if whole.within(WORD) else WORD


def _change_of(b: Builder, name: str, draft: Draft, once: Mapping[str, Expr]) -> _Change:
    value = draft.value
    if isinstance(value, Load) and name in reads(once.get(value.array, ZERO)):
        value = once[value.array]  # what it is set to was computed from it in a variable of its own
    scope = b.scope
    b.scope = draft.scope
    try:
        return _change(b, name, value)
    finally:
        b.scope = scope


def _change(b: Builder, name: str, value: Expr) -> _Change:
    match value:
        case Load(array=array) if array == name:
            return _Change(Span(0, 0), None)
        case Binary(op=BinaryOp.ADD) if value.dtype is DType.INT64:
            for mine, other in ((value.left, value.right), (value.right, value.left)):
                if mine == Load(name, (), DType.INT64) and name not in reads(other):
                    return _Change(range_of(other, b.span_of), None)
        case Binary(op=BinaryOp.SUB, left=Load(array=array), right=other) if array == name:
            if name not in reads(other):
                turned = Unary(UnaryOp.NEG, other, DType.INT64)
                return _Change(range_of(turned, b.span_of), None)
        case Binary(op=BinaryOp.MIN | BinaryOp.MAX):
            return _change(b, name, value.left).joined(_change(b, name, value.right))
        case Select():
            return _change(b, name, value.then).joined(_change(b, name, value.otherwise))
        case _:
            pass
    return _Change(None, range_of(value, b.span_of))


def _resets(
    b: Builder, name: str, drafts: Sequence[Draft], once: Mapping[str, Expr]
) -> list[tuple[Loop, ...]]:
    """Return the loops of which every iteration sets the variable anew."""
    return [
        draft.scope.loops
        for draft in drafts
        if draft.scope.guard == TRUE
        and not draft.scope.conditions
        and _change_of(b, name, draft, once).step is None
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
        loops = _since(draft, _resets(b, name, same, {}))
        if len(loops) < 2 or draft.scope.guard != TRUE or loops in seen:
            continue
        if any(loop.going is not None for loop in loops):
            continue
        if any(dynamic_params(loop.lower, loop.upper) for loop in loops):
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


CODE = "PO0210"


def limits_of(b: Builder, rename: Renaming, sized: frozenset[str]) -> tuple[Check, ...]:
    """Return what a call must check; `sized`: integer arguments that are sizes or bounds."""
    b.facts.sized |= sized
    result: dict[Expr, Check] = {}
    for limit in b.limits:
        condition = _condition(b, limit, {*rename.params, *rename.symbols})
        if condition is None:
            continue
        condition = rename.expr(condition)
        message = f"`{limit.words}` does not fit 64 bits"
        if limit.most != WORD.high:
            message = f"{limit.words} may exceed {limit.most}"
        hint = "pass smaller integers or arrays"
        result.setdefault(condition, Check(condition, CODE, message, limit.loc, hint))
    return tuple(result.values())


def _condition(b: Builder, limit: Limit, known: Collection[str]) -> Expr | None:
    """Return what must hold, None where it always does, or nothing that is left needs it."""
    scope, b.scope = b.scope, Scope(limit.loops)
    try:
        found = range_of(limit.value, b.span_of)
    finally:
        b.scope = scope
    if found != WORD and found.high <= limit.most:
        return None
    condition = fitting(b.facts.expanded(limit.value), limit.loops, limit.most)
    condition = b.facts.expanded(condition)
    return condition if params_of((condition,)) <= set(known) and condition != TRUE else None


def bounds_at_call(expr: Expr, loops: tuple[Loop, ...]) -> tuple[Expr, Expr, tuple[Expr, ...]]:
    """Return the least and the largest value over `loops`, and the partial results in between.

    All are arithmetic on parameters; where the partial results fit 64 bits, 128 hold the others.
    """
    match expr:
        case Iter(name=name):
            return _iterator(name, loops)
        case Unary(op=UnaryOp.NEG):
            low, high, steps = bounds_at_call(expr.operand, loops)
            return _negated(high), _negated(low), steps
        case Unary(op=UnaryOp.ABS):
            low, high, steps = bounds_at_call(expr.operand, loops)
            if low == high:
                size = Unary(UnaryOp.ABS, low, DType.INT64)
                return size, size, steps
            return integer(0), _op(BinaryOp.MAX, _negated(low), high), steps
        case Binary():
            return _operation(expr, loops)
        case Select(then=then, otherwise=otherwise) if has_iterator(expr):
            low, high, steps = bounds_at_call(then, loops)
            least, most, others = bounds_at_call(otherwise, loops)
            low, high = _op(BinaryOp.MIN, low, least), _op(BinaryOp.MAX, high, most)
            return low, high, (*steps, *others)
        case _ if has_iterator(expr):
            span = range_of(expr, lambda _: INDEX)
            return integer(span.low), integer(span.high), ()
        case _:
            return expr, expr, ()


def _negated(expr: Expr) -> Expr:
    return Unary(UnaryOp.NEG, expr, DType.INT64)


def _iterator(name: str, loops: tuple[Loop, ...]) -> tuple[Expr, Expr, tuple[Expr, ...]]:
    place = next((n for n, loop in enumerate(loops) if loop.iter == name), None)
    if place is None:  # of an array that is made: within its extent
        return integer(INDEX.low), integer(INDEX.high), ()
    loop = loops[place]
    first = bounds_at_call(loop.lower, loops[:place])
    end = bounds_at_call(loop.upper, loops[:place])
    steps = (*first[2], *end[2])
    if loop.step > 0:
        last = _op(BinaryOp.SUB, end[1], integer(1))
        return first[0], _op(BinaryOp.MAX, first[0], last), steps
    last = _op(BinaryOp.ADD, end[0], integer(1))
    return _op(BinaryOp.MIN, first[1], last), first[1], steps


def _op(op: BinaryOp, left: Expr, right: Expr) -> Binary:
    return Binary(op, left, right, DType.INT64)


def _operation(expr: Binary, loops: tuple[Loop, ...]) -> tuple[Expr, Expr, tuple[Expr, ...]]:
    left, right = bounds_at_call(expr.left, loops), bounds_at_call(expr.right, loops)
    inner = (*left[2], *right[2])
    op = expr.op
    low: Expr
    high: Expr
    if left[0] == left[1] and right[0] == right[1]:
        whole = _op(op, left[0], right[0])
        return whole, whole, (*inner, whole)
    match op:
        case BinaryOp.ADD | BinaryOp.MIN | BinaryOp.MAX:
            low, high = _op(op, left[0], right[0]), _op(op, left[1], right[1])
        case BinaryOp.SUB:
            low, high = _op(op, left[0], right[1]), _op(op, left[1], right[0])
        case BinaryOp.MOD:
            sizes = _op(BinaryOp.MAX, _negated(right[0]), right[1])
            low, high = _negated(sizes), sizes
        case BinaryOp.FLOORDIV:
            sizes = _op(BinaryOp.MAX, _negated(left[0]), left[1])
            low, high = _negated(sizes), sizes
        case _:
            corners: list[Expr] = [_op(op, a, c) for a in left[:2] for c in right[:2]]
            corners = list(dict.fromkeys(corners))
            low, high = corners[0], corners[0]
            for corner in corners[1:]:
                low, high = _op(BinaryOp.MIN, low, corner), _op(BinaryOp.MAX, high, corner)
    return low, high, (*inner, low, high)


def fitting(expr: Expr, loops: tuple[Loop, ...], most: int) -> Expr:
    """Return the condition, on parameters, that `expr` fits 64 bits in all iterations of `loops`.

    `most`: and is not larger.
    """
    low, high, steps = bounds_at_call(expr, loops)
    total: Expr = TRUE
    for value in dict.fromkeys((*steps, low, high)):
        if isinstance(value, Const | Param):
            continue
        total = both(total, Compare(CompareOp.GE, value, integer(LEAST)))
        largest = most if value is high else WORD.high
        total = both(total, Compare(CompareOp.LE, value, integer(largest)))
    return total
