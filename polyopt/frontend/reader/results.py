"""What the function returns: arguments themselves, new arrays, numbers.

In: the value of `return`.  Out: `Returned`; buffers that leave the kernel are marked.
Views and expressions are copied into new arrays.
"""

from __future__ import annotations

from collections.abc import Mapping

from polyopt.dataclass import dataclass, replace
from polyopt.errors import Loc
from polyopt.frontend.integers.affine_integers import (
    clipped,
    floordiv,
    maximum,
    minimum,
    plus,
    times,
)
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.drafts import dynamic_params
from polyopt.frontend.program.memory import (
    buffer_of,
    forced,
    is_whole,
    plain,
    stored,
    stored_number,
)
from polyopt.frontend.subscripts.masks import plain as unmasked
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.constants import array_or_number, as_sequence
from polyopt.frontend.values.records import Record, is_plain_dataclass
from polyopt.frontend.values.values import (
    Buffer,
    Known,
    Number,
    Sequence,
    Tensor,
    Value,
    is_same_view,
)
from polyopt.ir.arranging import Made, kind_of
from polyopt.ir.expr import Binary, BinaryOp, Const, Expr, Iter, Load, integer
from polyopt.ir.linear import linear
from polyopt.ir.source import Result, ResultKind


@dataclass(frozen=True, slots=True)
class Returned:
    """The results, and how they are arranged (`polyopt.ir.arranging`)."""

    results: tuple[Result, ...]
    nesting: str
    made: tuple[Made, ...]


def mark_results(b: Builder, value: Value | None, loc: Loc | None) -> Returned:
    """Return the results; emit the statements that give them memory."""
    if isinstance(value, Sequence | Known) and as_sequence(value) == Sequence(()):
        refuse("PO0164", "returning an empty tuple", loc, "leave the `return` out")
    listed = _Listed()
    _list(b, value, loc, listed)
    return Returned(tuple(listed.results), listed.nesting, tuple(listed.made))


class _Listed:
    """Results as they are found, and how they are arranged so far."""

    def __init__(self) -> None:
        self.results: list[Result] = []
        self.made: list[Made] = []
        self.nesting = ""

    def make(self, kind: type | None, names: tuple[str, ...]) -> None:
        """Note what the tuple stands for that begins here."""
        found = None if kind is None else kind_of(kind)
        if found is not None:
            place = self.nesting.count("(") + self.nesting.count("[")
            self.made.append(Made(place, found, names))


def _list(b: Builder, value: Value | None, loc: Loc | None, listed: _Listed) -> None:
    """Append the results of `value`, and how they are arranged."""
    if value is None or (isinstance(value, Known) and value.value is None):
        listed.nesting += "N"
        return
    match as_sequence(value):
        case Sequence() as found:
            ends, items = "[]" if found.is_list else "()", found.items
            kind, names = found.kind, found.names
        case Known(value=Record(kind=kind, fields=fields)) if _is_made(kind, fields):
            ends, items, names = "()", tuple(fields.values()), tuple(fields)
        case _:
            listed.results.append(_result(b, value, loc))
            listed.nesting += "."
            return
    listed.make(kind, names)
    listed.nesting += ends[0]
    for item in items:
        _list(b, item, loc, listed)
    listed.nesting += ends[1]


def _is_made(kind: type, fields: Mapping[str, Value]) -> bool:
    """Tell whether a call can make an object of a class again: a dict, or of a dataclass."""
    if kind is dict:
        return bool(fields)
    names = getattr(kind, "__dataclass_fields__", ())
    return is_plain_dataclass(kind) and tuple(names) == tuple(fields) and kind_of(kind) is not None


def _result(b: Builder, value: Value, loc: Loc | None) -> Result:
    found = array_or_number(b, unmasked(b, value), loc)
    match found:
        case Tensor():
            return _array(b, found)
        case Number():
            buffer = _scalar_buffer(b, found) or buffer_of(b, stored_number(b, found, "result"))
            buffer.returned = True
            return Result(ResultKind.SCALAR, buffer.name)


def _array(b: Builder, value: Tensor) -> Result:
    if dynamic_params(*value.shape):
        return _counted(b, value)
    for array, given in b.given.values():
        if is_same_view(value, given):
            return Result(ResultKind.ARGUMENT, array)
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


def _counted(b: Builder, value: Tensor) -> Result:
    """Return an array of which one extent is a dynamic size: the start of one that is long enough.

    What is returned holds no more than the sizes of the arguments allow.
    """
    axis = next(d for d, extent in enumerate(value.shape) if dynamic_params(extent))
    extent = value.shape[axis]
    bound = largest_extent(b, extent)
    place = b.unbounded.get(extent)
    if bound is None and place is not None:
        b.facts.add(b.facts.bounded, place)
    if bound is None or dynamic_params(bound, *value.shape[axis + 1 :]):
        hint = "return it in an array of a known size, or give np.bincount a large `minlength`"
        refuse("PO0137", "the sizes of the arguments do not bound this result's", b.loc, hint)
    buffer = _start_of(value, bound)
    if buffer is None:
        shape = tuple(bound if d == axis else e for d, e in enumerate(value.shape))
        buffer = b.new_buffer("result", value.dtype, shape)
        loops, index = b.fresh_loops(value.shape)
        b.emit(loops, Load(buffer.name, index, value.dtype), forced(b, value).at(index))
    held = stored_number(b, Number(clipped(extent), False), "length")
    length = buffer_of(b, held)
    length.returned = buffer.returned = True
    buffer.length, buffer.counted = length.name, axis
    return Result(ResultKind.OUTPUT, buffer.name)


def largest_extent(b: Builder, extent: Expr) -> Expr | None:
    """Return what an extent over dynamic sizes never exceeds, over sizes of the arguments."""
    if not dynamic_params(extent):
        return extent
    if extent in b.bounds:
        return largest_extent(b, b.bounds[extent])
    if isinstance(extent, Binary) and extent.op in (BinaryOp.MIN, BinaryOp.MAX):
        left, right = largest_extent(b, extent.left), largest_extent(b, extent.right)
        if extent.op is BinaryOp.MIN and (left is None or right is None):
            return right if left is None else left
        if left is None or right is None:
            return None
        return (minimum if extent.op is BinaryOp.MIN else maximum)(left, right)
    match extent:
        case Binary(op=BinaryOp.FLOORDIV, right=Const(value=int(step))) if step > 0:
            most = largest_extent(b, extent.left)
            return None if most is None else floordiv(most, extent.right)
        case _:
            return _largest_sum(b, extent)


def _largest_sum(b: Builder, extent: Expr) -> Expr | None:
    value = linear(extent)
    total: Expr = integer(value.constant)
    for atom, factor in value.terms:
        if atom == extent:
            return None
        if dynamic_params(atom) and factor < 0:
            continue  # a size is no less than zero
        most = largest_extent(b, atom)
        if most is None:
            return None
        total = plus(total, times(most, factor))
    return total


def _start_of(value: Tensor, bound: Expr) -> Buffer | None:
    """Return the kernel's own array of extent `bound` that `value` is the start of."""
    if value.view is None or value.rank != 1:
        return None
    buffer, index = value.view.buffer, (Iter("?0"),)
    own = buffer.argument is None and not buffer.returned and buffer.shape == (clipped(bound),)
    return buffer if own and value.view.index(index) == index else None


def _scalar_buffer(b: Builder, value: Number) -> Buffer | None:
    """Return the kernel's own variable that holds the number, if one does."""
    if not isinstance(value.expr, Load) or value.expr.index:
        return None
    buffer = buffer_of(b, value)
    return buffer if buffer.argument is None else None
