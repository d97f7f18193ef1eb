"""`for` loops over ranges and arrays, `while` loops.

In: the loop's tree.  Out: the body's statements inside a loop of the builder.
A loop that is left early, and every `while`, goes on as long as a BOOL variable holds.
Refuses: loops over other things (PO0130), a `while` that nothing ends (PO0110).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from polyopt import frontend
from polyopt.dataclass import dataclass, replace
from polyopt.frontend.integers.affine_integers import FALSE, TRUE, ZERO, less, plus, select, times
from polyopt.frontend.numpy.call_arguments import Arguments
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.endpoint_checks import check_at_ends
from polyopt.frontend.program.facts import Occurrence
from polyopt.frontend.program.statement_domains import ENDLESS, Loop
from polyopt.frontend.reader.assignments import assign_to
from polyopt.frontend.reader.conditions import truth
from polyopt.frontend.reader.expressions import evaluate
from polyopt.frontend.reader.short_loops import is_decided, numbers, window
from polyopt.frontend.syntax.liveness import assigned
from polyopt.frontend.syntax.structure import flag_of, is_result
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.identifiers import ascii_identifier
from polyopt.frontend.values.promote import cast, number_of
from polyopt.frontend.values.values import (
    Gone,
    Iterated,
    Known,
    Number,
    Range,
    Sequence,
    Tensor,
    Value,
)
from polyopt.frontend.variables.binding import forget_iterator, forget_sizes, kept, mentions
from polyopt.frontend.variables.call_frames import Frame
from polyopt.frontend.variables.detaching import unpin
from polyopt.frontend.variables.induction import Counter, counters, enter, leave
from polyopt.frontend.variables.memory_variables import (
    meet,
    pin_names,
    pin_results,
    pinned_value,
    store_pinned,
)
from polyopt.frontend.variables.name_rotation import (
    Phase,
    Repeated,
    close_rotation,
    exchanged_at_end,
    grouped,
    rotation,
    settle_watches,
    trips,
    watch_again,
)
from polyopt.ir.expr import Expr, Iter, Load, integer
from polyopt.ir.types import DType


def read_for(b: Builder, frame: Frame, node: ast.For) -> None:
    """Read a `for` loop."""
    iterable = evaluate(b, frame, node.iter)
    if isinstance(iterable, Sequence) or _is_known_tuple(iterable):
        _unrolled(b, frame, node, kept(b, "item", iterable))
        return
    if isinstance(iterable, Range) and is_decided(node, iterable, _constants(frame)):
        _unrolled(b, frame, node, Known(numbers(iterable)))
        return
    later = frame.live.after[node]
    name = _iterator_name(b, node.target)
    if isinstance(iterable, Range):
        moved, begin = window(iterable) or (iterable, ZERO)
        loop = Loop(name, moved.start, moved.stop, moved.step, loc=frame.loc(node))
        source = Iterated(ZERO, lambda i: Number(plus(i, begin), True))
    else:
        args = Arguments("for", (), {}, frame.loc(node.iter))
        source = frontend.reader.comprehensions.iterated(b, iterable, args)
        loop = Loop(name, ZERO, source.count, loc=frame.loc(node))
    touched = assigned(node.body) - assigned([node.target])
    unbound = [n for n in touched if n in later and _is_unbound(frame, n) and not is_result(n)]
    if unbound:
        _require_trip(b, frame, node, loop, unbound)
    place = frame.place(node, "loop")
    rotating, period = rotation(b, frame, place)
    watched = dict(frame.watched)
    is_left = node.type_comment is not None
    counted = {} if is_left else counters(frame, node)
    carried = touched & (frame.live.body[node] | later) - set(rotating) - set(counted)
    pinned = [*pin_names(b, frame, carried, node), *pin_results(b, frame, touched, node)]
    watch_again(frame, carried, node)
    first = len(b.marks)
    last = _last_value(b, frame, node, loop, source)
    groups, phases = grouped(loop, period)
    with _turns(b, frame, node, groups, phases) as leaving:
        states = _read_phases(
            b, frame, node, groups, source.item, phases, counted, last, unbound, leaving, rotating
        )
    inside = b.marks[first:]
    meet(b, frame, touched)
    unpin(b, frame, pinned, frame.loc(node))
    own = {name: w for name, w in frame.watched.items() if watched.get(name) is not w}
    is_fixed = any(is_left or isinstance(frame.env.get(n), Tensor) for n in unbound)
    settle_watches(b, frame, own, None if is_fixed else place, watched)
    frame.watched = watched
    count = leaving.ended if leaving is not None else trips(b, loop) if rotating else ZERO
    close_rotation(b, frame, node, place, rotating, states, count)
    _forget(frame, node, name, is_kept=last is not None)
    forget_sizes(frame, inside)
    leave(b, frame, loop, counted)
    if last is not None:
        target = ast.unparse(node.target)
        pin = frame.pins.get(target)
        frame.env[target] = last if pin is None else pinned_value(b, pin)
        if pin is not None:
            store_pinned(b, frame, target, last, frame.loc(node))


def read_while(b: Builder, frame: Frame, node: ast.While) -> None:
    """Read a `while` loop: its test is computed before it and at the end of every iteration."""
    loc = frame.loc(node)
    later = frame.live.after[node]
    tested = assigned([node.test])  # bound before the loop, too
    touched = assigned(node.body) | tested
    unbound = [
        n for n in touched - tested if n in later and _is_unbound(frame, n) and not is_result(n)
    ]
    place = None if unbound else frame.place(node, "loop")
    if _surely_runs(node):
        unbound = []
    rotating, period = rotation(b, frame, place)
    watched = dict(frame.watched)
    carried = touched & (frame.live.body[node] | later) - set(rotating)
    perhaps = [n for n in unbound if frame.place(node, n) in b.facts.partial]
    pinned = pin_names(b, frame, perhaps, node, unset=True)
    pinned += [*pin_names(b, frame, carried - tested, node), *pin_results(b, frame, touched, node)]
    watch_again(frame, carried - tested, node)
    test = truth(b, evaluate(b, frame, node.test), frame.loc(node.test))
    if tested and (isinstance(test, Number) or test.value):
        first_test = test.expr if isinstance(test, Number) else TRUE
        test = Number(b.unconditional("holds", first_test, FALSE), True)
        pinned += pin_names(b, frame, carried & tested, node)
        watch_again(frame, carried & tested, node)
    if isinstance(test, Known) and test.value:
        refuse("PO0110", "a `while` loop that nothing ends", loc, "leave it with `break`")
    first = len(b.marks)
    states = [dict(frame.env)]
    ended: Expr = ZERO
    if not isinstance(test, Known):
        going = b.unconditional("going", test.expr, FALSE)
        if period > 1:
            ended = b.unconditional("phase", ZERO, ZERO)
        name = _iterator_name(b, ast.Name("turn"))
        with b.repeat(Loop(name, ZERO, ENDLESS, 1, going, loc)):
            states = [
                _read_turn(b, frame, node, going, ended, n, period, rotating) for n in range(period)
            ]
        forget_iterator(frame, name, "while")
    inside = b.marks[first:]
    meet(b, frame, touched)
    unpin(b, frame, pinned, loc)
    own = {name: w for name, w in frame.watched.items() if watched.get(name) is not w}
    settle_watches(b, frame, own, place, watched)
    frame.watched = watched
    close_rotation(b, frame, node, place, rotating, states, ended)
    for name in set(unbound) - set(perhaps):
        place = None if frame.calls else frame.place(node, name)
        reason = f"`{name}` has no value after a `while` loop that may not run"
        value = frontend.variables.unbound.unset(name, place, None, frame.env.get(name))
        if isinstance(value, Gone):
            value = replace(value, reason=reason, hint="assign it before the loop too")
        frame.env[name] = value
    forget_sizes(frame, inside)


def _read_turn(
    b: Builder,
    frame: Frame,
    node: ast.While,
    going: Load,
    ended: Expr,
    number: int,
    period: int,
    rotating: tuple[str, ...],
) -> dict[str, Value]:
    """Read iteration `number` of a group of `period`; return the names' values before it.

    It runs if the test held after the one before; `ended` is what the next one would be.
    """
    meet(b, frame, assigned([*node.body, node.test]))
    state = dict(frame.env)
    with b.under((), TRUE if number == 0 else going):
        goes_on = _read_body(b, frame, node, rotating)
        if isinstance(ended, Load):
            b.emit((), ended, _phase_after(goes_on, number, period))
        again = truth(b, evaluate(b, frame, node.test), frame.loc(node.test))
        b.emit((), going, again.expr if isinstance(again, Number) else FALSE)
    return state


def _read_body(b: Builder, frame: Frame, node: Repeated, rotating: tuple[str, ...]) -> Expr:
    """Read a loop's body; return whether its names are as before the next iteration.

    An exchange of arrays that a loop skips when it is left is read as if it were always carried
    out, as the next iteration is the first to use the names.
    """
    exchanges = exchanged_at_end(frame, node, rotating)
    frame.reader.block(b, frame, [part for part in node.body if part not in exchanges])
    if not exchanges:
        return TRUE
    flag = flag_of(node)
    assert flag is not None
    goes_on = _truth_value(evaluate(b, frame, ast.copy_location(ast.Name(flag, ast.Load()), node)))
    for exchange in exchanges:
        frame.reader.block(b, frame, exchange.body)
    return goes_on


def _phase_after(goes_on: Expr, number: int, period: int) -> Expr:
    """Return where in the group of `period` the names are after iteration `number`."""
    return select(goes_on, integer((number + 1) % period), integer(number))


def _is_unbound(frame: Frame, name: str) -> bool:
    """Whether a name has no value, or one that ended with an earlier loop."""
    value = frame.env.get(name)
    return value is None or isinstance(value, Gone)


def _surely_runs(node: ast.While) -> bool:
    """Whether the test is true at first: `while True`, a flag apart."""
    parts = node.test.values if isinstance(node.test, ast.BoolOp) else [node.test]
    return all(
        (isinstance(part, ast.Constant) and bool(part.value))
        or (isinstance(part, ast.Name) and part.id.startswith("("))
        for part in parts
    )


@dataclass(frozen=True, slots=True)
class _Leaving:
    """What tells whether a loop with a flag goes on, and how many iterations a group has had."""

    flag: ast.Name
    going: Load
    ended: Expr

    def note(self, b: Builder, frame: Frame, goes_on: Expr, number: int, period: int) -> None:
        """Note that iteration `number` of a group of `period` has ended, and whether it left."""
        if isinstance(self.ended, Load):
            b.emit((), self.ended, _phase_after(goes_on, number, period))
        b.emit((), self.going, _truth_value(evaluate(b, frame, self.flag)))


@contextmanager
def _turns(
    b: Builder, frame: Frame, node: ast.For, loop: Loop, phases: tuple[Phase, ...]
) -> Iterator[_Leaving | None]:
    """The iterations of `loop`; one with a flag is left when that is lowered."""
    if node.type_comment is None:
        drafts, marks = len(b.drafts), len(b.marks)
        with b.loop(loop):
            yield None
        check_at_ends(b, loop, drafts, marks)
        return
    flag = ast.copy_location(ast.Name(node.type_comment, ast.Load()), node)
    going = b.unconditional("going", _truth_value(evaluate(b, frame, flag)), FALSE)
    ended = b.unconditional("phase", ZERO, ZERO) if len(phases) > 1 else ZERO
    with b.repeat(replace(loop, going=going)):
        yield _Leaving(flag, going, ended)


def _truth_value(flag: Value) -> Expr:
    """Return a flag as an expression; the first readings may still know its value."""
    if isinstance(flag, Number):
        return flag.expr
    assert isinstance(flag, Known)
    return TRUE if flag.value else FALSE


def _last_value(
    b: Builder, frame: Frame, node: ast.For, loop: Loop, source: Iterated
) -> Number | None:
    """Return the loop variable as it is after the loop, where the program reads it there.

    A loop without a flag ends at its last iteration; with one, and where the body binds the
    variable again, it is kept in memory.
    """
    if not isinstance(node.target, ast.Name) or node.target.id not in frame.live.after[node]:
        return None
    if not isinstance(node.iter, ast.Call) or ast.unparse(node.iter.func) != "range":
        return None
    name = node.target.id
    before = frame.env.get(name)
    known = number_of(before.value, None) if isinstance(before, Known) else before
    has_value = isinstance(known, Number) and known.dtype is DType.INT64
    if not has_value:
        _require_trip(b, frame, node, loop, [name])
    if node.type_comment is None and not has_value and name not in assigned(node.body):
        trips_less_one = plus(trips(b, loop), -1)
        last = source.item(plus(loop.lower, times(trips_less_one, loop.step)))
        assert isinstance(last, Number)
        return last
    start = known.expr if isinstance(known, Number) and has_value else ZERO
    variable = Load(b.new_buffer(name, DType.INT64, ()).name, (), DType.INT64)
    b.emit((), variable, start)
    return Number(variable, True)


def _read_phases(
    b: Builder,
    frame: Frame,
    node: ast.For,
    loop: Loop,
    item: Callable[[Expr], Value],
    phases: tuple[Phase, ...],
    counted: Mapping[str, Counter],
    last: Number | None,
    unbound: list[str],
    leaving: _Leaving | None,
    rotating: tuple[str, ...],
) -> list[dict[str, Value]]:
    """Read the body once for each phase; return the names' values before each.

    `unbound`: names that have the value of the last iteration after the loop.
    """
    finals: dict[str, Number] = {}
    targets = assigned([node.target])
    shadowed = {target: frame.pins.pop(target) for target in targets if target in frame.pins}
    states: list[dict[str, Value]] = []
    touched = assigned(node.body) - targets
    for number, phase in enumerate(phases):
        meet(b, frame, touched)
        states.append(dict(frame.env))
        with b.under((phase.runs,), leaving.going if leaving is not None and number else TRUE):
            enter(b, frame, phase.number, counted, loop.loc)
            assign_to(b, frame, node.target, item(phase.value), node)
            if last is not None and isinstance(last.expr, Load):
                b.emit((), last.expr, phase.value)
            goes_on = _read_body(b, frame, node, rotating)
            if last is not None and targets & assigned(node.body):
                _keep_bound(b, frame, node, last)
            for name in unbound:
                _keep_last(b, frame, name, loop, len(phases), finals)
            if leaving is not None:
                leaving.note(b, frame, goes_on, number, len(phases))
    frame.pins.update(shadowed)
    frame.env.update(finals)
    return states


def _keep_last(
    b: Builder, frame: Frame, name: str, loop: Loop, period: int, finals: dict[str, Number]
) -> None:
    """Keep a number that a later iteration, of any phase, or the loop's end would change."""
    value = frame.env.get(name)
    if not isinstance(value, Number) or (period == 1 and not mentions(value, Iter(loop.iter))):
        return
    variable = finals.get(name)
    if variable is None:
        buffer = b.new_buffer(name, value.dtype, ())
        variable = finals[name] = Number(Load(buffer.name, (), value.dtype), value.weak)
    assert isinstance(variable.expr, Load)
    b.emit((), variable.expr, cast(value.expr, variable.dtype))


