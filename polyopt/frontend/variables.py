"""What assignment to a plain name means: a new binding, a stored temporary, or a pinned variable.

In: a name and its new value.  Out: the frame's binding; statements where memory is written.
Scalars that are affine or trivially cheap stay symbolic; other scalars and arrays get memory.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from polyopt.errors import Loc
from polyopt.frontend.builder import Builder
from polyopt.frontend.codes import refuse
from polyopt.frontend.elements import store_element
from polyopt.frontend.frames import Frame, Pin
from polyopt.frontend.memory import is_stable, settled, stored, stored_number
from polyopt.frontend.operators import describe, operand
from polyopt.frontend.promote import Operand, cast, common_pair, number_of
from polyopt.frontend.values import (
    Gone,
    Iterated,
    Known,
    Method,
    Number,
    Range,
    Sequence,
    Tensor,
    Value,
    View,
    iterators,
    view_of,
)
from polyopt.ir.expr import Iter, Load, Param
from polyopt.ir.types import DType, Kind


def bind(b: Builder, frame: Frame, name: str, value: Value, node: ast.AST) -> None:
    """`name = value`."""
    pin = frame.pins.get(name)
    if pin is not None:
        _store_pinned(b, frame, name, pin, value, frame.loc(node))
        return
    if name in frame.frozen:
        hint = "write into the array with `name[:] = ...`, or use another name"
        refuse("PO0160", frame.frozen[name], frame.loc(node), hint)
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
        case Sequence(items=items):
            return Sequence(tuple(kept(b, name, item) for item in items))
        case Known() | Range() | Iterated() | Method() | Gone():
            return value


# -- pinned variables -------------------------------------------------------------------------


def pin_names(
    b: Builder, frame: Frame, names: Iterable[str], node: ast.stmt, *, unset: bool = False
) -> tuple[list[str], list[str]]:
    """Give memory to `names` for the duration of `node`; return those pinned and those frozen.

    Frozen names stand for arrays and cannot be bound again.  `unset`: names without a value too.
    """
    added: list[str] = []
    frozen: list[str] = []
    for name in sorted(names):
        value = frame.env.get(name)
        if name in frame.pins or name in frame.frozen:
            continue
        if value is None or isinstance(value, Gone):
            if unset:
                added.append(_pin_unset(b, frame, name, node))
            continue
        pin = _pin(b, frame, name, value, node)
        if pin is None:
            frame.frozen[name] = (
                f"`{name}` stands for {describe(value)} before this statement and is bound again in it"
            )
            frozen.append(name)
            continue
        frame.pins[name] = pin
        frame.env[name] = _pinned_value(pin)
        added.append(name)
    return added, frozen


def _pin_unset(b: Builder, frame: Frame, name: str, node: ast.stmt) -> str:
    place = frame.place(node, name)
    dtype, weak = b.facts.widths[place]
    pin = Pin(b.new_buffer(name, dtype, ()), weak, place)
    frame.pins[name] = pin
    frame.env[name] = _pinned_value(pin)
    return name


def _pin(b: Builder, frame: Frame, name: str, value: Value, node: ast.stmt) -> Pin | None:
    number = _as_number(value, frame.loc(node))
    if number is None:
        return None
    place = frame.place(node, name)
    dtype, weak = b.facts.widths.get(place, (number.dtype, number.weak))
    buffer = b.new_buffer(name, dtype, ())
    pin = Pin(buffer, weak, place)
    store_element(b, Load(buffer.name, (), dtype), cast(number.expr, dtype, frame.loc(node)))
    return pin


def _as_number(value: Value, loc: Loc | None) -> Number | None:
    match value:
        case Number():
            return value
        case Known(value=known):
            return number_of(known, loc)
        case _:
            return None


def _pinned_value(pin: Pin) -> Value:
    view = view_of(pin.buffer)
    return Number(view.at(()), pin.weak)


def _store_pinned(
    b: Builder, frame: Frame, name: str, pin: Pin, value: Value, loc: Loc | None
) -> None:
    if not isinstance(value, Number | Tensor | Known):
        refuse("PO0161", f"`{name}` was a number before and becomes {describe(value)}", loc)
    found = settled(b, operand(value, loc))
    if isinstance(found, Tensor):
        refuse("PO0161", f"`{name}` was a number before and becomes {describe(found)}", loc)
    dtype, weak = joined((pin.buffer.dtype, pin.weak), (found.dtype, found.weak), loc)
    b.facts.set_width(pin.place, dtype, weak)
    expr = cast(found.expr, pin.buffer.dtype, loc) if _fits(found, pin) else found.expr
    if expr.dtype is not pin.buffer.dtype:
        return  # the next reading has the wider variable
    store_element(b, Load(pin.buffer.name, (), pin.buffer.dtype), expr)


def _fits(value: Number, pin: Pin) -> bool:
    return not (value.dtype.is_complex and not pin.buffer.dtype.is_complex)


def joined(left: Operand, right: Operand, loc: Loc | None) -> Operand:
    """Return dtype and weakness of a variable that holds both kinds of numbers."""
    if left == right:
        return left
    if left[0].kind is Kind.BOOL and right[0].kind is Kind.BOOL:
        return DType.BOOL, left[1] and right[1]
    return common_pair(left, right, loc), left[1] and right[1]


def unpin(frame: Frame, names: Iterable[str]) -> None:
    """End the pins of `names`: the next assignment makes a new variable."""
    for name in names:
        del frame.pins[name]


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
