"""The threads that a process's kernels run on: native/team.c, built once and loaded once.

In: a compiler, a store.  Out: the text that a kernel's library is linked with in place of OpenMP's
library; the address of the team that a loaded library joins.
Refuses: a compiler that fails on them (PO0502, PO0504), a library that cannot be loaded (PO0503).
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from functools import cache
from pathlib import Path

from polyopt.runtime.build import Texts, library_key
from polyopt.runtime.build import library as built_library
from polyopt.runtime.store import Store
from polyopt.runtime.toolchain import Compiler, Family

NATIVE = Path(__file__).with_name("native")

VARIABLE = "POLYOPT_OPENMP"
"""Environment variable: 1 asks for the compiler's own OpenMP library."""


def has_team(compiler: Compiler) -> bool:
    """Tell whether kernels of `compiler` run on the process's team: its calls are known."""
    is_known = compiler.family is Family.GCC and sys.platform == "linux"
    return is_known and os.environ.get(VARIABLE) != "1"


def calls_text(compiler: Compiler, *, openmp: bool) -> str | None:
    """Return the C text of what gcc's parallel regions call; None: OpenMP's library has it."""
    return _text("calls.c") if openmp and has_team(compiler) else None


@cache
def _text(name: str) -> str:
    """Return a file's text, with its header in it."""
    header = (NATIVE / "team.h").read_text(encoding="utf-8")
    return (NATIVE / name).read_text(encoding="utf-8").replace('#include "team.h"\n', header)


_LOADED: list[int] = []
_LOADING = threading.Lock()


def team_for(store: Store, compiler: Compiler, *, openmp: bool) -> int | None:
    """Return the address of the team for a kernel of `compiler`; None: it needs none.

    `compiler` builds it if nothing else has.
    """
    if not (openmp and has_team(compiler)):
        return None
    with _LOADING:
        if not _LOADED:
            texts = Texts("team", _text("team.c"), None, openmp=False, contract=False)
            with built_library(store, compiler, texts, library_key(texts, compiler)) as path:
                loaded = ctypes.CDLL(str(path))
            loaded.po_team.restype = ctypes.c_void_p
            _LOADED.append(loaded.po_team())
    return _LOADED[0]


def join(library: ctypes.CDLL, team: int) -> None:
    """Let a loaded library, built with `calls_text`, run its parallel regions on a team."""
    library.po_join.argtypes = [ctypes.c_void_p]
    library.po_join.restype = None
    library.po_join(team)
