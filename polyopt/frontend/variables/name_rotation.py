"""Loops at whose end array names change places: `a, b = b, a`.

In: a loop whose body permutes array names.  Out: a loop over groups of as many iterations as bring
every name back, with the body once for each: no element is copied, and no condition has a `mod`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence

from polyopt.dataclass import dataclass, replace
from polyopt.frontend.integers.affine_integers import (
    TRUE,
    ZERO,
    compare,
    constant,
    floordiv,
    is_affine,
    less,
    modulo,
    plus,
    select,
    times,
)
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.decisions import decided
from polyopt.frontend.program.facts import Occurrence
from polyopt.frontend.program.memory import store
from polyopt.frontend.program.snapshots import stand_for
from polyopt.frontend.program.statement_domains import Loop
from polyopt.frontend.syntax.liveness import assigned
from polyopt.frontend.syntax.structure import flag_of, renamed
from polyopt.frontend.values.shapes import equate
from polyopt.frontend.values.values import Index, Tensor, Value, view_of
from polyopt.frontend.variables.call_frames import Frame, Watch
from polyopt.frontend.variables.memory_variables import learn_array
from polyopt.ir.expr import CompareOp, Expr, Iter, integer

LONGEST = 6


Repeated = ast.For | ast.While


def watch_again(frame: Frame, names: Iterable[str], node: Repeated) -> None:
    """Watch the array names in the loop `node` that a loop or branch around it watches."""
    for name in sorted(names):
        value = frame.env.get(name)
        if name in frame.watched and isinstance(value, Tensor):
            frame.watched[name] = Watch(value, frame.place(node, name))


def exchanged_at_end(frame: Frame, node: Repeated, rotating: Sequence[str]) -> list[ast.If]:
    """Return the exchanges of arrays at the end of a loop's body that a jump out of it skips.

    Only where no other names `rotating` in the loop do and none is in memory: what the names stand
    for after the loop is then known from the phase in which it ends.
    """
    flag = flag_of(node)
    names: set[str] = set()
    found: list[ast.If] = []
    used = frame.live.body[node] | frame.live.after[node]
    arrays = (frame.watched.keys() | set(rotating)) - frame.pins.keys()
    for last in reversed(node.body):
        if not isinstance(last, ast.If) or not all(map(renamed, last.body)):
            break
        if last.orelse or ast.unparse(last.test) != flag:
            break
        if assigned(last.body) & used <= arrays:
            found.append(last)
            names |= assigned(last.body)
    return [] if set(rotating) - names else found


def settle_watches(
    b: Builder,
    frame: Frame,
    watches: Mapping[str, Watch],
    place: Occurrence | None,
    outer: Mapping[str, Watch],
) -> None:
    """Decide what to do about array names that were bound again.

    At the end of a loop (`place`) names that only changed places rotate; others get memory, for
    which the `outer` loop that watches them cares.
    """
    rebound = {name: watch for name, watch in watches.items() if watch.rebound}
    if not rebound:
        return
    period = None if place in b.facts.rotations else _period(frame, rebound)
    if place is not None and period is not None:
        if period > 1:
            b.facts.set_rotation(place, tuple(sorted(rebound)), period)
        return
    for name, watch in sorted(rebound.items()):
        if name in outer:
            outer[name].rebound.extend(watch.rebound)
            continue
        for value, loc in watch.rebound:
            learn_array(b, name, watch, value, loc)


def rotation(b: Builder, frame: Frame, place: Occurrence | None) -> tuple[tuple[str, ...], int]:
    """Return the names that change places in the loop at `place`, and after how many iterations
    they are back."""
    names, period = b.facts.rotations.get(place, ((), 1)) if place is not None else ((), 1)
    return ((), 1) if any(name in frame.pins for name in names) else (names, period)


def close_rotation(
    b: Builder,
    frame: Frame,
    node: Repeated,
    place: Occurrence | None,
    names: Sequence[str],
    states: Sequence[Mapping[str, Value]],
    count: Expr,
) -> None:
    """Bind the names that change places after their loop, which has run `count` times.

    `states`: what names stood for before each iteration of a group.
    """
    if not names or place is None:
        return
    if any(frame.env.get(name) is not states[0].get(name) for name in names):
        b.facts.drop_rotation(place)
        return
    arrays = [{name: state[name] for name in names} for state in states]
    later = [name for name in names if name in frame.live.after[node]]
    _bind_after(b, frame, count, arrays, later, node)
    for name in names:  # loops around tell other arrays than their first from copies
        value = frame.env[name]
        if name in frame.watched and value is not states[0].get(name):
            frame.watched[name].rebound.append((value, frame.loc(node)))


def _period(frame: Frame, rebound: Mapping[str, Watch]) -> int | None:
    """Return how many iterations bring every name back, None if arrays are not just permuted."""
    source: dict[str, str] = {}
    for name in rebound:
        for other, watch in rebound.items():
            if frame.env.get(name) is watch.value:
                source[name] = other
    if len(source) != len(rebound) or len(set(source.values())) != len(rebound):
        return None
    now = {name: name for name in rebound}
    for period in range(1, LONGEST + 1):
        now = {name: now[source[name]] for name in rebound}
        if all(now[name] == name for name in rebound):
            return period
    return None


@dataclass(frozen=True, slots=True)
class Phase:
    """One of the iterations that a group has.

    `value`: of the loop's variable.  `number`: of earlier iterations.  `runs`: whether the last
    group has it.
    """

    value: Expr
    number: Expr
    runs: Expr


def grouped(loop: Loop, period: int) -> tuple[Loop, tuple[Phase, ...]]:
    """Return the loop over groups of `period` iterations, and the iterations of a group."""
    value = Iter(loop.iter)
    if period == 1:
        done = floordiv(loop.distance(value), integer(abs(loop.step)))
        return loop, (Phase(value, done, TRUE),)
    size = abs(loop.step) * period
    groups = floordiv(plus(loop.distance(loop.upper), size - 1), integer(size))
    numbers = [plus(times(value, period), phase) for phase in range(period)]
    phases = tuple(_phase(loop, number) for number in numbers)
    first = replace(phases[0], runs=TRUE)
    return Loop(loop.iter, ZERO, groups, loc=loop.loc), (first, *phases[1:])


def _phase(loop: Loop, number: Expr) -> Phase:
    """Return the iteration of `loop` with this number, if it has that many."""
    value = plus(loop.lower, times(number, loop.step))
    runs = less(value, loop.upper) if loop.step > 0 else less(loop.upper, value)
    return Phase(value, number, runs)


def trips(b: Builder, loop: Loop) -> Expr:
    """Return the number of iterations."""
    step = abs(loop.step)
    return b.extent(floordiv(plus(loop.distance(loop.upper), step - 1), integer(step)))


def _bind_after(
    b: Builder,
    frame: Frame,
    count: Expr,
    states: Sequence[Mapping[str, Value]],
    names: Sequence[str],
    node: Repeated,
) -> None:
    """Bind the names used after the loop: to arrays if the call decides which, else to copies."""
    known = constant(count)
    if known is not None:
        frame.env.update(states[known % len(states)])
        return
    ends = [
        compare(CompareOp.EQ, modulo(count, integer(len(states))), integer(phase))
        for phase in range(len(states))
    ]
    reached = [state for state, here in zip(states, ends, strict=True) if decided(b, here)]
    if reached:
        frame.env.update(reached[0])
        return
    frame.env.update(states[0])
    for name in names:
        first = states[0][name]
        assert isinstance(first, Tensor)
        buffer = b.new_buffer(name, first.dtype, first.shape)
        whole = view_of(buffer)
        final = Tensor(first.shape, first.dtype, whole.at, whole.view)
        sides = [value for state in states if isinstance(value := state[name], Tensor)]
        if all(map(is_affine, ends)):
            for here, value in zip(ends, sides, strict=True):
                with b.under((here,)):
                    store(b, final, value, frame.loc(node))
        else:
            store(b, final, _chosen(b, frame, name, ends, sides, node), frame.loc(node))
        reason = f"`{name}` is one of several arrays after the loop"
        stand_for(b, buffer, sides, reason, frame.loc(node))
        frame.env[name] = final


def _chosen(
    b: Builder,
    frame: Frame,
    name: str,
    ends: Sequence[Expr],
    sides: Sequence[Tensor],
    node: Repeated,
) -> Tensor:
    """Return the array of `sides` at whose place in `ends` the kernel finds that it is."""
    shape = sides[0].shape
    for side in sides[1:]:
        for mine, other in zip(shape, side.shape, strict=True):
            equate(b, mine, other, f"`{name}` changes its shape", frame.loc(node))

    def at(index: Index) -> Expr:
        found = sides[0].at(index)
        for here, side in zip(ends[1:], sides[1:], strict=True):
            found = select(here, side.at(index), found)
        return found

    return Tensor(shape, sides[0].dtype, at)
