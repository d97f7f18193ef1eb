"""Call a library through ctypes: the slow way in, for interpreters without `Python.h`.

In: a library, its `Source`.  Out: an object with the functions of the C wrapper.
Refuses: as the C wrapper does, by returning NotImplemented.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from polyopt.errors import ArgumentError
from polyopt.ir.source import ArrayArg, ConstArg, CParam, CParamKind, ScalarArg, Source
from polyopt.ir.types import DType
from polyopt.never import assert_never
from polyopt.runtime.check import Bound, check_call
from polyopt.runtime.process import join
from polyopt.runtime.results import NO_MEMORY, Support, results_of, trimmed
from polyopt.runtime.sharing import address
from polyopt.runtime.values import AnyArray


class _Complex64(ctypes.Structure):
    _fields_ = (("real", ctypes.c_float), ("imag", ctypes.c_float))


class _Complex128(ctypes.Structure):
    _fields_ = (("real", ctypes.c_double), ("imag", ctypes.c_double))


_CTYPES: dict[DType, type[Any]] = {
    DType.BOOL: ctypes.c_bool,
    DType.INT8: ctypes.c_int8,
    DType.INT16: ctypes.c_int16,
    DType.INT32: ctypes.c_int32,
    DType.INT64: ctypes.c_int64,
    DType.UINT8: ctypes.c_uint8,
    DType.UINT16: ctypes.c_uint16,
    DType.UINT32: ctypes.c_uint32,
    DType.UINT64: ctypes.c_uint64,
    DType.FLOAT16: ctypes.c_float,
    DType.BFLOAT16: ctypes.c_float,
    DType.FLOAT32: ctypes.c_float,
    DType.FLOAT64: ctypes.c_double,
    DType.COMPLEX64: _Complex64,
    DType.COMPLEX128: _Complex128,
}

_PYTHON: Mapping[DType, type] = {
    DType.BOOL: bool, DType.INT64: int, DType.FLOAT64: float, DType.COMPLEX128: complex,
}  # fmt: skip

_ASK = ctypes.CFUNCTYPE(ctypes.c_int)
_LIBRARY = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_int64)
)


class ForeignKernel:
    """A library's entry with the interface of the C wrapper."""

    def __init__(
        self,
        path: Path,
        source: Source,
        numbers: Sequence[int],
        threads: int,
        process: int | None = None,
    ) -> None:
        library = ctypes.CDLL(str(path))
        self._source = source
        self._weak = [bool(flags & 1) for flags in numbers]
        self._entry = getattr(library, source.entry)
        self._entry.argtypes = [_ctype(param) for param in source.params]
        self._entry.restype = ctypes.c_int
        self._numbers = _thread_numbers(library, source, process)
        self._signals = _signal_functions(library)
        self._threads = threads
        self._process = os.getpid() if process is None else None
        self._support = Support(source.signature)
        self._keeps = not (source.signature.outputs or source.signature.library)
        self._last: tuple[object, list[object]] = (None, [])

    def call(self, *values: object) -> object:
        """Run the kernel, or return NotImplemented when an argument does not fit."""
        return self._checked(values, None)

    def _checked(self, values: tuple[object, ...], key: object) -> object:
        """Do as `call` does; `key` is kept with what is passed, for calls with the same one."""
        if self.is_forked():
            return NotImplemented
        try:
            bound = check_call(self._source.signature, values)
        except ArgumentError:
            return NotImplemented
        return self._run(bound, values, key)

    def dispatch(self, *values: object) -> object:
        """Do as `call` does, for numbers of exactly the types that it was made for."""
        key = _key(values) if self._keeps else None
        last, passed = self._last
        if key is not None and key == last and not self.is_forked():
            self._enter(passed, [], values)
            return results_of(self._source.signature, {}, values)
        arguments = self._source.signature.arguments
        if len(values) != len(arguments):
            return NotImplemented
        weak = iter(self._weak)
        for argument, value in zip(arguments, values, strict=True):
            match argument:
                case ScalarArg(dtype=dtype):
                    wanted = _PYTHON.get(dtype) if next(weak) else dtype.numpy.type
                    if type(value) is not wanted:
                        return NotImplemented
                case ConstArg(known=known):
                    if type(value) is not type(known) or value != known:
                        return NotImplemented
                case ArrayArg():
                    pass
                case _:
                    assert_never(argument)
        return self._checked(values, key)

    def is_forked(self) -> bool:
        """Tell whether this is a forked child and not yet serial."""
        return None not in (self._numbers, self._process) and self._process != os.getpid()

    def set_threads(self, count: int) -> None:
        """Run on `count` threads from now on."""
        self._threads = count
        if self._process is not None:
            self._process = os.getpid()

    def _run(self, bound: Bound, values: tuple[object, ...], key: object) -> object:
        signature = self._source.signature
        arrays = dict(bound.arrays)
        try:
            for output in signature.outputs:
                arrays[output.array] = np.empty(bound.shapes[output.array], output.dtype.numpy)
        except MemoryError:
            self._support.fail(NO_MEMORY)
        errors: list[BaseException] = []
        callback = _LIBRARY(self._callback(errors)) if signature.library else None
        passed = [_value(param, arrays, bound, callback) for param in self._source.params]
        if key is not None:
            self._last = key, passed
        self._enter(passed, errors, values)
        return results_of(signature, trimmed(signature, arrays, self._support), values)

    def _enter(
        self, passed: list[object], errors: list[BaseException], values: tuple[object, ...]
    ) -> None:
        """Run the entry; raise what came up meanwhile, or the error that its status tells of."""
        status = self._listening(passed, errors)
        if status < 0 and errors:
            raise errors[0]
        if status != 0:
            self._support.fail(status, values)

    def _callback(self, errors: list[BaseException]) -> Callable[..., int]:
        """Return the function that the kernel calls for library functions."""

        def call(site: int, data: Any, extents: Any) -> int:  # noqa: ANN401
            library = self._source.signature.library[site]
            kinds = (*library.inputs, *library.outputs)
            count = sum(rank for _, rank in kinds)
            try:
                self._support.library(site, data[: len(kinds)], extents[:count])
            except BaseException as error:
                errors.append(error)
                return -1
            return 0

        return call

    def _listening(self, passed: list[object], errors: list[BaseException]) -> int:
        """Run the entry; what the interpreter's handler of Ctrl-C raises meanwhile is an error."""
        is_asked = threading.current_thread() is threading.main_thread()
        if self._signals is None or not is_asked:
            return self._call_entry(passed)
        listen, unlisten = self._signals
        answers = _answers(errors)
        next(answers)
        ask = _ASK(answers.__next__)
        before = listen(ask)
        try:
            return self._call_entry(passed)
        finally:
            unlisten(before)

    def _call_entry(self, passed: list[object]) -> int:
        if self._numbers is None:
            return int(self._entry(*passed))
        get, set_ = self._numbers
        before = get()
        set_(self._threads)
        try:
            return int(self._entry(*passed))
        finally:
            set_(before)


