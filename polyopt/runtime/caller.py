"""The module that calls kernels, see native/caller/: one for all kernels of an interpreter.

In: a compiler, a store.  Out: the module; `make` of it makes a kernel of the table in its library.
Refuses: a compiler that fails on it (PO0502, PO0504), a library that cannot be loaded (PO0503).
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import threading
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType

from polyopt.errors import ToolchainError
from polyopt.runtime import build
from polyopt.runtime.build import Begun, Texts, library_key, native_text
from polyopt.runtime.store import Store
from polyopt.runtime.toolchain import Compiler

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
