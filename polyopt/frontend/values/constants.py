"""Arrays whose elements are known: module-level arrays and nested lists.

In: a NumPy array of the function's globals, or nested sequences of numbers.  Out: arrays of the
kernel whose elements are set one by one.
Refuses: arrays of more than `LARGEST` elements (PO0124), and assignments to them (PO0165).
"""

from __future__ import annotations

import functools
import itertools

import numpy as np

from polyopt.dataclass import replace
from polyopt.errors import Loc
from polyopt.frontend.arithmetic.operators import operand
from polyopt.frontend.program.builder import Builder
from polyopt.frontend.program.drafts import Draft
from polyopt.frontend.program.memory import settled, store
from polyopt.frontend.program.statement_domains import Scope
from polyopt.frontend.values.codes import refuse
from polyopt.frontend.values.promote import cast, common_dtype, number_of
from polyopt.frontend.values.shapes import equate
from polyopt.frontend.values.values import (
    Iterated,
    Known,
    Number,
    Operandish,
    Sequence,
    Tensor,
    Value,
    as_tensor,
    remapped,
    view_of,
)
from polyopt.ir.expr import Const, Load, integer
from polyopt.ir.types import DType

LARGEST = 256
_FIRST = integer(-1)  # what comes before everything else


def global_array(b: Builder, name: str, array: np.ndarray, loc: Loc | None) -> Tensor:
    """Return a module-level array; its elements are set before everything else."""
    known = b.constants.get(id(array))
    if known is not None:
        return view_of(known)
    if array.size > LARGEST or array.dtype.name not in DType._value2member_map_:
        hint = "pass the array as an argument"
        refuse("PO0124", f"the global array `{name}` is too large or of no known type", loc, hint)
    dtype = DType(array.dtype.name)
    buffer = b.new_buffer(name, dtype, tuple(integer(n) for n in array.shape))
    b.constants[id(array)] = buffer
    for place in itertools.product(*(range(n) for n in array.shape)):
        target = Load(buffer.name, tuple(integer(i) for i in place), dtype)
        order = (_FIRST, integer(len(b.drafts)))
        value = Const(array[place].item(), dtype)
        b.drafts.append(Draft(Scope(order=order), target, value, None, loc, b.text))
    return view_of(buffer)


def value_of_global(b: Builder, name: str, known: object, loc: Loc | None) -> Value:
    """Return what a name of a module stands for: its arrays are arrays of the kernel."""
    return global_array(b, name, known, loc) if isinstance(known, np.ndarray) else Known(known)


def refuse_written(b: Builder) -> None:
    """Refuse a function that writes to one of its module-level arrays."""
    names = {buffer.name for buffer in b.constants.values()}
    for draft in b.drafts:
        if draft.target.array in names and draft.scope.order[:1] != (_FIRST,):
            name = draft.target.array
            hint = "pass the array as an argument"
            refuse("PO0165", f"the captured array `{name}` is assigned to", draft.loc, hint)


def table_of(b: Builder, items: tuple[Value, ...], loc: Loc | None) -> Tensor | None:
    """Return the numbers of a tuple as an array to look them up in; None if some are arrays."""
    numbers: list[Number] = []
    for item in items:
        found = number_of(item.value, loc) if isinstance(item, Known) else item
        if not isinstance(found, Number):
            return None
        numbers.append(found)
    if not numbers or len(numbers) > LARGEST:
        return None
    kind = common_dtype(tuple((n.dtype, n.weak) for n in numbers), loc)
    weak = all(number.weak for number in numbers)
    values = [cast(number.expr, kind, loc) for number in numbers]
    if not all(isinstance(value, Const) for value in values):
        return replace(nested(b, Sequence(items), kind, loc), weak=weak)
    array = np.array([v.value for v in values if isinstance(v, Const)], kind.numpy)
    known = _table(array.tobytes(), kind.value)
    return replace(global_array(b, "table", known, loc), weak=weak)


@functools.cache
def _table(data: bytes, dtype: str) -> np.ndarray:
    """Return the one array with these elements, so that equal tables share memory."""
    return np.frombuffer(data, dtype)