def _keep_bound(b: Builder, frame: Frame, node: ast.For, last: Number) -> None:
    """Keep the value that the body has bound the loop variable to."""
    bound = frame.env.get(ast.unparse(node.target))
    found = number_of(bound.value, None) if isinstance(bound, Known) else bound
    if not isinstance(found, Number) or not found.weak or found.dtype is not DType.INT64:
        reason = f"the loop variable `{ast.unparse(node.target)}` is something else after its loop"
        refuse("PO0136", reason, frame.loc(node.target), "use another name in the loop")
    assert isinstance(last.expr, Load)
    b.emit((), last.expr, found.expr)


def _forget(frame: Frame, node: ast.For, iterator: str, *, is_kept: bool) -> None:
    """The loop variable, and what was made from it, has no value after the loop."""
    shown = ast.unparse(node.target)
    for target in assigned([node.target]):
        reason = f"the loop variable `{target}` is used after its loop"
        hint = "compute it from the bounds"
        if not is_kept and target in frame.pins and target in frame.live.after[node]:
            refuse("PO0136", reason, frame.loc(node.target), hint)
        frame.env[target] = Gone("PO0136", reason, hint)
    forget_iterator(frame, iterator, shown)


def _is_known_tuple(value: Value) -> bool:
    return isinstance(value, Known) and isinstance(value.value, tuple | list)


