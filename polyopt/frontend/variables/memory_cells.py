"""Variables that hold the numbers of a name in memory.

In: a number, the variable.  Out: the statements that store it, what the variable then holds.
The types that the next reading needs are learned.
"""

from __future__ import annotations

from polyopt.errors import Loc
from polyopt.frontend.integers.affine_integers import TRUE
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.memory import store_element, stored_number
from polyopt.frontend.values.promote import is_rounded, joined
from polyopt.frontend.values.values import Number
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
