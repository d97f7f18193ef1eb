"""What the kernels of a process have in common: its threads and its memory, see native/*.c.

In: a compiler, a store.  Out: the text that a kernel's library is linked with, in place of OpenMP's
library; the address of the functions that a loaded library is joined to.
Refuses: a compiler that fails on them (PO0502, PO0504), a library that cannot be loaded (PO0503).
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from contextlib import ExitStack

from polyopt.ir.source import Source
from polyopt.runtime import build
from polyopt.runtime.build import Begun, Texts, library_key, native_text
from polyopt.runtime.store import Store
from polyopt.runtime.toolchain import Compiler, Family

VARIABLE = "POLYOPT_OPENMP"
"""Environment variable: 1 asks for the compiler's OpenMP library and the C library's memory."""

_HEADER = "process.h"
_FILES = (_HEADER, "memory.c", "team.c", "process.c")


def is_shared(compiler: Compiler) -> bool:
    """Tell whether kernels of `compiler` share threads and memory: its OpenMP calls are known."""
    is_known = compiler.family is Family.GCC and sys.platform == "linux"
    return is_known and os.environ.get(VARIABLE) != "1"


def calls_text(source: Source, compiler: Compiler) -> str | None:
    """Return the C text of what a kernel's library calls; None: libraries of the system have it."""
    needs = source.openmp or "aligned_alloc(" in source.text
    return native_text(_HEADER, "calls.c") if needs and is_shared(compiler) else None


_LOADED: list[int] = []
_LOADING = threading.Lock()


def begin(stack: ExitStack, store: Store, compiler: Compiler) -> Begun | None:
    """Start to build the functions where nothing has them, for `process_for` to go on with."""
    if _LOADED or not is_shared(compiler):
        return None
    return build.begin(stack, store, compiler, _texts(), library_key(_texts(), compiler))


def process_for(
    source: Source, store: Store, compiler: Compiler, begun: Begun | None = None
) -> int | None:
    """Return the address of this process's functions; None: a kernel needs none.

    `compiler` builds them if nothing else has, or goes on with `begun`.
    """
    if calls_text(source, compiler) is None:
        return None
    with _LOADING:
        if not _LOADED:
            key = library_key(_texts(), compiler)
            try:
                address = _loaded(store, compiler, key, begun)
            except (OSError, AttributeError) as error:
                store.reject("libraries", key, str(error))
                address = _loaded(store, compiler, key, None)
            _LOADED.append(address)
    return _LOADED[0]


def _texts() -> Texts:
    text = native_text(*_FILES)
    return Texts("process", text, None, openmp=False, contract=False, quick=True)


def _loaded(store: Store, compiler: Compiler, key: str, begun: Begun | None) -> int:
    """Return the address of the functions of a library that is loaded, and built if need be."""
    with build.library(store, compiler, _texts(), key, begun=begun) as path:
        loaded = ctypes.CDLL(str(path))
    loaded.po_process.restype = ctypes.c_void_p
    address: int = loaded.po_process()
    return address


def join(library: ctypes.CDLL, process: int) -> None:
    """Let a loaded library, built with `calls_text`, use a process's threads and memory."""
    library.po_join.argtypes = [ctypes.c_void_p]
    library.po_join.restype = None
    library.po_join(process)