def _iterator_name(b: Builder, target: ast.expr) -> str:
    base = "i"
    if isinstance(target, ast.Name):
        base = ascii_identifier(target.id) if target.id.strip("_") else "t"
    name, number = base, 0
    taken = b.scope.iters
    while name in taken or not b.claim_iterator(name):
        number += 1
        name = f"{base}_{number}"
    return name


def _require_trip(b: Builder, frame: Frame, node: ast.For, loop: Loop, names: list[str]) -> None:
    """A name first set in the loop and used after it needs at least one iteration."""
    runs = less(loop.lower, loop.upper) if loop.step > 0 else less(loop.upper, loop.lower)
    shown = ", ".join(f"`{name}`" for name in sorted(names))
    message = f"the loop must run at least once: {shown} is used after it"
    if not b.always(runs):
        b.demand(runs, "PO0175", message, frame.loc(node), "assign it before the loop too")


def _constants(frame: Frame) -> frozenset[str]:
    return frozenset(name for name, value in frame.env.items() if isinstance(value, Known))


def _unrolled(b: Builder, frame: Frame, node: ast.For, value: Value) -> None:
    """A loop over a tuple is written out."""
    match value:
        case Sequence(items=items):
            found: tuple[Value, ...] = items
        case Known(value=tuple(known)) | Known(value=list(known)):
            found = tuple(Known(item) for item in known)
        case _:
            raise AssertionError("checked by the caller")
    flag = node.type_comment
    place = frame.place(node, "(left early)")
    is_left = place in b.facts.merged
    pinned = pin_results(b, frame, assigned(node.body), node) if is_left else []
    _read_items(b, frame, node, found, flag, place)
    unpin(b, frame, pinned, frame.loc(node))


