"""A device program that is called like a compiled kernel.

In: a `DeviceProgram`, a provider, arguments.  Out: results; written arguments in place.
Refuses: what `check_call` refuses, by returning NotImplemented; raises the faults of the program.
Arrays stay on the device for the whole call, and arguments that are there already stay there, with
the results of a call that has one; such a call waits only for what the host reads: elements that
its loops and conditions need, faults, results that are no arrays.
Arrays are in the device's memory for the time of a call.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from math import prod
from typing import Any

import numpy as np

from polyopt.dataclass import dataclass, field, replace
from polyopt.errors import ArgumentError, ToolchainError
from polyopt.ir.array import Array, Role
from polyopt.ir.evaluate import Frame, compile_expr, compile_index, convert
from polyopt.ir.host import DeviceProgram
from polyopt.ir.integers import evaluate
from polyopt.ir.library import call_library
from polyopt.ir.loops import Kernel
from polyopt.ir.run_loops import Action, Failed, Setting, allocated, compile_body, raise_faults
from polyopt.ir.source import (
    ArrayArg,
    KernelEntry,
    KernelParam,
    KernelParamKind,
    LibraryCall,
    ResultKind,
)
from polyopt.ir.types import DType
from polyopt.never import assert_never
from polyopt.runtime.check import Bound, check_call
from polyopt.runtime.device.arrays import DeviceArray, dense_strides, new_array
from polyopt.runtime.device.provider import AnyArray, Buffer, KernelArgument, Module, Provider
from polyopt.runtime.device.streams import in_order
from polyopt.runtime.device.views import array_on_device, viewed
from polyopt.runtime.library import Loaded
from polyopt.runtime.results import NO_MEMORY, Support, results_of, trimmed
from polyopt.runtime.sharing import address

MOST_COUNTED = 2**32 - 1
"""Blocks that a number of 32 bits counts."""


class DeviceKernel:
    """A device program with the interface of a loaded library; one call runs at a time."""

    def __init__(self, program: DeviceProgram, provider: Provider) -> None:
        entries = tuple(entry.name for entry in program.source.entries)
        module = provider.compile(program.text, entries, program.source.flags)
        faults = frozenset(a.name for a in program.arrays if a.role is Role.FAULT)
        self.provider = provider
        self._program = program
        self._memory = Memory(provider)
        self._faults = faults
        self._device = _Device(program, provider, module, self._memory)
        setting = Setting(program.signature, None, None, faults=faults, device=self._device)
        self._run_body = compile_body(program.body, setting)
        self._later = allocated(program.body)
        self._support = Support(program.signature)
        self._lock = threading.Lock()

    def call(self, *values: object) -> object:
        """Run the program, or return NotImplemented when an argument does not fit."""
        try:
            values = tuple(viewed("an argument", value) for value in values)
            bound = check_call(self._program.signature, values)
        except ArgumentError:
            return NotImplemented
        with self._lock:
            return self._run(bound, values)

    def is_forked(self) -> bool:
        """Tell whether threads must be set first: there are none."""
        return False

    def set_threads(self, count: int) -> None:
        """Do nothing: the host's part has one thread."""

    def _run(self, bound: Bound, values: tuple[object, ...]) -> object:
        signature = self._program.signature
        given = self._given(values)
        results: dict[str, Any] = {}
        try:
            for output in signature.outputs:
                results[output.array] = np.empty(bound.shapes[output.array], output.dtype.numpy)
        except MemoryError:
            self._support.fail(NO_MEMORY)
        streams = [array.stream for array in given.values()]
        with in_order(self.provider, streams), self._memory.call():
            frame = self._frame(bound, given)
            failed: int | None = None
            with np.errstate(all="ignore"):
                try:
                    self._run_body(frame)
                except Failed as stop:
                    failed = stop.fault
            if not given:
                self.provider.synchronize()
            kept = self._staying() if given else frozenset()
            self._fetch(bound, results, {*given, *kept})
            raise_faults(signature, self._noted(), failed)
            results |= {name: self._left_there(name) for name in kept}
        arrays = trimmed(signature, {**bound.arrays, **results}, self._support)
        return results_of(signature, arrays, values)

    def _given(self, values: tuple[object, ...]) -> dict[str, DeviceArray]:
        """Return the arguments that are on the device, by the names of their arrays."""
        arguments = zip(self._program.signature.arguments, values, strict=True)
        pairs = ((a.array, array_on_device(v)) for a, v in arguments if isinstance(a, ArrayArg))
        return {name: array for name, array in pairs if array is not None}

    def _staying(self) -> frozenset[str]:
        """Return the results that stay on the device with arguments that are there."""
        signature = self._program.signature
        whole = {output.array for output in signature.outputs if output.length is None}
        returned = {r.array for r in signature.results if r.kind is ResultKind.OUTPUT}
        return frozenset(whole & returned)

    def _left_there(self, name: str) -> DeviceArray:
        mirror = self._memory.keep(name)
        return new_array(self.provider, mirror.buffer, mirror.shape, mirror.dtype)

    def _frame(self, bound: Bound, given: Mapping[str, DeviceArray]) -> Frame:
        """Return the arrays on the device, with the arguments' elements, and the sizes."""
        arrays: dict[str, Any] = {}
        for array in self._program.arrays:
            name = array.name
            if name in self._later:
                continue
            if name in given:
                arrays[name] = self._memory.take(array, given[name], bound.arrays[name])
            elif name in bound.arrays:
                arrays[name] = self._memory.make(array, bound.arrays[name].shape)
                if name not in self._program.overwritten:
                    arrays[name].put(bound.arrays[name])
            else:
                shape = [int(evaluate(extent, bound.sizes)) for extent in array.shape]
                arrays[name] = self._memory.make(array, shape)
        return Frame(arrays, dict(bound.sizes), dict(bound.symbols))

    def _fetch(self, bound: Bound, results: Mapping[str, Any], there: Set[str]) -> None:
        """Copy what was written into the caller's arrays and the results, but those `there`."""
        for array in self._program.arrays:
            name = array.name
            if name in there:
                continue
            if array.role is Role.INOUT:
                self._memory.mirrors[name].get(bound.arrays[name])
            elif name in results:
                self._memory.mirrors[name].get(results[name])

    def _noted(self) -> list[int]:
        mirrors = self._memory.mirrors
        found = [np.flatnonzero(mirrors[name].host()) for name in self._faults if name in mirrors]
        return [int(number) for numbers in found for number in numbers]


