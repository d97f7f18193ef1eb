"""`if` statements: folded, turned into conditions of the domain, or into guards.

In: the statement's tree.  Out: statements under conditions; names merged where branches meet.
Affine conditions restrict the domain; others guard the writes and are computed once beforehand
where a branch changes what they read.
`assert` and `raise` are checks of the call, or faults of the kernel.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set
from contextlib import contextmanager

from polyopt.dataclass import dataclass
from polyopt.errors import Loc
from polyopt.frontend.arithmetic.operators import describe
from polyopt.frontend.integers.affine_integers import (
    FALSE,
    TRUE,
    ZERO,
    both,
    is_affine,
    negated,
    select,
)
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.decisions import decided
from polyopt.frontend.program.memory import is_stable, stored_number
from polyopt.frontend.program.statement_domains import ENDLESS
from polyopt.frontend.reader.conditions import truth
from polyopt.frontend.reader.expressions import evaluate
from polyopt.frontend.syntax.liveness import assigned, binds
from polyopt.frontend.syntax.structure import is_result, own
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.promote import as_number, cast, is_same, joined
from polyopt.frontend.values.values import (
    Gone,
    Known,
    Number,
    Perhaps,
    Tensor,
    Value,
    as_value,
    has_loads,
)
from polyopt.frontend.variables.alternatives import choose
from polyopt.frontend.variables.call_frames import Frame
from polyopt.frontend.variables.detaching import unpin
from polyopt.frontend.variables.memory_variables import meet, pin_names
from polyopt.frontend.variables.name_rotation import settle_watches
from polyopt.frontend.variables.unbound import unset
from polyopt.ir.expr import Expr, Select
from polyopt.ir.extremum import chosen
from polyopt.ir.names import iterators, reads


@dataclass(frozen=True, slots=True)
class Split:
    """A condition as an affine part, for the domain, and the rest, for the guard."""

    affine: tuple[Expr, ...]
    guard: Expr


def read_if(b: Builder, frame: Frame, node: ast.If, rest: list[ast.stmt]) -> Value | None:
    """Read a branch; return the value of a `return` that ends the function there."""
    split, known = _condition(b, frame, node.test)
    if known is not None:
        return frame.reader.block(b, frame, node.body if known else node.orelse)
    assert not _returns(node.body), "early returns were rewritten"
    place = frame.place(node, "?")
    if split.guard != TRUE and (
        place in b.facts.stored_conditions or (split.affine and node.orelse)
    ):
        split = _stored(b, split)
    start = len(b.drafts)
    watched = dict(frame.watched)
    pinned = _pinned_names(b, frame, node)
    before = dict(frame.env)
    with b.under(split.affine, split.guard):
        frame.reader.block(b, frame, node.body)
    then, frame.env = frame.env, dict(before)
    with _otherwise(b, split):
        frame.reader.block(b, frame, node.orelse)
    written = {draft.target.array for draft in b.drafts[start:]}
    if not _is_choice(b, split, start) and reads(split.guard) & written:
        b.facts.add(b.facts.stored_conditions, place)
    whole = split.guard if not split.affine else _all(split)
    _merge(b, frame, node, whole, then, before)
    unpin(b, frame, pinned, frame.loc(node))
    own = {name: watch for name, watch in frame.watched.items() if name not in watched}
    settle_watches(b, frame, own, None, {})
    frame.watched = watched
    return None


def _is_choice(b: Builder, split: Split, start: int) -> bool:
    """Tell whether all that was read since draft `start` is one `if x > m: m = x`."""
    if len(b.drafts) != start + 1 or split.affine:
        return False
    draft = b.drafts[start]
    choice = Select(split.guard, draft.value, draft.target, draft.value.dtype)
    is_alone = draft.scope.iters == b.scope.iters and draft.scope.guard == split.guard
    return is_alone and chosen(choice, draft.target) is not None


def _condition(b: Builder, frame: Frame, test: ast.expr) -> tuple[Split, bool | None]:
    """Return the condition split, or its value when it is known."""
    nodes = [test]
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) and not binds(test):
        nodes = test.values
    affine: list[Expr] = []
    guard: Expr = TRUE
    for part in nodes:
        with b.operand(guard), b.under(affine):
            value = truth(b, evaluate(b, frame, part), frame.loc(part))
        if isinstance(value, Known):
            if not value.value:
                return Split((), TRUE), False
            continue
        truth_value = decided(b, value.expr)
        if truth_value is False:
            return Split((), TRUE), False
        if truth_value:
            continue
        if is_affine(value.expr):
            affine.append(value.expr)
        else:
            guard = both(guard, value.expr)
    if not affine and guard == TRUE:
        return Split((), TRUE), True
    return Split(tuple(affine), guard), None


def _returns(body: list[ast.stmt]) -> bool:
    return any(isinstance(node, ast.Return) for node in own(body))


def _all(split: Split) -> Expr:
    result = split.guard
    for condition in reversed(split.affine):
        result = both(condition, result)
    return result


def _stored(b: Builder, split: Split) -> Split:
    """Compute the guard once, into a variable that is false where the affine part fails."""
    if split.affine:
        whole: Expr = split.guard
        for condition in reversed(split.affine):
            whole = select(condition, whole, negated(TRUE))
        held = stored_number(b, Number(whole, True), "cond")
        return Split((), held.expr)
    held = stored_number(b, Number(split.guard, True), "cond")
    return Split((), held.expr)


@contextmanager
def _otherwise(b: Builder, split: Split) -> Iterator[None]:
    """The opposite condition."""
    if split.guard == TRUE:
        affine = _all(split)
        with b.under((negated(affine),)):
            yield
        return
    with b.under((), negated(split.guard)):
        yield


# -- names where branches meet ----------------------------------------------------------------


def _pinned_names(b: Builder, frame: Frame, node: ast.If) -> list[str]:
    """Names that earlier readings found to need memory where the branches meet."""
    names = assigned([*node.body, *node.orelse]) & frame.live.after[node]
    wanted = [n for n in names if frame.place(node, n) in b.facts.merged]
    return pin_names(b, frame, wanted, node, unset=True)


def _merge(
    b: Builder,
    frame: Frame,
    node: ast.If,
    condition: Expr,
    then: dict[str, Value],
    before: dict[str, Value],
) -> None:
    """Bind the names assigned in a branch and used later."""
    otherwise = frame.env
    for name in sorted(assigned([*node.body, *node.orelse])):
        left, right = then.get(name), otherwise.get(name)
        if name in frame.pins:
            if left != right:
                meet(b, frame, [name])
            continue
        if left is right and left is not None:
            continue
        if name not in frame.live.after[node]:
            frame.env.pop(name, None)
            continue
        found = _of_the_other(b, name, node, left, right)
        if found is None:
            found = _merged(b, frame, node, name, condition, left, right, before.get(name))
        frame.env[name] = found


def _of_the_other(
    b: Builder, name: str, node: ast.If, left: Value | None, right: Value | None
) -> Value | None:
    """Return what `name` stands for where the other branch raises an error.

    A number must not be read where it was not computed: it may be a bound.
    """
    if always_raises(node.body, b.raising):
        found = right
    elif always_raises(node.orelse, b.raising):
        found = left
    else:
        return None
    if isinstance(found, Number) and has_loads(found.expr) and not is_result(name):
        return None
    return None if isinstance(found, Gone | Perhaps) else found


def _merged(
    b: Builder,
    frame: Frame,
    node: ast.If,
    name: str,
    condition: Expr,
    left: Value | None,
    right: Value | None,
    before: Value | None,
) -> Value:
    if left is None or right is None or isinstance(left, Gone | Perhaps) or _is_absent(right):
        return unset(name, None if frame.calls else frame.place(node, name), left, right)
    loc = frame.loc(node)
    if isinstance(left, Known) and isinstance(right, Known) and is_same(left.value, right.value):
        return left
    one, other = (
        as_number(as_value(v) if isinstance(v, Tensor) else v, loc) for v in (left, right)
    )
    if one is None or other is None:
        return _merged_arrays(b, frame, node, name, left, right, before)
    if is_stable(one) and is_stable(other) and is_stable(Number(condition, True)):
        return choose(b, condition, one, other, loc)
    dtype, weak = joined((one.dtype, one.weak), (other.dtype, other.weak), loc)
    place = frame.place(node, name)
    b.facts.set_width(place, dtype, weak, loc)
    b.facts.add(b.facts.merged, place)
    return Number(cast(ZERO, dtype), weak)  # the next reading has the variable


def _is_absent(value: Value) -> bool:
    return isinstance(value, Gone | Perhaps)


def _merged_arrays(
    b: Builder,
    frame: Frame,
    node: ast.If,
    name: str,
    left: Value,
    right: Value,
    before: Value | None,
) -> Value:
    """Both branches bind an array: the next reading gives the name memory of its own."""
    hint = "write into one array with `name[:] = ...` in both branches"
    gone = Gone("PO0160", f"`{name}` stands for different things after the branches", hint)
    if name.startswith("("):  # what the function returns, not a name of the source
        kinds = [_kind(value) for value in (left, right)]
        same = "return the same kind of value on every path"
        reason = f"the function returns {' and '.join(kinds)}, depending on a condition"
        gone = Gone("PO0164", reason, same)
        if "None" in kinds:
            reason = f"the function returns {max(kinds, key=len)} or ends without a result"
            gone = Gone("PO0122", reason, "return a value on every path")
    if not isinstance(left, Tensor) or not isinstance(right, Tensor) or left.rank != right.rank:
        return gone
    if any(iterators(extent) for extent in left.shape):
        return gone
    if left.dtype is not right.dtype:
        hint = f"convert one with `.astype({left.dtype.spelled})`"
        return Gone(gone.code, f"{gone.reason}: arrays of {left.dtype} and {right.dtype}", hint)
    place = frame.place(node, name)
    b.facts.set_width(place, left.dtype, False, frame.loc(node))
    b.facts.set_shape(place, left.shape)
    b.facts.add(b.facts.merged, place)
    # the next reading has the array; until then a loop around sees that the name is bound again
    return right if left is before else left


def _kind(value: Value) -> str:
    if isinstance(value, Tensor):
        return f"an array of rank {value.rank} of {value.dtype}"
    return "a number" if isinstance(value, Number) else describe(value)


HINT = "pass values for which the assertion holds"


def read_assert(b: Builder, frame: Frame, node: ast.Assert) -> None:
    """Read an assertion; one that is known to fail is refused."""
    loc = frame.loc(node)
    condition = truth(b, evaluate(b, frame, node.test), frame.loc(node.test))
    message = f"`assert {ast.unparse(node.test)}` does not hold"
    if isinstance(node.msg, ast.Constant) and isinstance(node.msg.value, str):
        message = f"{message}: {node.msg.value}"
    if isinstance(condition, Known):
        if not condition.value:
            refuse("PO0177", message, loc, HINT)
        return
    if is_affine(condition.expr):
        b.demand(condition.expr, "PO0177", message, loc, HINT)
        return
    number = b.fault("PO0177", message, loc, HINT)
    b.fail_where(negated(condition.expr), number)


def read_raise(b: Builder, frame: Frame, node: ast.Raise) -> None:
    """Read a `raise`: nothing may lead there."""
    message = f"`{ast.unparse(node)}` is reached"
    unreached(b, "PO0177", message, frame.loc(node), "pass values for which it is not")


def unreached(b: Builder, code: str, message: str, loc: Loc | None, hint: str | None) -> None:
    """Note that nothing may lead here: a check of the call, or a fault where data decides."""
    if b.scope.guard == TRUE:
        b.demand(FALSE, code, message, loc, hint)
        return
    b.fail_where(TRUE, b.fault(code, message, loc, hint))


def may_be_skipped(b: Builder) -> bool:
    """Whether a branch leads past this place, and loops around it end whatever is left out.

    A guard is inside the innermost `while` loop, which a fault ends.
    """
    scope = b.scope
    is_bounded = all(loop.upper != ENDLESS for loop in scope.loops)
    return scope.guard != TRUE or (is_bounded and bool(scope.conditions))


def always_raises(body: list[ast.stmt], raising: Set[ast.stmt] = frozenset()) -> bool:
    """Whether a block that Python ends, ends by raising; `raising`: statements that do."""
    if not raising.isdisjoint(body):
        return True
    match body:
        case [*_, ast.Raise()]:
            return True
        case [*_, ast.If(body=then, orelse=otherwise)]:
            return always_raises(then, raising) and always_raises(otherwise, raising)
        case _:
            return False
