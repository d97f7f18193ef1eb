"""How each implementation of a program is made and called.

In: a program, an element type.  Out: a function from sizes and arguments to a call.
Refuses: with `ImportError`, Numba where it is not installed; with `NoCompiler`, a machine without
gcc.
"""

from __future__ import annotations

import ctypes
import importlib
import inspect
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from bench.baseline import COMPILE_SECONDS, SOURCES, NoCompiler, compiler
from bench.descendants import run_to_end
from bench.levels import target_flags
from bench.peers.ccode import HEADER
from bench.peers.folder import digest, packages, store
from bench.unseen.program import Arguments, Program, Sizes

Bind = Callable[[Sizes, Arguments], Callable[[], object]]
FORMS = Path(__file__).parent / "c"
FAST = ("-O3", "-ffast-math", "-fopenmp")
SINGLE = ("-DREAL=float", "-fsingle-precision-constant")


def _numpy(program: Program, dtype: str, threads: int) -> Bind:
    """Return the function as Python and NumPy run it."""
    del dtype, threads
    return lambda sizes, arguments: partial(program.function, *arguments.values())


def _polyopt(program: Program, dtype: str, threads: int) -> Bind:
    """Compile the function with polyopt for its full sizes, as the first call would."""
    import polyopt as po

    kernel = po.kernel(fp="reassociate", threads=threads)(program.function)
    kernel.compile(*program.make(program.sizes, dtype).values())
    return lambda sizes, arguments: partial(kernel, *arguments.values())


def _numba(program: Program, dtype: str, threads: int) -> Bind:
    """Compile the loops for Numba, by a call at the small sizes."""
    sys.path += packages("numba")
    from numba import njit

    del threads
    module = program.function.__module__.rpartition(".")[2]
    written = getattr(importlib.import_module(f"bench.unseen.numba_forms.{module}"), program.name)
    is_parallel = "prange" in inspect.getsource(written)
    compiled = njit(parallel=is_parallel, fastmath=True)(written)
    compiled(*program.make(program.small, dtype).values())
    return lambda sizes, arguments: partial(compiled, *arguments.values())


def _gcc(program: Program, dtype: str, threads: int) -> Bind:
    """Compile the loops in C; their arguments are the sizes, then arrays and real numbers."""
    del threads
    entry = getattr(ctypes.CDLL(str(library(program, dtype))), program.name)
    entry.restype = None

    def bound(sizes: Sizes, arguments: Arguments) -> Callable[[], object]:
        values: list[Any] = [ctypes.c_long(size) for size in sizes.values()]
        for value in arguments.values():
            if isinstance(value, np.ndarray):
                values.append(ctypes.c_void_p(value.ctypes.data))
            elif isinstance(value, float):
                values.append(ctypes.c_double(value))
        return partial(entry, *values)

    return bound


IMPLEMENTATIONS: Final[Mapping[str, Callable[[Program, str, int], Bind]]] = {
    "numpy": _numpy,
    "gcc": _gcc,
    "numba": _numba,
    "polyopt": _polyopt,
}


def library(program: Program, dtype: str) -> Path:
    """Return the C file of a program's group as a library, compiled before or now.

    Linked without `-ffast-math`: with it gcc 12 adds a start-up routine that makes the whole
    process flush subnormal numbers to zero.
    """
    module = program.function.__module__.rpartition(".")[2]
    text, header = FORMS / f"{module}.c", SOURCES / HEADER
    flags = (*FAST, *target_flags(), *(SINGLE if dtype == "float32" else ()))
    kept = digest(compiler(), flags, text.read_text(), header.read_text())
    found = store("c") / f"unseen-{module}-{kept}.so"
    if found.is_file():
        return found
    code, fresh = found.with_suffix(f".{os.getpid()}.o"), found.with_suffix(f".{os.getpid()}")
    _run(compiler(), *flags, "-c", "-fPIC", f"-I{SOURCES}", str(text), "-o", str(code))
    _run(compiler(), "-fopenmp", "-shared", str(code), "-o", str(fresh), "-lm")
    code.unlink()
    fresh.rename(found)
    return found


def _run(*command: str) -> None:
    try:
        done = run_to_end(command, COMPILE_SECONDS)
    except subprocess.TimeoutExpired:
        raise NoCompiler(f"gcc took more than {COMPILE_SECONDS:.0f} s") from None
    if done.returncode != 0:
        raise NoCompiler((done.stderr.strip().splitlines() or ["gcc failed"])[0])
