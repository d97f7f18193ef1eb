"""Load a built library and make it callable from Python.

In: a library's path, its `Source`, a thread count.  Out: `Loaded`, its functions.
Refuses: a library that cannot be loaded (PO0503).
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import numpy as np

from polyopt.dataclass import dataclass
from polyopt.errors import ToolchainError
from polyopt.ir.arranging import remade
from polyopt.ir.source import ConstArg, Signature, Source
from polyopt.ir.types import DType
from polyopt.runtime.caller import TABLE
from polyopt.runtime.process import join
from polyopt.runtime.results import Support
from polyopt.runtime.spares import SPARES
from polyopt.runtime.spinning import short_waits
from polyopt.runtime.threads import threads_at_load


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
    numbers: Sequence[int],
    openmp: bool,
    threads: int,
    caller: ModuleType,
    process: int | None = None,
) -> Loaded:
    """Load the library at `path` for calls by `caller`, which `caller_for` gives.

    `numbers` says what it takes for each number: `specialize.number_flags`.  `process`: the address
    of what runs its parallel regions; None: OpenMP's library does.
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
        bytes(numbers),
        _threads(openmp, threads, process),
        support.fail,
        support.library,
        support.trim,
    )
    calls = kernel.call, kernel.dispatch, kernel.call_apart
    call, dispatch, call_apart = (_remaking(one, signature) for one in calls)
    return Loaded(call, dispatch, call_apart, kernel.is_forked, kernel.set_threads, kernel.watch)


def _remaking(call: Callable[..., Any], signature: Signature) -> Callable[..., Any]:
    """Return `call` with what it returns changed from tuples to dicts and objects."""
    if not signature.made:
        return call
    change = remade(signature.nesting, signature.made)

    def remaking(*args: object) -> Any:  # noqa: ANN401
        result = call(*args)
        return result if result is NotImplemented else change(result)

    return remaking


def has_no_buffers(source: Source) -> bool:
    """Tell whether arrays are of a type that NumPy gives no buffers of, as wrappers take them."""
    kinds = [param.dtype for param in source.params]
    return DType.BFLOAT16 in (*kinds, *(output.dtype for output in source.signature.outputs))


def load_foreign(
    path: Path, source: Source, numbers: Sequence[int], threads: int, process: int | None = None
) -> Loaded:
    """Load the library at `path` through ctypes, for interpreters without `Python.h`.

    `numbers` as for `load_extension`; a declared number has to be of its type exactly.
    """
    from polyopt.runtime.foreign import ForeignKernel

    count = _threads(source.openmp, threads, process)
    try:
        with short_waits():
            kernel = ForeignKernel(path, source, numbers, count, process)
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
