"""`for` loops over ranges and arrays.

In: the loop's tree.  Out: the body's statements inside a loop of the builder.
Refuses: loops over other things (PO0130), bounds that are not affine (PO0131).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

from polyopt.frontend.arguments import Arguments
from polyopt.frontend.assignments import assign_to
from polyopt.frontend.builder import Builder
from polyopt.frontend.codes import refuse
from polyopt.frontend.domains import Loop
from polyopt.frontend.expressions import evaluate
from polyopt.frontend.frames import Frame
from polyopt.frontend.induction import Counter, counters, enter, leave
from polyopt.frontend.integers import TRUE, ZERO, less
from polyopt.frontend.liveness import assigned
from polyopt.frontend.names import ascii_identifier
from polyopt.frontend.pins import pin_names, unpin
from polyopt.frontend.python_table import iterated
from polyopt.frontend.rotation import bind_after, phase_condition, settle_watches
from polyopt.frontend.values import Gone, Iterated, Known, Number, Range, Sequence, Value
from polyopt.frontend.variables import forget_iterator
from polyopt.ir.expr import Expr, Iter


def read_for(b: Builder, frame: Frame, node: ast.For) -> None:
    """Read a loop."""
    if node.orelse:
        refuse("PO0127", "`else` of a loop", frame.loc(node.orelse[0]), "put it after the loop")
    iterable = evaluate(b, frame, node.iter)
    if isinstance(iterable, Sequence) or _is_known_tuple(iterable):
        _unrolled(b, frame, node, iterable)
        return
    later = frame.live.after[node]
    touched = assigned(node.body) - assigned([node.target])
    unbound = [name for name in touched if name in later and name not in frame.env]
    name = _iterator_name(b, node.target)
    if isinstance(iterable, Range):
        loop = Loop(name, iterable.start, iterable.stop, iterable.step)
        source = Iterated(ZERO, lambda i: Number(i, True))
    else:
        args = Arguments("for", (), {}, frame.loc(node.iter))
        source = iterated(b, iterable, args)
        loop = Loop(name, ZERO, source.count)
    if unbound:
        _require_trip(b, frame, node, loop, unbound)
    place = frame.place(node, "loop")
    rotating, period = b.facts.rotations.get(place, ((), 1))
    watched = dict(frame.watched)
    counted = counters(frame, node)
    carried = touched & (frame.live.body[node] | later) - set(rotating) - set(counted)
    pinned = pin_names(b, frame, carried, node)
    states = _read_phases(b, frame, node, loop, source.item, period, counted)
    unpin(b, frame, pinned, frame.loc(node))
    own = {name: watch for name, watch in frame.watched.items() if name not in watched}
    settle_watches(b, frame, own, place)
    frame.watched = watched
    if rotating:
        arrays = [{name: state[name] for name in rotating} for state in states]
        bind_after(b, frame, loop, arrays, [n for n in rotating if n in later], node)
    _forget(frame, node, name)
    leave(b, frame, loop, counted)


def _read_phases(
    b: Builder,
    frame: Frame,
    node: ast.For,
    loop: Loop,
    item: Callable[[Expr], Value],
    period: int,
    counted: Mapping[str, Counter],
) -> list[dict[str, Value]]:
    """Read the body once for each phase; return the names' values before each."""
    targets = assigned([node.target])
    shadowed = {target: frame.pins.pop(target) for target in targets if target in frame.pins}
    states: list[dict[str, Value]] = []
    with b.loop(loop):
        for phase in range(period):
            states.append(dict(frame.env))
            here = TRUE if period == 1 else phase_condition(loop, period, phase)
            with b.under((here,)):
                enter(frame, loop, counted)
                assign_to(b, frame, node.target, item(Iter(loop.iter)), node)
                if frame.reader.block(b, frame, node.body) is not None:
                    refuse("PO0122", "`return` inside a loop", frame.loc(node))
    frame.pins.update(shadowed)
    return states


def _forget(frame: Frame, node: ast.For, iterator: str) -> None:
    """The loop variable, and what was made from it, has no value after the loop."""
    shown = ast.unparse(node.target)
    for target in assigned([node.target]):
        reason = f"the loop variable `{target}` is used after its loop"
        frame.env[target] = Gone("PO0136", reason, "compute it from the bounds")
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


def _unrolled(b: Builder, frame: Frame, node: ast.For, value: Value) -> None:
    """A loop over a tuple is written out."""
    match value:
        case Sequence(items=items):
            found: tuple[Value, ...] = items
        case Known(value=tuple(known)) | Known(value=list(known)):
            found = tuple(Known(item) for item in known)
        case _:
            raise AssertionError("checked by the caller")
    for item in found:
        assign_to(b, frame, node.target, item, node)
        if frame.reader.block(b, frame, node.body) is not None:
            refuse("PO0122", "`return` inside a loop", frame.loc(node), "return after the loop")
