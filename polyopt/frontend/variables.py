"""What assignment to a plain name means: a new binding, a stored temporary, or a pinned variable.

In: a name and its new value.  Out: the frame's binding; statements where memory is written.
Scalars that are affine or trivially cheap stay symbolic; other scalars and arrays get memory.
"""

from __future__ import annotations

import ast

from polyopt.frontend.builder import Builder
from polyopt.frontend.frames import Frame
from polyopt.frontend.memory import is_stable, settled, stored, stored_number
from polyopt.frontend.pins import store_pinned
from polyopt.frontend.values import (
    Gone,
    Iterated,
    Known,
    Masked,
    Method,
    Number,
    Range,
    Sequence,
    Tensor,
    Value,
    View,
    iterators,
)
from polyopt.ir.expr import Iter, Param


def bind(b: Builder, frame: Frame, name: str, value: Value, node: ast.AST) -> None:
    """`name = value`."""
    if name in frame.pins:
        store_pinned(b, frame, name, value, frame.loc(node))
        return
    if name in frame.watched:
        frame.watched[name].rebound.append((value, frame.loc(node)))
    frame.env[name] = kept(b, name, value)


def kept(b: Builder, name: str, value: Value) -> Value:
    """Return `value` in a form that later writes cannot change, memory named after `name`."""
    match value:
        case Number():
            if isinstance(value.expr, Param):
                b.titles.setdefault(value.expr.name, name)
            return value if is_stable(value) else stored_number(b, value, name)
        case Tensor():
            if value.view is not None:
                return value
            if value.rank == 0 and value.fold is None:
                return stored_number(b, Number(value.at(()), value.weak), name)
            return settled(b, stored(b, value, name))
        case Masked(tensor=tensor, mask=mask):
            return Masked(stored(b, tensor, name), stored(b, mask, "mask"))
        case Sequence(items=items):
            return Sequence(tuple(kept(b, name, item) for item in items))
        case Known() | Range() | Iterated() | Method() | Gone():
            return value


# -- the end of a loop ------------------------------------------------------------------------


def forget_iterator(frame: Frame, iterator: str, shown: str) -> None:
    """Names whose values mention a finished loop's iterator have none any more."""
    reason = f"its value comes from the loop variable `{shown}`, whose loop has ended"
    hint = "compute it after the loop from the loop's bounds"
    for name, value in frame.env.items():
        if mentions(value, iterator):
            frame.env[name] = Gone("PO0136", f"`{name}` has no value here: {reason}", hint)


def mentions(value: Value, iterator: str) -> bool:
    """Whether a value depends on an iterator."""
    match value:
        case Number(expr=expr):
            return iterator in iterators(expr)
        case Tensor(shape=shape, view=View() as view):
            index = tuple(Iter(f"?{d}") for d in range(len(shape)))
            return any(iterator in iterators(e) for e in (*shape, *view.index(index)))
        case Sequence(items=items):
            return any(mentions(item, iterator) for item in items)
        case Range(start=start, stop=stop):
            return iterator in iterators(start) | iterators(stop)
        case _:
            return False
