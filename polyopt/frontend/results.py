"""What the function returns: arguments themselves, new arrays, numbers.

In: the value of `return`.  Out: `Returned`; buffers that leave the kernel are marked.
Views and expressions are copied into new arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from polyopt.errors import Loc
from polyopt.frontend.builder import Builder
from polyopt.frontend.codes import refuse
from polyopt.frontend.integers import clipped
from polyopt.frontend.memory import is_whole, plain, stored, stored_number
from polyopt.frontend.operators import describe, operand
from polyopt.frontend.values import Buffer, Known, Number, Sequence, Tensor, Value
from polyopt.ir.expr import Load
from polyopt.ir.source import Result, ResultKind


@dataclass(frozen=True, slots=True)
class Returned:
    """The results, and whether they come as a tuple."""

    results: tuple[Result, ...]
    is_tuple: bool


def mark_results(b: Builder, value: Value | None, loc: Loc | None) -> Returned:
    """Return the results; emit the statements that give them memory."""
    match value:
        case None | Known(value=None):
            return Returned((), False)
        case Sequence(items=items):
            return Returned(tuple(_result(b, item, loc) for item in items), True)
        case _:
            return Returned((_result(b, value, loc),), False)


def _result(b: Builder, value: Value, loc: Loc | None) -> Result:
    if isinstance(value, Sequence) or (isinstance(value, Known) and value.value is None):
        hint = "return one array or number, or a flat tuple of them"
        refuse("PO0164", f"returning {describe(value)} inside a tuple", loc, hint)
    found = operand(value, loc)
    match found:
        case Tensor():
            return _array(b, found)
        case Number():
            buffer = _scalar_buffer(b, found) or _buffer(b, stored_number(b, found, "result"))
            buffer.returned = True
            return Result(ResultKind.SCALAR, buffer.name)


def _array(b: Builder, value: Tensor) -> Result:
    settled = replace(value, shape=tuple(clipped(extent) for extent in value.shape))
    buffer = is_whole(settled)
    if buffer is not None and buffer.argument is not None:
        return Result(ResultKind.ARGUMENT, buffer.name)
    if buffer is None:
        whole = stored(b, value, "result") if value.merged is None else plain(b, value, "result")
        assert whole.view is not None
        buffer = whole.view.buffer
    buffer.returned = True
    kind = ResultKind.OUTPUT if buffer.shape else ResultKind.SCALAR
    return Result(kind, buffer.name)


def _scalar_buffer(b: Builder, value: Number) -> Buffer | None:
    """Return the kernel's own variable that holds the number, if one does."""
    if not isinstance(value.expr, Load) or value.expr.index:
        return None
    buffer = _buffer(b, value)
    return buffer if buffer.argument is None else None


def _buffer(b: Builder, value: Number) -> Buffer:
    assert isinstance(value.expr, Load)
    name = value.expr.array
    return next(buffer for buffer in b.buffers if buffer.name == name)
