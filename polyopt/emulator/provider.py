"""A CUDA device that is not there: its text runs on the CPU, checked.

In: CUDA text, arrays, launches.  Out: `EmulatedProvider`.
Refuses: no g++ (PO0520), text that does not compile (PO0515), launches no device takes (PO0516 to
PO0518), arguments that do not fit (PO0918); kernels that are wrong (PO0521).
"""

from __future__ import annotations

import ctypes
import itertools
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from polyopt.dataclass import dataclass, field
from polyopt.emulator.build import build, find_gcc
from polyopt.emulator.findings import DeviceFault
from polyopt.emulator.library import FIRST_BUFFER, RUNNING, Entry, Library, Memory, Order, Turn
from polyopt.errors import InternalError
from polyopt.runtime.device.faults import out_of_memory
from polyopt.runtime.device.provider import (
    AnyArray,
    Buffer,
    Extent3,
    KernelArgument,
    Limits,
    Log,
    Module,
    Resources,
    as_argument,
    check_fits,
    check_launch,
    no_log,
)
from polyopt.runtime.store import Store, open_store

_LIMITS = Limits(
    threads_per_block=1024,
    shared_bytes=48 << 10,
    grid=(2**31 - 1, 65535, 65535),
    warp=32,
    arch="sm_80",
    block=(1024, 1024, 64),
    shared_most=163 << 10,
)
_GAPS = (4096, 64 << 20)  # least and most bytes before and behind an array that are nobody's
_ALIGNMENT = 256


@dataclass(frozen=True, slots=True)
class Rules:
    """How kernels run, and what counts as a fault.

    `checks` off runs them compiled with optimization and looks for nothing.  `unset` takes reads
    of global memory that nobody has written for faults; copies of whole tiles may do that.
    """

    checks: bool = True
    order: Order = Order.SHUFFLED
    seed: int = 0
    seconds: float = 60.0
    unset: bool = False


@dataclass(slots=True, eq=False)
class _Memory:
    """An array's bytes, and how many of the first ones are set; `last` library wrote to it."""

    place: Memory
    bytes: AnyArray
    known: int = 0
    last: weakref.ref[Library] | None = field(default=None)


