"""DLPack's capsules, read and made through ctypes.

In: a capsule, or a `Tensor`.  Out: the other one; the memory lives as long as either side needs it.
Refuses: element types without a `DType`, by None.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from polyopt.dataclass import dataclass
from polyopt.ir.types import DType, Kind

CPU, CUDA, CUDA_MANAGED = 1, 2, 13
_NAME = b"dltensor"
_BFLOAT = 4
_CODES = {Kind.SIGNED: 0, Kind.UNSIGNED: 1, Kind.FLOAT: 2, Kind.COMPLEX: 5, Kind.BOOL: 6}


@dataclass(frozen=True, slots=True)
class Tensor:
    """What a capsule says of an array; `strides` are in bytes."""

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: DType
    kind: int
    device: int


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Managed(ctypes.Structure):
    _fields_ = (
        ("tensor", _Tensor),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


_api = ctypes.pythonapi
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", _api)
)
_pointer_of_dying = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", _api)
)
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_IsValid", _api)
)
_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", _api)
)
_keep = ctypes.PYFUNCTYPE(None, ctypes.py_object)(("Py_IncRef", _api))
_release = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(("Py_DecRef", _api))


def take(capsule: object) -> Tensor | None:
    """Return what `capsule` holds; the memory stays as long as the caller keeps the capsule."""
    address = _pointer(capsule, _NAME)
    found: Any = _Managed.from_address(address).tensor
    size = found.bits // 8
    dtype = _dtype(found.code, size)
    if dtype is None or found.lanes != 1:
        return None
    shape = tuple(found.shape[d] for d in range(found.ndim))
    if found.strides:
        strides = tuple(found.strides[d] * size for d in range(found.ndim))
    else:
        strides = _dense(shape, size)
    pointer = (found.data or 0) + found.byte_offset
    return Tensor(pointer, shape, strides, dtype, found.device_type, found.device_id)


def _dtype(code: int, size: int) -> DType | None:
    if (code, size) == (_BFLOAT, 2):
        return DType.BFLOAT16
    kind = next((kind for kind, number in _CODES.items() if number == code), None)
    if kind is None:
        return None
    try:
        return DType(np.dtype("?" if kind is Kind.BOOL else f"{kind.value}{size}").name)
    except (TypeError, ValueError):
        return None


def _dense(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    strides: list[int] = []
    for extent in reversed(shape):
        strides.append(size)
        size *= max(1, extent)
    return tuple(reversed(strides))


class _Given:
    """A record that a capsule points to, with all it needs; it lives by its own reference."""

    def __init__(self, tensor: Tensor, owner: object) -> None:
        rank = len(tensor.shape)
        size = tensor.dtype.size
        self.owner = owner
        self.shape = (ctypes.c_int64 * rank)(*tensor.shape)
        self.strides = (ctypes.c_int64 * rank)(*(stride // size for stride in tensor.strides))
        code = _BFLOAT if tensor.dtype is DType.BFLOAT16 else _CODES[tensor.dtype.kind]
        record = _Tensor(
            tensor.pointer, tensor.kind, tensor.device, rank, code, 8 * size, 1,
            self.shape, self.strides, 0,
        )  # fmt: skip
        deleter = ctypes.cast(_DELETER, ctypes.c_void_p).value
        self.managed = _Managed(record, id(self), deleter)


def give(tensor: Tensor, owner: object) -> object:
    """Return a capsule of `tensor`; whoever takes it keeps `owner` until done with the memory."""
    given = _Given(tensor, owner)
    _keep(given)
    destructor = ctypes.cast(_DESTRUCTOR, ctypes.c_void_p)
    return _new(ctypes.addressof(given.managed), _NAME, destructor)


def _delete(address: int) -> None:
    """End the reference that `give` made."""
    _release(_Managed.from_address(address).context)


def _forget(capsule: int) -> None:
    """Delete what nobody has taken."""
    if _is_valid(capsule, _NAME):
        _delete(_pointer_of_dying(capsule, _NAME))


_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_delete)
_DESTRUCTOR = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(_forget)