def nested(b: Builder, value: Sequence, dtype: DType | None, loc: Loc | None) -> Tensor:
    """Return `np.array([[a, b], [c, d]])`, of numbers or of arrays of one shape."""
    if any(isinstance(leaf, Tensor) for leaf in _flat(b, value, loc)):
        return _rows(b, value, dtype, loc)
    shape = _shape(value, loc)
    items = [leaf for leaf in _flat(b, value, loc) if isinstance(leaf, Number)]
    if len(items) > LARGEST:
        refuse(
            "PO0151", f"an array literal of {len(items)} elements", loc, "use np.zeros or np.full"
        )
    kinds = tuple((item.dtype, item.weak) for item in items)
    kind = dtype or (common_dtype(kinds, loc) if kinds else DType.FLOAT64)
    buffer = b.new_buffer("literal", kind, tuple(integer(n) for n in shape))
    places = itertools.product(*(range(n) for n in shape))
    for place, item in zip(places, items, strict=True):
        target = Load(buffer.name, tuple(integer(i) for i in place), kind)
        b.emit((), target, cast(item.expr, kind, loc))
    return view_of(buffer)


def _rows(b: Builder, value: Sequence, dtype: DType | None, loc: Loc | None) -> Tensor:
    """Return arrays and nested lists of one shape as the rows of a new array."""
    parts = [_row(b, item, dtype, loc) for item in value.items]
    shape = parts[0].shape
    if any(part.rank != len(shape) for part in parts):
        refuse("PO0140", "the rows of an array literal differ in rank", loc)
    for part in parts[1:]:
        pairs = zip(shape, part.shape, strict=True)
        shape = tuple(equate(b, one, other, "array literal", loc) for one, other in pairs)
    kind = dtype or common_dtype(tuple((part.dtype, part.weak) for part in parts), loc)
    whole = view_of(b.new_buffer("rows", kind, (integer(len(parts)), *shape)))
    for number, part in enumerate(parts):
        store(b, _layer(whole, number), part, loc)
    return Tensor((integer(len(parts)), *shape), kind, whole.at, whole.view)


def _layer(whole: Tensor, number: int) -> Tensor:
    place = integer(number)
    return remapped(whole, whole.shape[1:], lambda inner: (place, *inner))


def _row(b: Builder, value: Value, dtype: DType | None, loc: Loc | None) -> Tensor:
    found = as_sequence(value)
    if isinstance(found, Sequence):
        return nested(b, found, dtype, loc)
    return as_tensor(settled(b, operand(found, loc)))


def _shape(value: Value, loc: Loc | None) -> tuple[int, ...]:
    found = as_sequence(value)
    if not isinstance(found, Sequence):
        return ()
    inner = {_shape(item, loc) for item in found.items}
    if len(inner) > 1:
        hint = "give every row as many elements"
        refuse("PO0140", "the rows of an array literal differ in length", loc, hint)
    return (len(found.items), *(inner.pop() if inner else ()))


def _flat(b: Builder, value: Value, loc: Loc | None) -> list[Operandish]:
    found = as_sequence(value)
    if isinstance(found, Sequence):
        return [leaf for item in found.items for leaf in _flat(b, item, loc)]
    return [settled(b, operand(found, loc))]


def array_or_number(b: Builder, value: Value, loc: Loc | None) -> Operandish:
    """Return what NumPy makes of an argument: a list is an array."""
    found = as_sequence(value)
    if isinstance(found, Iterated) and found.as_array is not None:
        return found.as_array()
    return nested(b, found, None, loc) if isinstance(found, Sequence) else operand(found, loc)


def beside_arrays(b: Builder, values: tuple[Value, ...], loc: Loc | None) -> tuple[Value, ...]:
    """Return operands of an operator: a list beside an array is an array, too."""
    if not any(isinstance(value, Tensor) for value in values):
        return values
    parts = tuple(as_sequence(value) for value in values)
    lists = (Sequence, Iterated)
    return tuple(array_or_number(b, p, loc) if isinstance(p, lists) else p for p in parts)


def as_sequence(value: Value) -> Value:
    """Return a Python tuple or list known while compiling as a sequence of values."""
    if isinstance(value, Known) and isinstance(value.value, tuple | list):
        return Sequence(tuple(as_sequence(Known(item)) for item in value.value))
    return value
