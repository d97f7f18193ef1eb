"""The loops in C: plain, or in the best order by hand with OpenMP, under gcc and clang.

In: a workload and how to compile.  Out: a shared library, kept until the text changes, and calls.
Refuses: a compiler that is not there or fails.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from bench.baseline import COMPILE_SECONDS, SOURCES, NoCompiler
from bench.descendants import run_to_end
from bench.function import Function
from bench.levels import target_flags, wide_flags
from bench.peers.folder import digest, store
from workloads import Workload

HEADER = "real.h"
BASE = ("-O3",)
STRICT = ("-ffp-contract=off",)
FAST = ("-ffast-math", "-DFAST")
POLLY = ("-mllvm", "-polly", "-mllvm", "-polly-parallel", "-mllvm", "-polly-vectorizer=stripmine")


@dataclass(frozen=True, slots=True)
class CPeer:
    """A compiler, the names it may be found under, and which text it is given.

    `openmp`: the hand-written form with OpenMP, from `baseline/omp`.
    """

    commands: tuple[str, ...]
    openmp: bool = False
    extra: tuple[str, ...] = ()


_CLANGS = ("clang", *(f"clang-{n}" for n in range(25, 13, -1)))

C_PEERS = {
    "gcc": CPeer(("gcc",)),
    "clang": CPeer(_CLANGS),
    "gcc-omp": CPeer(("gcc",), openmp=True),
    "clang-omp": CPeer(_CLANGS, openmp=True),
    "polly": CPeer(_CLANGS, extra=(*POLLY, "-fopenmp")),
}


@cache
def compiler(peer: str) -> str | None:
    """Return the compiler of a peer, None where it is missing."""
    found = filter(None, map(shutil.which, C_PEERS[peer].commands))
    path = next(found, None)
    if path is None or peer != "polly":
        return path
    done = subprocess.run(
        [path, *POLLY, "-x", "c", "-c", "-", "-o", os.devnull],
        input="", capture_output=True, text=True, check=False,
    )  # fmt: skip
    return path if done.returncode == 0 else None


def source(workload: Workload, peer: str) -> Path | None:
    """Return the text that a peer compiles, None where there is none."""
    kind = C_PEERS[peer]
    if isinstance(workload, Function):
        return _form_of(workload, kind)
    path = SOURCES / ("omp" if kind.openmp else ".") / f"{stem(workload)}.c"
    return path if path.is_file() else None


def _form_of(function: Function, kind: CPeer) -> Path | None:
    """Return a user's form in C; with OpenMP only where it has directives."""
    path = Path(function.c_form)
    if not function.c_form or (kind.openmp and "#pragma omp" not in path.read_text()):
        return None
    return path


def stem(workload: Workload) -> str:
    """Return the name of the function in C."""
    if isinstance(workload, Function):
        return workload.name.rpartition(":")[2]
    return next(iter(workload.forms.values())).__name__.removesuffix("_numpy")


def flags(peer: str, dtype: str, fp: str) -> tuple[str, ...]:
    """Return the compiler's flags: like is compared with like."""
    kind = C_PEERS[peer]
    wide = wide_flags() if kind.openmp else ()
    openmp = ("-fopenmp",) if kind.openmp else ()
    if kind.openmp and fp != "strict" and "clang" in kind.commands:
        openmp += ("-fveclib=libmvec",)
    real = ("-DREAL=float",) if dtype == "float32" else ()
    mode = STRICT if fp == "strict" else FAST
    return (*BASE, *target_flags(), *wide, *openmp, *kind.extra, *mode, *real)


def build(
    workload: Workload, peer: str, dtype: str, fp: str, seconds: float = COMPILE_SECONDS
) -> Path:
    """Compile the loops of `workload` in `seconds` at most, or take what was compiled before.

    Linked apart, without the fast flags: with them gcc adds code that flushes subnormal numbers of
    the whole process to zero as soon as the library is loaded.
    """
    text, path = source(workload, peer), compiler(peer)
    if text is None or path is None:
        raise NoCompiler(f"{peer} has nothing for {workload.name}")
    chosen = flags(peer, dtype, fp)
    command = [path, *chosen, "-c", "-fPIC", f"-I{SOURCES}"]
    texts = [text.read_text(), (SOURCES / HEADER).read_text()]
    library = store("c") / f"{text.stem}-{peer}-{digest(command, texts)}.so"
    if library.is_file():
        return library
    fresh = library.with_suffix(f".{os.getpid()}")
    code = Path(f"{fresh}.o")
    most = min(seconds, COMPILE_SECONDS)
    _run(peer, text, [*command, "-o", str(code), str(text)], most)
    plain = [flag for flag in chosen if flag not in FAST]
    _run(peer, text, [path, *plain, "-shared", "-o", str(fresh), str(code), "-lm"], most)
    code.unlink()
    fresh.rename(library)
    return library


def _run(peer: str, text: Path, command: list[str], seconds: float) -> None:
    try:
        done = run_to_end(command, seconds)
    except subprocess.TimeoutExpired:
        raise NoCompiler(f"{peer} took more than {seconds:.0f} s on {text.name}") from None
    if done.returncode != 0:
        said = done.stderr.splitlines()
        lines = [line for line in said if "cannot find" in line or "error" in line]
        lines = lines or ["no message"]
        raise NoCompiler(f"{peer} failed on {text.name}: {lines[0]}")


def bind(workload: Workload, library: Path) -> Callable[..., Callable[[], object]]:
    """Return a function from sizes and arguments to a call of the compiled loops.

    The C function takes the sizes first, in the published order, then the arguments but for
    those that are sizes, then arrays for what the Python function returns.
    """
    entry = getattr(ctypes.CDLL(str(library)), stem(workload))
    entry.restype = None
    real = ctypes.c_float if workload.dtype == np.float32 else ctypes.c_double

    def bound(sizes: dict[str, int], arguments: dict[str, Any]) -> Callable[[], object]:
        values: list[Any] = [ctypes.c_long(sizes[name]) for name in workload.parameters]
        for name, value in arguments.items():
            if isinstance(value, np.ndarray):
                values.append(ctypes.c_void_p(value.ctypes.data))
            elif isinstance(value, float | np.floating):
                values.append(real(value))
            elif not {name, name.upper()} & set(sizes):
                values.append(ctypes.c_long(value))
        returned = _returned(workload, sizes, arguments)
        values += [ctypes.c_void_p(value.ctypes.data) for value in returned]
        call = partial(entry, *values)
        if not returned:
            return call

        def give() -> object:
            call()
            return returned[0] if len(returned) == 1 else tuple(returned)

        return give

    return bound


def _returned(workload: Workload, sizes: dict[str, int], arguments: dict[str, Any]) -> list[Any]:
    """Return arrays of the shapes of what the function returns, pages touched."""
    if isinstance(workload, Function):
        made = workload.fresh_results(sizes)
        if made is None:
            raise NoCompiler("a result whose size the call decides has no form in C")
        return made
    names = [name for name in workload.outputs if name.startswith("return")]
    if not names:
        return []
    expected = workload.reference(arguments)
    return [np.zeros_like(expected[name]) for name in names]
