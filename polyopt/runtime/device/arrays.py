"""Arrays that are on a device already: taken without a copy, and given back so.

In: objects with `__cuda_array_interface__` or DLPack (CuPy, PyTorch).  Out: `DeviceArray`, which
has both, too.
Refuses: an element type, an address or a device that kernels cannot take (PO0216).
DLPack's capsules are read and made through ctypes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import suppress
from math import prod
from typing import Any

import numpy as np

from polyopt.dataclass import dataclass
from polyopt.errors import ArgumentError, PolyoptError
from polyopt.ir.types import DType, Kind
from polyopt.runtime.device.provider import AnyArray, Buffer, Provider, Streamed
from polyopt.runtime.device.streams import DEFAULT, current_stream

_NO_STREAM = -1  # DLPack's word for a taker that does not want to wait


@dataclass(frozen=True, slots=True, eq=False)
class DeviceArray:
    """An array in a device's memory; `strides` are in bytes, `owner` keeps the memory.

    `kept` is memory that has no address for other libraries; `pointer` only tells such arrays
    apart.  `stream` is where the memory is written, as a number, where its giver said so; `lead`
    has another stream wait for that.
    """

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: DType
    device: int
    writable: bool
    owner: object
    stream: int | None = None
    fetch: Callable[[AnyArray], None] | None = None
    lead: Callable[[int], None] | None = None
    kept: Buffer | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of its elements."""
        return prod(self.shape) * self.dtype.size

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements lie in C order without gaps."""
        return self.nbytes == 0 or all(
            stride == dense
            for extent, stride, dense in zip(
                self.shape, self.strides, dense_strides(self.shape, self.dtype.size), strict=True
            )
            if extent != 1
        )

    @property
    def buffer(self) -> Buffer:
        """The memory, to pass to kernels."""
        return self.kept or Buffer(self.pointer, self.reach, self.owner)

    @property
    def reach(self) -> int:
        """Bytes from element 0 to the end of the farthest element."""
        steps = zip(self.strides, self.shape, strict=True)
        last = sum(max(stride, 0) * (extent - 1) for stride, extent in steps)
        return last + self.dtype.size if self.nbytes else 0

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        if self.kept is not None:
            raise AttributeError("this memory is not a CUDA device's")
        return {
            "shape": self.shape,
            "typestr": self.dtype.numpy.str,
            "data": (self.pointer if self.nbytes else 0, not self.writable),
            "strides": None if self.is_contiguous else self.strides,
            "version": 3,
            "stream": self.stream or DEFAULT,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        if self.kept is not None:
            raise BufferError("this memory is not a CUDA device's: take `.numpy()`")
        return CUDA, self.device

    def __dlpack__(self, *, stream: int | None = None, **_: object) -> object:
        self.__dlpack_device__()
        if self.lead is not None and stream != _NO_STREAM:
            self.lead(stream or DEFAULT)
        return give(
            Tensor(self.pointer, self.shape, self.strides, self.dtype, CUDA, self.device), self
        )

    def numpy(self) -> AnyArray:
        """Return a copy in host memory."""
        array = np.empty(self.shape, self.dtype.numpy)
        if self.fetch is None or not self.is_contiguous:
            raise ArgumentError(
                "PO0216",
                "this array is a view of another library's memory",
                hint="copy it with that library: `cupy.asnumpy(a)`, `a.cpu().numpy()`",
            )
        self.fetch(array)
        return array


def dense_strides(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    """Return the strides of an array in C order whose elements have a size: in bytes, or 1."""
    strides: list[int] = []
    for extent in reversed(shape):
        strides.append(size)
        size *= max(1, extent)
    return tuple(reversed(strides))


def device_array_of(name: str, value: object) -> DeviceArray | None:
    """Return argument `name` as an array on a CUDA device, or None where it is none."""
    if isinstance(value, DeviceArray):
        return value
    if isinstance(value, np.ndarray | np.generic):
        return None
    facts = _interface(value)
    if isinstance(facts, dict):
        return _aligned(name, _from_interface(name, value, facts))
    where = getattr(value, "__dlpack_device__", None)
    if where is None or int(where()[0]) not in (CUDA, CUDA_MANAGED):
        return None
    capsule = _capsule(name, value)
    tensor = take(capsule)
    if tensor is None:
        raise _unknown(name, "an element type that kernels do not have")
    array = DeviceArray(
        tensor.pointer,
        tensor.shape,
        tensor.strides,
        tensor.dtype,
        tensor.device,
        writable=True,
        owner=(capsule, value),
        stream=current_stream(value),
    )
    return _aligned(name, array)


def _aligned(name: str, array: DeviceArray) -> DeviceArray:
    """Return `array`; kernels read a complex number at once, where NumPy reads its parts."""
    if array.dtype.is_complex and array.nbytes and array.pointer % array.dtype.size:
        raise ArgumentError(
            "PO0216",
            f"`{name}` is on a device at an address that is no multiple of {array.dtype.size}",
            hint=f"copy it with its own library, for example `{name}.copy()`",
        )
    return array


def _interface(value: Any) -> object:  # noqa: ANN401 - any library's array
    """Return what an array says of itself; PyTorch raises where it cannot say it."""
    try:
        return getattr(value, "__cuda_array_interface__", None)
    except Exception:  # DLPack has the last word
        return None


def _capsule(name: str, value: Any) -> object:  # noqa: ANN401 - any library's array
    """Return a capsule; the default stream is in order with the one that the array is written in.

    That one is asked for apart, so that it waits for what the call writes, too.
    """
    try:
        return value.__dlpack__(stream=DEFAULT)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise ArgumentError(
            "PO0216",
            f"`{name}` is on a device, and its library does not give it: {error}",
            hint=f"pass what it can give, for example `{name}.detach()`",
        ) from None


def _from_interface(name: str, value: object, facts: dict[str, Any]) -> DeviceArray:
    if facts.get("mask") is not None:
        raise _unknown(name, "a mask")
    try:
        dtype = DType(np.dtype(facts["typestr"]).name)
    except (TypeError, ValueError):
        raise _unknown(name, f"element type {facts['typestr']}") from None
    shape = tuple(int(extent) for extent in facts["shape"])
    pointer, read_only = facts["data"]
    given = facts.get("strides")
    strides = dense_strides(shape, dtype.size) if given is None else tuple(int(s) for s in given)
    return DeviceArray(
        int(pointer or 0),
        shape,
        strides,
        dtype,
        device=_device_of(value),
        writable=not read_only,
        owner=value,
        stream=facts.get("stream") or current_stream(value),
    )


def _device_of(value: Any) -> int:  # noqa: ANN401 - any library's array
    where = getattr(value, "__dlpack_device__", None)
    return 0 if where is None else int(where()[1])


def _unknown(name: str, what: str) -> ArgumentError:
    return ArgumentError(
        "PO0216",
        f"`{name}` is on a device and has {what}",
        hint=f"convert it with its own library, for example `{name}.astype('float32')`",
    )


def new_array(
    provider: Provider, buffer: Buffer, shape: tuple[int, ...], dtype: DType
) -> DeviceArray:
    """Return `buffer` as an array that frees it when nobody has it any more."""
    has_address = isinstance(buffer.handle, int)
    return DeviceArray(
        buffer.handle if has_address else _PLACES.take(buffer.nbytes),
        shape,
        dense_strides(shape, dtype.size),
        dtype,
        0,
        writable=True,
        owner=_Freed(provider, buffer),
        stream=provider.stream if isinstance(provider, Streamed) else None,
        fetch=lambda array: provider.download(buffer, array),
        lead=provider.lead if isinstance(provider, Streamed) else None,
        kept=None if has_address else buffer,
    )


@dataclass(slots=True)
class _Places:
    """Numbers in place of addresses, far from those of the host."""

    next: int = 1 << 62

    def take(self, nbytes: int) -> int:
        """Return a place with room for `nbytes` that was not given before."""
        place, self.next = self.next, self.next + (nbytes | 0xFFFF) + 1
        return place


_PLACES = _Places()


class _Freed:
    """Frees a buffer with its last user."""

    def __init__(self, provider: Provider, buffer: Buffer) -> None:
        self._provider, self._buffer = provider, buffer

    def __del__(self) -> None:
        with suppress(PolyoptError):  # nobody is left to tell
            self._provider.free(self._buffer)


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
        strides = dense_strides(shape, size)
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
