"""Arrays and numbers as callers pass them: what they are, and what polyopt cannot take.

In: any Python value.  Out: a NumPy array over the same memory, a dtype.
Refuses: what is no array (PO0206), element types without C counterpart (PO0202).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from polyopt.dataclass import dataclass
from polyopt.errors import ArgumentError, Loc
from polyopt.ir.types import DType

AnyArray: TypeAlias = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class _Memory:
    """Memory as NumPy takes it; `owner` keeps it."""

    __array_interface__: dict[str, object]
    owner: object


def array_at(
    place: int,
    dtype: np.dtype[Any],
    shape: Sequence[int],
    strides: Sequence[int] | None = None,
    *,
    writable: bool = True,
    owner: object = None,
) -> AnyArray:
    """Return an array over memory at an address, which `owner` keeps; strides are in bytes."""
    facts = {
        "data": (place, not writable),
        "shape": tuple(shape),
        "strides": None if strides is None else tuple(strides),
        "typestr": dtype.str,
        "version": 3,
    }
    array = np.asarray(_Memory(facts, owner))
    return array if array.dtype == dtype else array.view(dtype)  # bfloat16 has no such name


def array_of(value: object) -> AnyArray | None:
    """Return `value` as an array over the same memory, or None when it is not an array.

    NumPy's numbers are not arrays here; matrices and masked arrays are not either: their operators
    mean something else.
    """
    if type(value) is np.ndarray:
        return value
    if isinstance(value, np.ndarray):  # the module of masked arrays is imported for no other
        is_another = isinstance(value, np.matrix | np.ma.MaskedArray)
        return None if is_another else value.view(np.ndarray)
    if isinstance(value, np.generic | str):
        return None
    try:
        return np.asarray(memoryview(value))  # type: ignore[arg-type]
    except (TypeError, ValueError, BufferError):
        return _of_dlpack(value)


_PROCESSOR = 1  # kDLCPU


def _of_dlpack(value: Any) -> AnyArray | None:  # noqa: ANN401 - any library's array
    """Return another library's array in host memory as an array over its memory, or None.

    NumPy asks for it by DLPack (data-apis.org, "DLPack: an in-memory tensor structure"), and marks
    it as read-only where its library does not say that it may be written.
    """
    where = getattr(value, "__dlpack_device__", None)
    if where is None or not hasattr(value, "__dlpack__") or isinstance(value, type):
        return None
    try:
        if int(where()[0]) != _PROCESSOR:
            return None
        found: AnyArray = np.from_dlpack(value)
        return found
    except (TypeError, ValueError, BufferError, RuntimeError, AttributeError):
        return None  # an element type that NumPy has not, or not to be exported


def native_array(  # noqa: C901 - one hint for each kind of value
    name: str, value: object, loc: Loc | None
) -> AnyArray:
    """Return `value` as an array; raises `ArgumentError` PO0206 with what to pass instead."""
    array = array_of(value)
    if array is not None:
        return array
    match value:
        case None:
            hint = "pass a NumPy array"
        case np.ma.MaskedArray():
            hint = f"give masked elements a value: `{name}.filled(0)`, and pass the mask beside it"
        case np.matrix():
            hint = f"pass a plain array: `np.asarray({name})`"
        case list() | tuple() if _is_ragged(value):
            hint = "its items are no rows of one array: pass each as an argument of its own"
        case list() | tuple():
            hint = f"convert it once: `{name} = np.array({name})`"
        case dict():
            hint = f'its keys have to be names, its values arrays and numbers: `{name}["w"]`'
        case bool() | int() | float() | complex() | np.generic():
            hint = f"pass an array: `np.array({name})` is one of rank 0"
        case _ if _is_on_device(value):
            hint = f"pass `{name}.numpy()`, or compile for its device with `target=`"
        case _ if hasattr(value, "__cuda_array_interface__"):
            hint = 'copy it to host memory first, or compile for its device: `target="cuda"`'
        case _ if hasattr(value, "__array__"):
            hint = f"convert it: `np.asarray({name})`"
        case _ if hasattr(value, "__dlpack__"):
            hint = "its library does not export it as it is: pass a NumPy array of its values"
        case _:
            hint = "pass a NumPy array or an object with the buffer protocol"
    raise ArgumentError(
        "PO0206", f"`{name}` is {type_name(value)}, not an array", loc=loc, hint=hint
    )


def _is_ragged(items: list[object] | tuple[object, ...]) -> bool:
    """Tell whether NumPy makes no array of numbers of `items`."""
    try:
        return np.array(items).dtype.hasobject
    except (ValueError, TypeError, OverflowError, RecursionError):
        return True


def _is_on_device(value: object) -> bool:
    from polyopt.runtime.device.arrays import DeviceArray

    return isinstance(value, DeviceArray)


def dtype_known(name: str, dtype: np.dtype[Any], loc: Loc | None) -> DType:
    """Return the `DType` of a NumPy dtype; raises `ArgumentError` PO0202 when there is none."""
    if not dtype.isnative:
        raise ArgumentError(
            "PO0202",
            f"`{name}` has element type {dtype.str}, whose bytes are in foreign order",
            loc=loc,
            hint=f"convert it: `{name}.astype({name}.dtype.newbyteorder('='))`",
        )
    try:
        return DType(dtype.name)
    except ValueError:
        pass
    found = _BY_SIZE.get((dtype.kind, dtype.itemsize))
    if found is not None:
        return found
    raise ArgumentError(
        "PO0202",
        f"`{name}` has element type {dtype}, which polyopt does not compute with",
        loc=loc,
        hint=_other_type(name, dtype),
    )


_BY_SIZE = {  # `long` and `long long` are two types of one size, only one has the plain name
    ("i", 8): DType.INT64,
    ("u", 8): DType.UINT64,
    ("i", 4): DType.INT32,
    ("u", 4): DType.UINT32,
}


def _other_type(name: str, dtype: np.dtype[Any]) -> str:
    if dtype.names is not None:
        return f"pass one field: `{name}[{dtype.names[0]!r}]`"
    if dtype.kind == "M" or dtype.kind == "m":
        return f"pass its integers: `{name}.view(np.int64)`"
    if dtype.kind == "c":
        return f"convert it: `{name}.astype(np.complex128)`"
    if dtype.kind == "f" and dtype.itemsize < 4:
        return f"convert it: `{name}.astype(np.float32)`"
    return f"convert it: `{name}.astype(np.float64)`"


def type_name(value: object) -> str:
    """Return a value's type for a sentence: `a list`, `None`, `an int`."""
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"
