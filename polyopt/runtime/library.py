"""Load a built library and make it callable from Python.

In: a library's path, its `Source`, a thread count.  Out: `Loaded`, its functions.
Refuses: a library that cannot be loaded (PO0503).
Keeps memory of large results for the next calls, and the time that waiting threads spin.
"""

from __future__ import annotations

import ctypes
import importlib.machinery
import importlib.util
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Lock
from types import ModuleType
from typing import Any, NoReturn

import numpy as np

from polyopt.dataclass import dataclass
from polyopt.errors import ToolchainError
from polyopt.ir.source import ConstArg, Signature, Source
from polyopt.ir.types import DType
from polyopt.runtime import build
from polyopt.runtime.build import Begun, Texts, library_key, native_text
from polyopt.runtime.foreign import ForeignKernel
from polyopt.runtime.process import join
from polyopt.runtime.results import Support
from polyopt.runtime.store import Store
from polyopt.runtime.threads import threads_at_load
from polyopt.runtime.toolchain import Compiler
from polyopt.runtime.values import AnyArray


@dataclass(frozen=True, slots=True)
class Loaded:
    """A kernel in memory.

    `call(*args)` runs it, or returns NotImplemented when something does not fit; `dispatch` also
    declines large arrays that code for a more regular layout would serve better; `call_apart` takes
    the caller's word that arrays share no element.  All raise what the kernel ran into.
    `watch(guards)`: `call` and `dispatch` decline from now on where captured values are others;
    False where somebody else has to look.
    `is_forked()`: the process forked, threads must be set before a call.
    """

    call: Callable[..., Any]
    dispatch: Callable[..., Any]
    call_apart: Callable[..., Any]
    is_forked: Callable[[], bool]
    set_threads: Callable[[int], None]
    watch: Callable[[tuple[object, ...]], bool] = lambda guards: False


def no_device(missing: ToolchainError) -> Loaded:
    """Return a kernel that has nothing to run on: each call raises `missing`."""

    def refuse(*args: object) -> NoReturn:
        del args
        raise missing

    return Loaded(refuse, refuse, refuse, lambda: False, lambda count: None)


def load_extension(
    path: Path,
    signature: Signature,
    weak: tuple[bool, ...],
    openmp: bool,
    threads: int,
    caller: ModuleType,
    process: int | None = None,
) -> Loaded:
    """Load the library at `path` for calls by `caller`, which `caller_for` gives.

    `weak` says which numbers are Python's own types.  `process`: the address of what runs its
    parallel regions; None: OpenMP's library does.
    """
    try:
        with short_waits():
            library = ctypes.CDLL(str(path))
        if process is not None:
            join(library, process)
        table = ctypes.addressof(ctypes.c_char.in_dll(library, TABLE))
    except (OSError, AttributeError, ValueError) as error:
        raise _not_loadable(path, error) from None
    support = Support(signature)
    kernel = caller.make(
        table,
        np.ndarray,
        np.empty,
        SPARES.empty,
        tuple(output.dtype.numpy for output in signature.outputs),
        tuple(a.known for a in signature.arguments if isinstance(a, ConstArg)),
        bytes(weak),
        _threads(openmp, threads, process),
        support.fail,
        support.library,
        support.trim,
    )
    return Loaded(
        kernel.call, kernel.dispatch, kernel.call_apart, kernel.is_forked, kernel.set_threads,
        kernel.watch,
    )  # fmt: skip


def has_no_buffers(source: Source) -> bool:
    """Tell whether arrays are of a type that NumPy gives no buffers of, as wrappers take them."""
    kinds = [param.dtype for param in source.params]
    return DType.BFLOAT16 in (*kinds, *(output.dtype for output in source.signature.outputs))


def load_foreign(
    path: Path, source: Source, weak: tuple[bool, ...], threads: int, process: int | None = None
) -> Loaded:
    """Load the library at `path` through ctypes, for interpreters without `Python.h`.

    `weak` says which numbers are Python's own types.
    """
    count = _threads(source.openmp, threads, process)
    try:
        with short_waits():
            kernel = ForeignKernel(path, source, weak, count, process)
    except (OSError, AttributeError) as error:
        raise _not_loadable(path, error) from None
    return Loaded(kernel.call, kernel.dispatch, kernel.call, kernel.is_forked, kernel.set_threads)


def _threads(openmp: bool, threads: int, process: int | None) -> int:
    if not openmp:
        return 1
    return threads_at_load(threads) if process is None else threads


def _not_loadable(path: Path, error: Exception) -> ToolchainError:
    text = str(error)
    hint = "remove the cache directory and try again"
    if "libgomp" in text or "libomp" in text:
        hint = "install the OpenMP runtime (`apt-get install libgomp1`), or use threads=1"
    elif "failed to map" in text or "Operation not permitted" in text:
        hint = "set POLYOPT_CACHE_DIR to a directory on a file system that allows execution"
    return ToolchainError(
        "PO0503", f"the library {os.path.basename(path)} cannot be loaded: {text}", hint=hint
    )


MODULE = "polyopt_call"
TABLE = "po_call"
"""What a kernel's library calls its table."""

_NAMES = ("call.h", "caller.h", "arguments.c", "watch.c", "callback.c", "signals.c", "caller.c")
_LOADED: list[ModuleType] = []
_LOADING = threading.Lock()