def _answers(errors: list[BaseException]) -> Iterator[int]:
    """Let the interpreter handle its signals at each step; yield 0, or -1 where that raised.

    A generator that has begun, since a function handles them at its start, before any `try`.
    """
    while True:
        try:
            yield 0
            for _ in range(2):
                pass
        except GeneratorExit:
            return
        except BaseException as error:
            errors.append(error)
        while errors:
            yield -1


def _signal_functions(
    library: ctypes.CDLL,
) -> tuple[Callable[[object], int | None], Callable[[int | None], None]] | None:
    """Return what makes a library listen to Ctrl-C, and ends that; None: it was saved before."""
    if not hasattr(library, "po_listen"):
        return None
    library.po_listen.restype = ctypes.c_void_p
    library.po_unlisten.argtypes, library.po_unlisten.restype = [ctypes.c_void_p], None
    return library.po_listen, library.po_unlisten


def _key(values: tuple[object, ...]) -> tuple[object, ...] | None:
    """Return what decides what a call passes on: addresses, shapes, numbers; None to check again.

    A call with the key of the one before needs no other check.  Zeros have signs that `==` hides.
    """
    found: list[object] = []
    for value in values:
        if type(value) is np.ndarray:
            writeable = value.flags.writeable
            found.append((address(value), value.shape, value.strides, value.dtype, writeable))
        elif type(value) in (bool, int) or (type(value) is float and value != 0.0):
            found.append((type(value), value))
        else:
            return None
    return tuple(found)


def _thread_numbers(
    library: ctypes.CDLL, source: Source, process: int | None
) -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """Return what tells and sets the number of threads; None for a kernel that has one."""
    if process is not None:
        join(library, process)
        return library.po_wanted, library.po_want
    # without parallel regions the linker leaves OpenMP's library out
    if source.openmp and hasattr(library, "omp_get_max_threads"):
        return library.omp_get_max_threads, library.omp_set_num_threads
    return None


def _ctype(param: CParam) -> type[Any]:
    match param.kind:
        case CParamKind.ARRAY:
            return ctypes.c_void_p
        case CParamKind.SIZE | CParamKind.STRIDE:
            return ctypes.c_int64
        case CParamKind.SCALAR:
            return _CTYPES[param.dtype]
        case CParamKind.LIBRARY:
            return _LIBRARY
        case _:
            assert_never(param.kind)


def _value(param: CParam, arrays: Mapping[str, AnyArray], bound: Bound, callback: object) -> object:
    match param.kind:
        case CParamKind.ARRAY:
            return address(arrays[param.name])
        case CParamKind.SIZE:
            return bound.sizes[param.name]
        case CParamKind.STRIDE:
            array = arrays[param.name]
            return array.strides[param.dim] // array.itemsize
        case CParamKind.SCALAR:
            value: Any = bound.symbols[param.name]
            if param.dtype.is_complex:
                return _CTYPES[param.dtype](value.real, value.imag)
            return value.item()
        case CParamKind.LIBRARY:
            return callback
        case _:
            assert_never(param.kind)