def load_program(program: DeviceProgram, provider: Provider) -> Loaded:
    """Return `program`, compiled for the device of `provider`, as a loaded kernel."""
    kernel = DeviceKernel(program, provider)
    return Loaded(kernel.call, kernel.call, kernel.call, kernel.is_forked, kernel.set_threads)


class _Device:
    """Runs the kernels that the host's loops come to."""

    def __init__(
        self, program: DeviceProgram, provider: Provider, module: Module, memory: Memory
    ) -> None:
        self.program = program
        self.provider = provider
        self.module = module
        self.memory = memory

    def launcher(self, kernel: Kernel) -> Action:
        """Return the action that launches `kernel` with a frame's arrays and values."""
        own = _Own(self.provider)
        launches = [self._launch(e, own) for e in self.program.source.launches(kernel.name)]

        def launch(frame: Frame) -> None:
            for each in launches:
                each(frame)

        return launch

    def _launch(self, entry: KernelEntry, own: _Own) -> Action:
        grid = compile_index(entry.grid)
        arguments = [_argument(param, own) for param in entry.params]
        written = _written(entry)
        counts = any(param.kind is KernelParamKind.COUNTER for param in entry.params)

        def launch(frame: Frame) -> None:
            extents = grid(frame)
            if min(extents) <= 0:
                return
            x, y, z = extents
            if counts and x * y * z > MOST_COUNTED:
                raise _too_many(entry.name, x * y * z)
            block = (entry.threads, 1, 1)
            with own.kept():
                given = [argument(frame) for argument in arguments]
                self.provider.launch(self.module, entry.name, (x, y, z), block, given, entry.asked)
            for name in written:
                _mirror(frame, name).known = None

        return launch

    def storage(self, array: Array, shape: Sequence[int]) -> Mirror:
        """Return memory for an array that the host's loops make."""
        return self.memory.make(array, shape)

    def library(
        self, call: LibraryCall, inputs: Sequence[Mirror], outputs: Sequence[Mirror]
    ) -> None:
        """Call a library function on the host."""
        results = [np.empty(mirror.shape, mirror.dtype.numpy) for mirror in outputs]
        call_library(call, [mirror.host() for mirror in inputs], results)
        for mirror, result in zip(outputs, results, strict=True):
            mirror.put(result)