def begin(stack: ExitStack, store: Store, compiler: Compiler) -> Begun | None:
    """Start to build the module where nothing has it, for `caller_for` to go on with."""
    if _LOADED:
        return None
    return build.begin(stack, store, compiler, _texts(), library_key(_texts(), compiler))


def caller_for(store: Store, compiler: Compiler, begun: Begun | None = None) -> ModuleType:
    """Return the module; `compiler` builds it if nothing else has, or goes on with `begun`."""
    with _LOADING:
        if not _LOADED:
            key = library_key(_texts(), compiler)
            try:
                module = _module(store, compiler, key, begun)
            except ImportError as error:
                store.reject("libraries", key, str(error))
                module = _built(store, compiler, key)
            _LOADED.append(module)
    return _LOADED[0]


def _texts() -> Texts:
    text = native_text(*(f"caller/{name}" for name in _NAMES))
    return Texts("call", text, None, openmp=False, contract=False, extension=True)


def _built(store: Store, compiler: Compiler, key: str) -> ModuleType:
    try:
        return _module(store, compiler, key, None)
    except ImportError as error:
        hint = "set POLYOPT_CACHE_DIR to a directory on a file system that allows execution"
        raise ToolchainError(
            "PO0503", f"the module that calls kernels cannot be loaded: {error}", hint=hint
        ) from None


def _module(store: Store, compiler: Compiler, key: str, begun: Begun | None) -> ModuleType:
    with build.library(store, compiler, _texts(), key, begun=begun) as path:
        return load_module(path)


def load_module(path: Path) -> ModuleType:
    """Return the module of a library; raises `ImportError`."""
    loader = importlib.machinery.ExtensionFileLoader(MODULE, str(path))
    spec = importlib.util.spec_from_loader(MODULE, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


LEAST = 1 << 18  # bytes; less than that comes from pages that the process has
MOST = 1 << 27  # bytes kept at any time
PAGE = 4096

_Memory = np.ndarray[Any, np.dtype[np.uint8]]


class _Lease:
    """The base of one array: when nothing sees the array any more, its memory is given back."""

    def __init__(
        self,
        memory: _Memory,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        give_back: Callable[[_Memory], None],
    ) -> None:
        self._memory = memory
        self._give_back = give_back
        data = memory.__array_interface__["data"]
        known = {"version": 3, "shape": shape, "typestr": dtype.str, "data": data}
        self.__array_interface__ = known

    def __del__(self) -> None:
        self._give_back(self._memory)


class Spares:
    """Blocks of memory by their size, the longest unused one first to go."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._kept = 0
        self._blocks: OrderedDict[int, tuple[_Memory, ...]] = OrderedDict()
        self._lock = Lock()

    @property
    def kept(self) -> int:
        """Return how many bytes wait for their next use."""
        return self._kept

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> AnyArray:
        """Return an array as `np.empty` does."""
        size = dtype.itemsize
        for extent in shape:
            size *= extent
        if not LEAST <= size <= self._most or dtype.hasobject or dtype.names is not None:
            return np.empty(shape, dtype)
        memory = self._take(size)
        if memory is None:
            memory = _aligned(size)
        return np.asarray(_Lease(memory, shape, dtype, self._give))

    def _take(self, size: int) -> _Memory | None:
        if not self._lock.acquire(blocking=False):
            return None  # another thread is here, or was when the process forked
        try:
            blocks = self._blocks.pop(size, ())
            if not blocks:
                return None
            *rest, memory = blocks
            if rest:
                self._blocks[size] = tuple(rest)
            self._kept -= size
            return memory
        finally:
            self._lock.release()

    def _give(self, memory: _Memory) -> None:
        if not self._lock.acquire(blocking=False):
            return  # as above, or a garbage collection inside of this very class
        try:
            size = memory.nbytes
            self._blocks[size] = (*self._blocks.pop(size, ()), memory)
            self._kept += size
            while self._kept > self._most:
                oldest, blocks = self._blocks.popitem(last=False)
                self._kept -= oldest
                if len(blocks) > 1:
                    self._blocks[oldest] = blocks[1:]
                    self._blocks.move_to_end(oldest, last=False)
        finally:
            self._lock.release()


def _aligned(size: int) -> _Memory:
    """Return memory that begins with a page, as whole registers are written to.

    A load waits for a store before it to the same place in another page.  NumPy's large arrays
    begin a few bytes behind the beginning of a page: were results further behind it, the loads of
    an elementwise loop would wait for the stores of its iterations just before.
    """
    memory = np.empty(size + PAGE, np.uint8)
    start = -memory.ctypes.data % PAGE
    return memory[start : start + size]


SPARES = Spares()


SPINS = "20000"
"""Rounds of waiting, of one `pause` each: from 0.3 to 1.1 ms."""

VARIABLE = "GOMP_SPINCOUNT"
CHOSEN = (VARIABLE, "OMP_WAIT_POLICY")


@contextmanager
def short_waits() -> Iterator[None]:
    """Load OpenMP's library inside: it reads its environment once, which is as before behind.

    What the user has set stays.
    """
    if any(name in os.environ for name in CHOSEN):
        yield
        return
    os.environ[VARIABLE] = SPINS
    try:
        yield
    finally:
        os.environ.pop(VARIABLE, None)