def _read_items(
    b: Builder,
    frame: Frame,
    node: ast.For,
    items: tuple[Value, ...],
    flag: str | None,
    place: Occurrence,
) -> None:
    """Read the body for each item; under a condition from where a `break` may have come."""
    for item in items:
        going = frame.env.get(flag) if flag is not None else None
        if isinstance(going, Known) and not going.value:
            return
        if flag is None or going is None or isinstance(going, Known):
            assign_to(b, frame, node.target, item, node)
            frame.reader.block(b, frame, node.body)
            continue
        b.facts.add(b.facts.merged, place)
        frame.env[_ITEM] = item
        frontend.reader.branches.read_if(b, frame, _while_going(b, frame, node, flag), [])
    frame.env.pop(_ITEM, None)


_ITEM = "(item)"


def _while_going(b: Builder, frame: Frame, node: ast.For, flag: str) -> ast.If:
    """Return the branch that reads the next item unless a `break` has ended the loop."""
    known = b.facts.guarded.get(node)
    if known is not None:
        return known
    item = ast.Assign([node.target], ast.Name(_ITEM, ast.Load()))
    branch = ast.If(ast.Name(flag, ast.Load()), [item, *node.body], [])
    for part in (branch.test, item, item.value, branch):
        ast.copy_location(part, node)
    live = frame.live
    live.after[branch] = live.after[node] | live.body[node] | {flag}
    live.after[item] = live.body[node] | assigned([node.target])
    b.facts.guarded[node] = branch
    return branch
