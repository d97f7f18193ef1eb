"""Loops at whose end array names change places: `a, b = b, a`.

In: a loop whose body permutes array names.  Out: the body read once for each phase of the
permutation, under `(i - first) mod period == phase`: no element is copied.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from polyopt.frontend.integers.affine_integers import (
    compare,
    constant,
    floordiv,
    minus,
    modulo,
    plus,
)
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.facts import Place
from polyopt.frontend.program.memory import store
from polyopt.frontend.program.snapshots import stand_for
from polyopt.frontend.program.statement_domains import Loop
from polyopt.frontend.values.values import Tensor, Value, view_of
from polyopt.frontend.variables.call_frames import Frame, Watch
from polyopt.frontend.variables.memory_variables import learn_array
from polyopt.ir.expr import CompareOp, Expr, Iter, integer

LONGEST = 4


def settle_watches(
    b: Builder, frame: Frame, watches: Mapping[str, Watch], place: Place | None
) -> None:
    """Decide what to do about array names that were bound again.

    At the end of a loop (`place`) names that only changed places rotate; others get memory.
    """
    rebound = {name: watch for name, watch in watches.items() if watch.rebound}
    if not rebound:
        return
    period = None if place is None else _period(frame, rebound)
    if place is not None and period is not None:
        b.facts.set_rotation(place, tuple(sorted(rebound)), period)
        return
    for name, watch in sorted(rebound.items()):
        for value, loc in watch.rebound:
            learn_array(b, name, watch, value, loc)


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
            return period if period > 1 else None
    return None


def phase_condition(loop: Loop, period: int, phase: int) -> Expr:
    """Return the condition that an iteration belongs to `phase`."""
    value = Iter(loop.iter)
    distance = minus(value, loop.lower) if loop.step > 0 else minus(loop.lower, value)
    number = floordiv(distance, integer(abs(loop.step)))
    return compare(CompareOp.EQ, modulo(number, integer(period)), integer(phase))


def trips(b: Builder, loop: Loop) -> Expr:
    """Return the number of iterations."""
    distance = minus(loop.upper, loop.lower) if loop.step > 0 else minus(loop.lower, loop.upper)
    step = abs(loop.step)
    return b.extent(floordiv(plus(distance, step - 1), integer(step)))


def bind_after(
    b: Builder,
    frame: Frame,
    loop: Loop,
    states: Sequence[Mapping[str, Value]],
    names: Sequence[str],
    node: ast.For,
) -> None:
    """Bind the names used after the loop: a copy of the array they ended at."""
    count = trips(b, loop)
    known = constant(count)
    if known is not None:
        frame.env.update(states[known % len(states)])
        return
    frame.env.update(states[0])
    for name in names:
        first = states[0][name]
        assert isinstance(first, Tensor)
        buffer = b.new_buffer(name, first.dtype, first.shape)
        whole = view_of(buffer)
        final = Tensor(first.shape, first.dtype, whole.at, whole.view)
        for phase, state in enumerate(states):
            here = compare(CompareOp.EQ, modulo(count, integer(len(states))), integer(phase))
            value = state[name]
            assert isinstance(value, Tensor)
            with b.under((here,)):
                store(b, final, value, frame.loc(node))
        sides = [value for state in states if isinstance(value := state[name], Tensor)]
        reason = f"`{name}` is one of several arrays after the loop"
        stand_for(b, buffer, sides, reason, frame.loc(node))
        frame.env[name] = final