class EmulatedProvider:
    """A device of its own: nothing that another one has can be reached from it."""

    def __init__(
        self, rules: Rules | None = None, *, store: Store | None = None, compiler: str | None = None
    ) -> None:
        self._rules = rules or Rules()
        self._store = open_store() if store is None else store
        self._compiler = find_gcc(self._store, compiler)
        self._libraries: weakref.WeakSet[Library] = weakref.WeakSet()
        self._numbers = itertools.count(FIRST_BUFFER)

    @property
    def name(self) -> str:
        """The device in words."""
        return "emulated CUDA device" if self._rules.checks else "emulated CUDA device, unchecked"

    @property
    def limits(self) -> Limits:
        """What a launch may ask for."""
        return _LIMITS

    @property
    def rules(self) -> Rules:
        """How kernels run."""
        return self._rules

    def compile(
        self, text: str, entries: Sequence[str], flags: tuple[str, ...] = (), log: Log = no_log
    ) -> Module:
        """Compile for the CPU; `flags` are those of CUDA's compilers, which round no less here."""
        checks = self._rules.checks
        built = build(self._compiler, self._store, text, entries, checks=checks, log=log)
        library = Library(built, text, entries, self._store)
        self._libraries.add(library)
        resources = {name: Resources(name, shared=library.shared(name)) for name in entries}
        return Module(library.entries, resources, library)

    def alloc(self, nbytes: int) -> Buffer:
        """Give memory, all of its bytes 255: floating-point numbers are no numbers."""
        try:
            gap = min(max(nbytes, _GAPS[0]), _GAPS[1])
            whole = np.empty(nbytes + 2 * gap + _ALIGNMENT, np.uint8)
        except (MemoryError, ValueError):
            raise out_of_memory(self.name, nbytes) from None
        start = gap + -(whole.ctypes.data + gap) % _ALIGNMENT
        own = whole[start : start + nbytes]
        own[...] = 255
        place = Memory(next(self._numbers), whole.ctypes.data + start, nbytes)
        return Buffer(_Memory(place, own), nbytes)

    def free(self, buffer: Buffer) -> None:
        """Take memory back."""
        memory = _memory(buffer)
        with RUNNING:
            for library in self._libraries:
                library.forget(memory.place.number)

    def upload(self, buffer: Buffer, array: AnyArray) -> None:
        """Copy to the buffer."""
        check_fits(buffer, array)
        memory = _memory(buffer)
        memory.bytes[: array.nbytes] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        memory.known = max(memory.known, array.nbytes)

    def download(self, buffer: Buffer, array: AnyArray) -> None:
        """Copy from the buffer."""
        check_fits(buffer, array)
        taken = _memory(buffer).bytes[: array.nbytes].copy()
        array[...] = taken.view(array.dtype).reshape(array.shape)

    def fill(self, buffer: Buffer, byte: int) -> None:
        """Set every byte."""
        memory = _memory(buffer)
        memory.bytes[...] = byte
        memory.known = buffer.nbytes

    def launch(
        self,
        module: Module,
        entry: str,
        grid: Extent3,
        block: Extent3,
        args: Sequence[KernelArgument],
        shared: int = 0,
    ) -> None:
        """Run a kernel to its end; raises what was found."""
        library = module.keep
        assert isinstance(library, Library)
        kernel = library.entries[entry]
        if not check_launch(self.limits, entry, grid, block, shared, library.shared(entry)):
            return
        values = _values(kernel, args)
        memories = [_memory(argument) for argument in args if isinstance(argument, Buffer)]
        rules = self._rules
        turn = Turn(
            grid, block, shared, rules.order, rules.seed, rules.seconds, rules.checks, rules.unset
        )
        with RUNNING:
            self._watch(library, memories)
            library.launch(kernel, [ctypes.addressof(value) for value in values], turn)
            found = library.findings(kernel, block, _names(kernel, args))
        if found:
            raise DeviceFault(entry, tuple(found))

    def synchronize(self) -> None:
        """Do nothing: launches end before they return."""

    def _watch(self, library: Library, memories: Sequence[_Memory]) -> None:
        if not self._rules.checks:
            return
        library.rest()
        for memory in memories:
            last = None if memory.last is None else memory.last()
            if memory.last is not None and last is not library:
                memory.known = memory.place.nbytes  # another library's kernels may have set it
            library.watch(memory.place, memory.known)
            memory.last = weakref.ref(library)


def _memory(buffer: Buffer) -> _Memory:
    assert isinstance(buffer.handle, _Memory), "a buffer of another device"
    return buffer.handle


def _names(kernel: Entry, args: Sequence[KernelArgument]) -> dict[int, str]:
    pairs = zip(kernel.params, args, strict=True)
    return {_memory(a).place.number: name for name, a in pairs if isinstance(a, Buffer)}


def _values(kernel: Entry, args: Sequence[KernelArgument]) -> list[Any]:
    """Return the arguments in memory, as the kernel's parameters take them."""
    if len(args) != len(kernel.sizes):
        raise _misfit(kernel, f"takes {len(kernel.sizes)} arguments, got {len(args)}")
    values: list[Any] = []
    for number, (argument, kind) in enumerate(zip(args, kernel.kinds, strict=True)):
        name, size = kernel.params[number], kernel.sizes[number]
        if isinstance(argument, Buffer):
            if kind != "p":
                raise _misfit(kernel, f"takes no array for {name}")
            values.append(ctypes.c_uint64(_memory(argument).place.address))
            continue
        value = as_argument(argument)
        given = "f" if value.dtype.kind == "f" else "i"
        if value.dtype.itemsize != size or (kind in "if" and kind != given) or kind == "p":
            raise _misfit(kernel, f"takes {size} bytes for {name}, got a {value.dtype}")
        values.append((ctypes.c_ubyte * size).from_buffer_copy(value.tobytes()))
    return values


def _misfit(kernel: Entry, reason: str) -> InternalError:
    return InternalError("PO0918", f"kernel `{kernel.name}` {reason}")
