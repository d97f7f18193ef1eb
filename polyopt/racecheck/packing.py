"""Arguments of a call as files: numbers as JSON, arrays with the memory they share.

In: values.  Out: a JSON value and files in a directory; `unpack` makes equal values of them.
Refuses: values that a kernel cannot take (PO0202).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from polyopt.dataclass import dataclass
from polyopt.errors import ArgumentError
from polyopt.runtime.records import RecordError, from_json, to_json
from polyopt.runtime.values import AnyArray, array_of, type_name

_ALIGNMENT = 4096


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of memory that arrays lie in: addresses from `low` up to `high`."""

    low: int
    high: int


def pack(values: Sequence[object], directory: Path) -> object:
    """Write `values`; return what describes them."""
    plain = [value if isinstance(value, np.generic) else _array(value) for value in values]
    arrays = [value for value in plain if isinstance(value, np.ndarray)]
    segments = _segments(arrays)
    for number, segment in enumerate(segments):
        np.save(directory / f"segment{number}.npy", _bytes(arrays, segment), allow_pickle=False)
    phases = [segment.low % _ALIGNMENT for segment in segments]
    return {"phases": phases, "values": [_describe(value, segments) for value in plain]}


def unpack(
    packed: Any,  # noqa: ANN401
    directory: Path,
    *,
    exactly: bool = False,
) -> tuple[tuple[Any, ...], list[AnyArray]]:
    """Return the values that `pack` described, and the memory of their arrays.

    It lies at the same place in its page as before; with `exactly` it has no room around it, so
    that what watches the allocator sees accesses outside.
    """
    files = [directory / f"segment{number}.npy" for number in range(len(packed["phases"]))]
    loaded = [np.load(path, allow_pickle=False) for path in files]
    memory = [
        data.copy() if exactly else _placed(data, phase)
        for data, phase in zip(loaded, packed["phases"], strict=True)
    ]
    return tuple(_restore(value, memory) for value in packed["values"]), memory


def save_memory(memory: Sequence[AnyArray], directory: Path) -> None:
    """Write the memory of arrays over what `pack` wrote."""
    for number, segment in enumerate(memory):
        np.save(directory / f"segment{number}.npy", segment, allow_pickle=False)


def _array(value: object) -> object:
    array = array_of(value)
    return value if array is None else array


def _bounds(array: AnyArray) -> Segment:
    """Return the memory between the first and the last element of an array that has some."""
    low = high = int(array.ctypes.data)
    for extent, stride in zip(array.shape, array.strides, strict=True):
        low += min(0, (extent - 1) * stride)
        high += max(0, (extent - 1) * stride)
    return Segment(low, high + array.itemsize)


def _segments(arrays: Sequence[AnyArray]) -> list[Segment]:
    """Return the memory of all arrays, joined where they overlap."""
    joined: list[Segment] = []
    found = sorted((_bounds(a) for a in arrays if a.size), key=lambda s: (s.low, s.high))
    for segment in found:
        if joined and segment.low < joined[-1].high:
            joined[-1] = Segment(joined[-1].low, max(joined[-1].high, segment.high))
        else:
            joined.append(segment)
    return joined


def _bytes(arrays: Sequence[AnyArray], segment: Segment) -> AnyArray:
    """Return a copy of the elements in `segment`; bytes between them are zero."""
    copy = np.zeros(segment.high - segment.low, np.uint8)
    for array in arrays:
        if array.size and segment.low <= _bounds(array).low < segment.high:
            _view(copy, array.dtype, array.shape, array.strides, _offset(array, segment))[...] = (
                array
            )
    return copy


def _offset(array: AnyArray, segment: Segment) -> int:
    return int(array.ctypes.data) - segment.low


def _view(
    memory: AnyArray,
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    offset: int,
) -> AnyArray:
    view: AnyArray = np.ndarray(shape, dtype, memory.data, offset, strides)
    return view


def _placed(data: AnyArray, phase: int) -> AnyArray:
    """Return a copy of `data` whose address is `phase` behind a multiple of the alignment."""
    room = np.zeros(data.size + 2 * _ALIGNMENT, np.uint8)
    start = (phase - int(room.ctypes.data)) % _ALIGNMENT
    memory: AnyArray = room[start : start + data.size]
    memory[:] = data
    return memory


def _describe(value: object, segments: Sequence[Segment]) -> object:
    if isinstance(value, np.generic):
        return ["number", value.dtype.str, value.tobytes().hex()]
    if not isinstance(value, np.ndarray):
        try:
            return ["value", to_json(value)]
        except RecordError:
            raise ArgumentError(
                "PO0202",
                f"{type_name(value)} cannot be given to a kernel",
                hint="pass arrays and numbers",
            ) from None
    kind = [value.dtype.str, list(value.shape), list(value.strides)]
    if value.size == 0:
        return ["empty", *kind]
    place = _bounds(value)
    number = next(k for k, s in enumerate(segments) if s.low <= place.low < s.high)
    return ["array", *kind, number, _offset(value, segments[number])]


def _restore(described: Any, memory: Sequence[AnyArray]) -> Any:  # noqa: ANN401
    match described:
        case ["number", dtype, data]:
            return np.frombuffer(bytes.fromhex(data), np.dtype(dtype))[0]
        case ["value", data]:
            return from_json(data)
        case ["empty", dtype, shape, _]:
            return np.empty(tuple(shape), np.dtype(dtype))
        case ["array", dtype, shape, strides, number, offset]:
            kind = np.dtype(dtype)
            return _view(memory[number], kind, tuple(shape), tuple(strides), offset)
        case _:
            raise RecordError("a packed value is malformed")
