"""`for` loops over ranges and arrays.

In: the loop's tree.  Out: the body's statements inside a loop of the builder.
Refuses: loops over other things (PO0130), bounds that are not affine (PO0131).
"""

from __future__ import annotations

import ast

from polyopt.frontend.arguments import Arguments
from polyopt.frontend.assignments import assign_to
from polyopt.frontend.builder import Builder
from polyopt.frontend.codes import refuse
from polyopt.frontend.domains import Loop
from polyopt.frontend.expressions import evaluate
from polyopt.frontend.frames import Frame
from polyopt.frontend.integers import ZERO, less
from polyopt.frontend.liveness import assigned
from polyopt.frontend.names import ascii_identifier
from polyopt.frontend.pins import pin_names, unpin
from polyopt.frontend.python_table import iterated
from polyopt.frontend.values import Gone, Iterated, Known, Number, Range, Sequence, Value
from polyopt.frontend.variables import forget_iterator
from polyopt.ir.expr import Iter


def read_for(b: Builder, frame: Frame, node: ast.For) -> None:
    """Read a loop."""
    if node.orelse:
        refuse("PO0127", "`else` of a loop", frame.loc(node.orelse[0]), "put it after the loop")
    iterable = evaluate(b, frame, node.iter)
    if isinstance(iterable, Sequence) or _is_known_tuple(iterable):
        _unrolled(b, frame, node, iterable)
        return
    targets = assigned([node.target])
    touched = assigned(node.body) - targets
    later = frame.live.after[node]
    carried = touched & (frame.live.body[node] | later)
    watched = dict(frame.watched)
    pinned = pin_names(b, frame, carried, node)
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
    shadowed = {target: frame.pins.pop(target) for target in targets if target in frame.pins}
    with b.loop(loop):
        assign_to(b, frame, node.target, source.item(Iter(name)), node)
        if frame.reader.block(b, frame, node.body) is not None:
            hint = "return after the loop"
            refuse("PO0122", "`return` inside a loop", frame.loc(node), hint)
    frame.pins.update(shadowed)
    unpin(b, frame, pinned, frame.loc(node))
    frame.watched = watched
    shown = ast.unparse(node.target)
    for target in targets:
        frame.env[target] = Gone(
            "PO0136",
            f"the loop variable `{target}` is used after its loop",
            "compute it from the bounds",
        )
    forget_iterator(frame, name, shown)


def _is_known_tuple(value: Value) -> bool:
    return isinstance(value, Known) and isinstance(value.value, tuple | list)


def _iterator_name(b: Builder, target: ast.expr) -> str:
    base = ascii_identifier(target.id) if isinstance(target, ast.Name) else "i"
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
