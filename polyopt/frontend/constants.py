"""Arrays whose elements are known: module-level arrays and nested lists.

In: a NumPy array of the function's globals, or nested sequences of numbers.  Out: arrays of the
kernel whose elements are set one by one.
Refuses: arrays of more than `LARGEST` elements (PO0124).
"""

from __future__ import annotations

import itertools

import numpy as np

from polyopt.errors import Loc
from polyopt.frontend.builder import Builder, Draft
from polyopt.frontend.codes import refuse
from polyopt.frontend.domains import Scope
from polyopt.frontend.memory import settled
from polyopt.frontend.operators import operand
from polyopt.frontend.promote import cast, common_dtype
from polyopt.frontend.values import Known, Number, Sequence, Tensor, Value, view_of
from polyopt.ir.expr import Const, Load, integer
from polyopt.ir.types import DType

LARGEST = 256


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
        order = (integer(-1), integer(len(b.drafts)))
        value = Const(array[place].item(), dtype)
        b.drafts.append(Draft(Scope(order=order), target, value, None, loc, b.text))
    return view_of(buffer)


def nested(b: Builder, value: Sequence, dtype: DType | None, loc: Loc | None) -> Tensor:
    """Return `np.array([[a, b], [c, d]])`."""
    shape = _shape(value, loc)
    items = _flat(b, value, loc)
    if not items or len(items) > LARGEST:
        refuse(
            "PO0151", f"an array literal of {len(items)} elements", loc, "use np.zeros or np.full"
        )
    kinds = tuple((item.dtype, item.weak) for item in items)
    kind = dtype or common_dtype(kinds, loc)
    buffer = b.new_buffer("literal", kind, tuple(integer(n) for n in shape))
    places = itertools.product(*(range(n) for n in shape))
    for place, item in zip(places, items, strict=True):
        target = Load(buffer.name, tuple(integer(i) for i in place), kind)
        b.emit((), target, cast(item.expr, kind, loc))
    return view_of(buffer)


def _shape(value: Value, loc: Loc | None) -> tuple[int, ...]:
    if not isinstance(value, Sequence):
        return ()
    inner = {_shape(item, loc) for item in value.items}
    if len(inner) > 1:
        refuse("PO0140", "the rows of an array literal differ in length", loc)
    return (len(value.items), *(inner.pop() if inner else ()))


def _flat(b: Builder, value: Value, loc: Loc | None) -> list[Number]:
    if isinstance(value, Sequence):
        return [number for item in value.items for number in _flat(b, item, loc)]
    found = settled(b, operand(value, loc))
    if isinstance(found, Tensor):
        refuse("PO0151", "an array inside an array literal", loc, "assign it to a slice")
    return [found]


def as_sequence(value: Value) -> Value:
    """Return a Python tuple or list known while compiling as a sequence of values."""
    if isinstance(value, Known) and isinstance(value.value, tuple | list):
        return Sequence(tuple(as_sequence(Known(item)) for item in value.value))
    return value
