"""What assignment to a plain name means: a new binding, a stored temporary, or a pinned variable.

In: a name and its new value.  Out: the frame's binding; statements where memory is written.
Scalars that are affine or trivially cheap stay symbolic; other scalars and arrays get memory.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence as Items

from polyopt.dataclass import replace
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.drafts import Binding, Mark
from polyopt.frontend.program.memory import (
    EXPENSIVE,
    buffer_of,
    settled,
    stored,
    stored_number,
)
from polyopt.frontend.program.snapshots import LAYOUT, stand_for
from polyopt.frontend.reader.comprehensions import Generated, collected
from polyopt.frontend.subscripts.compaction import compacted
from polyopt.frontend.values.records import Record
from polyopt.frontend.values.values import (
    UNNAMED,
    Gone,
    Growing,
    Iterated,
    Known,
    Masked,
    Method,
    Number,
    Perhaps,
    Range,
    Sequence,
    Slice,
    Tensor,
    Value,
    has_loads,
    view_of,
)
from polyopt.frontend.variables.alternatives import kept_apart
from polyopt.frontend.variables.call_frames import Frame
from polyopt.frontend.variables.lists import made
from polyopt.frontend.variables.memory_variables import learn_result, store_pinned
from polyopt.ir.expr import Iter, Param, walk


def bind(b: Builder, frame: Frame, name: str, value: Value, node: ast.AST) -> None:
    """`name = value`."""
    if name in frame.pins:
        store_pinned(b, frame, name, value, frame.loc(node), _live(frame, node))
        return
    if name in frame.awaited:
        learn_result(b, frame.awaited[name], value, frame.loc(node))
    if name in frame.watched:
        frame.watched[name].rebound.append((value, frame.loc(node)))
    written = frame.said is not None  # by polyopt: such functions change nothing they name
    frame.env[name] = value if written and stays_lazy(value) else kept(b, name, value)
    if isinstance(value, Tensor | Sequence | Masked):
        frame.scopes[name] = b.scope


def _live(frame: Frame, node: ast.AST) -> frozenset[str] | None:
    """Return the names that may be read after a statement, or in its body."""
    if not isinstance(node, ast.stmt) or node not in frame.live.after:
        return None
    return frame.live.after[node] | frame.live.body.get(node, frozenset())


def stays_lazy(value: Value) -> bool:
    """Whether an expression over arrays is cheap enough to be computed at each use."""
    if not isinstance(value, Tensor) or value.view is not None or value.fold is not None:
        return False
    if value.undefined or value.rank == 0 or value.cost >= EXPENSIVE:
        return False
    return has_loads(value.at(tuple(Iter(f"?{d}") for d in range(value.rank))))


def kept(b: Builder, name: str, value: Value) -> Value:  # noqa: C901  one case per kind
    """Return `value` in a form that later writes cannot change, memory named after `name`."""
    match value:
        case Number():
            if isinstance(value.expr, Param):
                b.titles.setdefault(value.expr.name, name)
            return kept_apart(b, value, name)
        case Tensor():
            if value.view is not None:
                return value
            if value.rank == 0 and value.fold is None:
                held = stored_number(b, Number(value.at(()), value.weak), name)
                return held if value.weak else view_of(buffer_of(b, held))
            return settled(
                b, stored(b, value, name) if value.part_of is None else _parts(b, name, value)
            )
        case Masked(tensor=tensor, mask=mask):
            place = (name, b.loc)
            if place in b.facts.compacted:
                return compacted(b, value, name)
            whole = tensor if _is_never_written(b, tensor) else stored(b, tensor, name)
            return Masked(whole, stored(b, mask, "mask"), place)
        case Sequence(items=items):
            return replace(value, items=tuple(kept(b, name, item) for item in items))
        case Known(value=Record() as owner):
            fields = {part: kept(b, part, inner) for part, inner in owner.fields.items()}
            return Known(replace(owner, fields=fields))
        case Generated(is_list=True):
            return made(b, lambda kind: collected(b, value, kind, b.loc))
        case Known() | Growing() | Range() | Slice() | Iterated() | Method() | Perhaps() | Gone():
            return value


def _parts(b: Builder, name: str, value: Tensor) -> Tensor:
    """Return a copy of elements that NumPy's name shares, or may share, with their array."""
    assert value.part_of is not None
    first = len(b.drafts)
    copy = stored(b, value, name)
    b.rebinding.update(range(first, len(b.drafts)))
    assert copy.view is not None
    reason = f"`{name}` is the real or imaginary parts of an array"
    if value.dtype is value.part_of.dtype:
        reason = LAYOUT
    stand_for(b, copy.view.buffer, (value.part_of,), reason, b.loc)
    return copy


def _is_never_written(b: Builder, value: Tensor) -> bool:
    """Whether `value` is elements of an argument that no reading saw written."""
    b.asks_written = True
    written = b.facts.written
    buffer = value.view.buffer if value.view is not None else None
    if buffer is None or buffer.argument is None or written is None:
        return False
    return buffer.argument not in written


# -- the end of a loop ------------------------------------------------------------------------


def forget_iterator(frame: Frame, iterator: str, shown: str) -> None:
    """Names whose values mention a finished loop's iterator have none any more."""
    reason = f"its value comes from the loop variable `{shown}`, whose loop has ended"
    hint = "compute it after the loop from the loop's bounds"
    for name, value in frame.env.items():
        if mentions(value, Iter(iterator)):
            frame.env[name] = Gone("PO0136", f"`{name}` has no value here: {reason}", hint)


def forget_sizes(frame: Frame, marks: Items[Mark]) -> None:
    """Names whose values mention a size found inside a finished loop have none any more."""
    sizes = [mark.what.param for mark in marks if isinstance(mark.what, Binding)]
    hint = "compute it after the loop, or give it a value before the loop"
    for name, value in frame.env.items():
        if any(mentions(value, Param(size)) for size in sizes):
            reason = f"`{name}` has no value here: its size was found inside a loop that has ended"
            frame.env[name] = Gone("PO0136", reason, hint)


def mentions(value: Value, what: Iter | Param) -> bool:
    """Whether a value depends on an iterator or a size, which may have the same name."""
    match value:
        case Number(expr=expr):
            return what in walk(expr)
        case Tensor(shape=shape, view=view):
            parts = () if view is None else view.index(tuple(Iter(UNNAMED) for _ in shape))
            return any(what in walk(e) for e in (*shape, *parts))
        case Sequence(items=items):
            return any(mentions(item, what) for item in items)
        case Range(start=start, stop=stop):
            return what in walk(start) or what in walk(stop)
        case _:
            return False
