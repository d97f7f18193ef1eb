"""The yardstick: the explicit loops written in C, one function a workload, compiled by gcc.

In: a workload.  Out: a shared library, and calls into it with the workload's arguments.
Refuses: a machine without gcc.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench.descendants import run_to_end
from bench.levels import target_flags
from workloads import Workload

SOURCES = Path(__file__).parent / "baseline"
EXACT = ("-ffp-contract=off",)
COMPILE_SECONDS = 120.0  # that a C compiler may take for one program


class NoCompiler(Exception):
    """gcc is missing or failed; the text is one line with what to do."""


def compiler() -> str:
    """Return the path of gcc."""
    path = shutil.which("gcc")
    if path is None:
        raise NoCompiler("gcc not found: install the package gcc")
    return path


def has(workload: Workload) -> bool:
    """Return whether the loops of `workload` are here in C."""
    return "loops" in workload.forms and _source(workload).is_file()


def _source(workload: Workload) -> Path:
    return SOURCES / f"{workload.forms['loops'].__name__}.c"


def flags() -> tuple[str, ...]:
    """Return gcc's flags."""
    return ("-O3", *target_flags())


def build(workload: Workload, folder: Path, more: tuple[str, ...] = ()) -> Path:
    """Compile the loops of `workload` to a shared library in `folder`, with `more` flags."""
    stem = workload.forms["loops"].__name__
    chosen = (*flags(), *more)
    library = folder / f"{stem}{''.join(chosen)}.so"
    command = [compiler(), *chosen, "-shared", "-fPIC", "-o", str(library)]
    command += [str(_source(workload)), "-lm"]
    try:
        done = run_to_end(command, COMPILE_SECONDS)
    except subprocess.TimeoutExpired:
        raise NoCompiler(f"gcc took more than {COMPILE_SECONDS:.0f} s on {stem}.c") from None
    if done.returncode != 0:
        first = (done.stderr.strip().splitlines() or ["no message"])[0]
        raise NoCompiler(f"gcc failed on {stem}.c: {first}")
    return library


Bind = Callable[[dict[str, int], dict[str, Any]], Callable[[], object]]


def load(workload: Workload, library: Path) -> Bind:
    """Return a function from sizes and arguments to a call of the compiled loops with them.

    The C function takes the sizes first, in the published order; integer arguments are among them.
    """
    entry = getattr(ctypes.CDLL(str(library)), workload.forms["loops"].__name__)
    entry.restype = None

    def bind(sizes: dict[str, int], arguments: dict[str, Any]) -> Callable[[], object]:
        values: list[Any] = [ctypes.c_long(sizes[name]) for name in workload.parameters]
        for value in arguments.values():
            if isinstance(value, np.ndarray):
                values.append(ctypes.c_void_p(value.ctypes.data))
            elif isinstance(value, float):
                values.append(ctypes.c_double(value))
        return partial(entry, *values)

    return bind