class _Own:
    """Memory of one kernel, which its launches find again: numbers that each of them leaves 0."""

    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        self.memory: dict[str, Buffer] = {}
        self.is_clean = False

    def buffer(self, param: KernelParam) -> Buffer:
        """Return the memory of a parameter."""
        count = 1 if param.value is None else int(evaluate(param.value, {}))
        if param.text not in self.memory:
            self.memory[param.text] = self.provider.alloc(count * param.dtype.size)
        buffer = self.memory[param.text]
        if param.kind is KernelParamKind.COUNTER and not self.is_clean:
            self.provider.fill(buffer, 0)
        return buffer

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Set numbers to 0 before the next launch when the one inside fails."""
        try:
            yield
            self.is_clean = True
        except BaseException:
            self.is_clean = False
            raise


def _too_many(entry: str, blocks: int) -> ToolchainError:
    return ToolchainError(
        "PO0518",
        f"kernel `{entry}` has {blocks} blocks, more than it can count to find the last one",
        hint="use larger tiles on the grid's loops, or leave `finish` out",
    )


def _written(entry: KernelEntry) -> tuple[str, ...]:
    kinds = (KernelParamKind.ARRAY, KernelParamKind.FAULTS)
    return tuple(
        param.name
        for param in entry.params
        if param.kind in kinds and (param.written or param.kind is KernelParamKind.FAULTS)
    )


def _argument(param: KernelParam, own: _Own) -> Callable[[Frame], KernelArgument]:
    name, dim = param.name, param.dim
    match param.kind:
        case KernelParamKind.ARRAY | KernelParamKind.FAULTS:
            return lambda frame: _mirror(frame, name).buffer
        case KernelParamKind.COUNTER | KernelParamKind.SCRATCH:
            return lambda frame: own.buffer(param)
        case KernelParamKind.STRIDE:
            return lambda frame: np.int64(_mirror(frame, name).strides[dim])
        case KernelParamKind.VALUE:
            assert param.value is not None
            value, kind = compile_expr(param.value), param.dtype.numpy.type
            return lambda frame: convert(value(frame), kind)
        case _:
            assert_never(param.kind)


def _mirror(frame: Frame, name: str) -> Mirror:
    mirror = frame.arrays[name]
    assert isinstance(mirror, Mirror)
    return mirror


@dataclass(slots=True, eq=False)
class Mirror:
    """An array in a device's memory; `strides` are in elements.

    `known` is a copy on the host; it is dropped when a kernel may have written the array.
    `is_given` tells memory of the caller's.
    """

    provider: Provider
    buffer: Buffer
    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    is_given: bool = False
    known: AnyArray | None = None

    def put(self, array: AnyArray) -> None:
        """Copy `array` to the device."""
        self.known = None
        if array.size:
            self.provider.upload(self.buffer, np.ascontiguousarray(array))

    def get(self, into: AnyArray) -> None:
        """Copy the elements, which lie in C order, into an array of the host."""
        if not into.flags.c_contiguous:
            into[...] = self.host()
        elif into.size:
            self.provider.download(self.buffer, into)

    def __getitem__(self, index: tuple[int, ...]) -> np.generic:
        return self.host()[index]  # type: ignore[no-any-return]  # a scalar: all subscripts given

    def __array__(self, dtype: object = None, copy: bool | None = None) -> AnyArray:
        return self.host()

    def host(self) -> AnyArray:
        """Return the elements as they are now; not to be written."""
        if self.known is None:
            self.known = self._fetched()
        return self.known

    def _fetched(self) -> AnyArray:
        """Return a copy of the memory, gaps between the elements included."""
        if 0 in self.shape:
            return np.empty(self.shape, self.dtype.numpy)
        reach = sum(s * (n - 1) for s, n in zip(self.strides, self.shape, strict=True)) + 1
        if any(stride < 0 for stride in self.strides):
            raise ArgumentError(
                "PO0216",
                "the host needs elements of an array on the device that runs backwards",
                hint="pass a copy with rows in order",
            )
        memory = np.empty(reach, self.dtype.numpy)
        self.provider.download(replace(self.buffer, nbytes=memory.nbytes), memory)
        steps = tuple(stride * memory.itemsize for stride in self.strides)
        array: AnyArray = np.lib.stride_tricks.as_strided(memory, self.shape, steps)
        return array


@dataclass(slots=True, eq=False)
class Memory:
    """What a call keeps on a device; `mirrors` by the name of their array."""

    provider: Provider
    mirrors: dict[str, Mirror] = field(default_factory=dict)

    def make(self, array: Array, shape: Sequence[int]) -> Mirror:
        """Return memory for an array, undefined but for faults: none is noted."""
        self.give_back(array.name)
        extents = tuple(max(0, extent) for extent in shape)
        buffer = self.provider.alloc(prod(extents) * array.dtype.size)
        dense = dense_strides(extents, 1)
        mirror = Mirror(self.provider, buffer, array.dtype, extents, dense)
        self.mirrors[array.name] = mirror
        if array.role is Role.FAULT:
            self.provider.fill(buffer, 0)
        return mirror

    def take(self, array: Array, given: DeviceArray, view: AnyArray) -> Mirror:
        """Return an argument that is on the device; `view` says where it begins."""
        size = array.dtype.size
        buffer = given.buffer
        if address(view) != given.pointer and given.kept is None:
            buffer = Buffer(address(view), view.nbytes, given)
        strides = tuple(stride // size for stride in view.strides)
        mirror = Mirror(self.provider, buffer, array.dtype, view.shape, strides, is_given=True)
        self.mirrors[array.name] = mirror
        return mirror

    def keep(self, name: str) -> Mirror:
        """Return the array with that name, whose memory is not given back."""
        return self.mirrors.pop(name)

    def give_back(self, name: str) -> None:
        """Give the memory of the array with that name back, if there is any of its own."""
        mirror = self.mirrors.pop(name, None)
        if mirror is not None and not mirror.is_given:
            self.provider.free(mirror.buffer)

    @contextmanager
    def call(self) -> Iterator[None]:
        """Give all memory back at the end of the block."""
        try:
            yield
        finally:
            for name in list(self.mirrors):
                self.give_back(name)
