"""The module that calls kernels, see native/caller/: one for all kernels of an interpreter.

In: a compiler, a store.  Out: the module; `make` of it makes a kernel of the table in its library.
Refuses: a compiler that fails on it (PO0502, PO0504), a library that cannot be loaded (PO0503).
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import threading
from pathlib import Path
from types import ModuleType

from polyopt.errors import ToolchainError
from polyopt.runtime.build import Texts, library_key
from polyopt.runtime.build import library as built_library
from polyopt.runtime.natives import native_text
from polyopt.runtime.store import Store
from polyopt.runtime.toolchain import Compiler

MODULE = "polyopt_call"
TABLE = "po_call"
"""What a kernel's library calls its table."""

_NAMES = ("call.h", "caller.h", "arguments.c", "watch.c", "callback.c", "caller.c")
_LOADED: list[ModuleType] = []
_LOADING = threading.Lock()


def caller_for(store: Store, compiler: Compiler) -> ModuleType:
    """Return the module; `compiler` builds it if nothing else has."""
    with _LOADING:
        if not _LOADED:
            text = native_text(*(f"caller/{name}" for name in _NAMES))
            texts = Texts("call", text, None, openmp=False, contract=False, extension=True)
            key = library_key(texts, compiler)
            try:
                module = _module(store, compiler, texts, key)
            except ImportError as error:
                store.reject("libraries", key, str(error))
                module = _built(store, compiler, texts, key)
            _LOADED.append(module)
    return _LOADED[0]


def _built(store: Store, compiler: Compiler, texts: Texts, key: str) -> ModuleType:
    try:
        return _module(store, compiler, texts, key)
    except ImportError as error:
        hint = "set POLYOPT_CACHE_DIR to a directory on a file system that allows execution"
        raise ToolchainError(
            "PO0503", f"the module that calls kernels cannot be loaded: {error}", hint=hint
        ) from None


def _module(store: Store, compiler: Compiler, texts: Texts, key: str) -> ModuleType:
    with built_library(store, compiler, texts, key) as path:
        return load_module(path)


def load_module(path: Path) -> ModuleType:
    """Return the module of a library; raises `ImportError`."""
    loader = importlib.machinery.ExtensionFileLoader(MODULE, str(path))
    spec = importlib.util.spec_from_loader(MODULE, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module
