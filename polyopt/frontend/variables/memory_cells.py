"""Variables that hold the numbers of a name in memory.

In: a number, the variable.  Out: the statements that store it, what the variable then holds.
The types that the next reading needs are learned.
Arrays of a name whose length changes in a loop.
"""

from __future__ import annotations

from polyopt.dataclass import replace
from polyopt.errors import Loc
from polyopt.frontend.integers.affine_integers import TRUE, at_least, minus
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.drafts import is_dynamic_name
from polyopt.frontend.program.memory import store_element, stored_number
from polyopt.frontend.values.promote import is_rounded, joined
from polyopt.frontend.values.shapes import equate
from polyopt.frontend.values.values import Index, Number, Tensor, view_of
from polyopt.frontend.variables.alternatives import exactly
from polyopt.frontend.variables.call_frames import Pin
from polyopt.frontend.variables.dynamic_types import (
    kind_of,
    leaves,
    note_kinds,
    number_after,
    tag_of,
)
from polyopt.ir.expr import Const, Expr, Load
from polyopt.ir.names import params_of
from polyopt.ir.types import DType


def store_number(b: Builder, pin: Pin, number: Number, loc: Loc | None) -> Number:
    """Store a number in a variable, and in its tag which type it is of where that matters.

    Returns what the variable stands for from here on.
    """
    buffer = pin.buffer
    note_kinds(b, pin.place, buffer, number)
    if any(is_rounded(leaf, buffer.dtype) for leaf in leaves(number)):
        b.facts.add(b.facts.inexact, pin.place)
    dtype = joined((buffer.dtype, pin.weak), kind_of(number), loc)[0]
    if dtype is not buffer.dtype:
        wider = b.new_buffer(buffer.name, dtype, ())  # the next reading has it
        return number_after(wider, False, number)
    tag: Expr | None = None
    if buffer.tag is not None and pin.place in b.facts.tagged:
        tag = tag_of(buffer, number)
        tag = tag if isinstance(tag, Const) else stored_number(b, Number(tag, True), "type").expr
    store_element(b, Load(buffer.name, (), dtype), exactly(b, number, dtype, loc))
    if tag is not None and buffer.tag is not None:
        b.emit((), buffer.tag, tag)
    if pin.flag is not None:
        b.emit((), pin.flag, TRUE)
    return number_after(buffer, pin.weak, number)


def differs(before: Index, now: Index) -> bool:
    """Whether an array gets another length, which only the running kernel knows."""
    if not now or len(before) != len(now) or before[0] == now[0]:
        return False
    return any(map(is_dynamic_name, params_of((before[0], now[0]))))


def of_any_length(b: Builder, name: str, pin: Pin, shape: Index) -> Pin:
    """Return the pin of an array of `shape` whose length may change."""
    length = Load(b.new_buffer(f"{name}_length", DType.INT64, ()).name, (), DType.INT64)
    b.emit((), length, shape[0])
    return replace(pin, length=length)


def as_long_as_now(b: Builder, pin: Pin) -> Tensor:
    """Return the array that a name stands for here."""
    assert pin.length is not None
    most = pin.shape[0]
    extent = b.bound_here(pin.length, "length")
    b.sizes += [extent, minus(most, extent)]
    b.bounds[extent] = most
    return replace(view_of(pin.buffer), shape=(extent, *pin.shape[1:]))


def resized(b: Builder, name: str, pin: Pin, array: Tensor, loc: Loc | None) -> Tensor:
    """Return the elements that an array is stored in, and note how many there are."""
    assert pin.length is not None
    length, most = array.shape[0], pin.shape[0]
    hint = "use another name for what is longer"
    fits = at_least(most, length)
    b.demand(fits, "PO0173", f"`{name}` becomes longer than it was before the loop", loc, hint)
    for mine, other in zip(pin.shape[1:], array.shape[1:], strict=True):
        equate(b, mine, other, f"`{name}` changes its shape", loc)
    b.emit((), pin.length, length)
    return replace(view_of(pin.buffer), shape=(length, *pin.shape[1:]))
