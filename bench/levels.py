"""The instruction set that a run compares at: the processor's own, or a level of x86-64.

In: POLYOPT_MACHINE, as for polyopt.  Out: compiler flags and environments that hold every peer to
the same level.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final

VARIABLE = "POLYOPT_MACHINE"
NATIVE = "native"


@dataclass(frozen=True, slots=True)
class Level:
    """A micro-architecture level of the x86-64 psABI, and what makes each peer keep to it.

    `variables` are set for every process of a run: OpenBLAS's kernels, LLVM's target in Numba,
    PyTorch's kernels, XLA's instruction set.  Numba is left alone at the last level, for which its
    LLVM uses vectors of 256 bits.
    """

    name: str
    is_wide: bool
    variables: dict[str, str]


def _level(number: int, core: str, torch: str, xla: str) -> Level:
    name = f"x86-64-v{number}"
    variables = {"ATEN_CPU_CAPABILITY": torch, "XLA_FLAGS": f"--xla_cpu_max_isa={xla}"}
    if core:
        variables |= {"NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": "", "OPENBLAS_CORETYPE": core}
    return Level(name, not core, variables)


LEVELS: Final = {
    "v2": _level(2, "Nehalem", "default", "SSE4_2"),
    "v3": _level(3, "Haswell", "avx2", "AVX2"),
    "v4": _level(4, "", "avx512", "AVX512"),
}


def chosen() -> Level | None:
    """Return the level of this run, None where everything is built for the processor."""
    name = os.environ.get(VARIABLE, "")
    return next((level for level in LEVELS.values() if level.name == name), None)


def name() -> str:
    """Return the name of the instruction set of this run, for records."""
    level = chosen()
    return NATIVE if level is None else level.name


def choose(short: str) -> None:
    """Hold this process, and those that it starts, to a level: `v2`, `v3` or `v4`."""
    level = LEVELS[short]
    os.environ[VARIABLE] = level.name
    os.environ.update(level.variables)


def target_flags() -> tuple[str, ...]:
    """Return the flags that make a C compiler use this instruction set and no other."""
    level = chosen()
    return ("-march=native",) if level is None else (f"-march={level.name}", "-mtune=native")


def wide_flags() -> tuple[str, ...]:
    """Return the flags that make a C compiler use the widest vectors."""
    level = chosen()
    return ("-mprefer-vector-width=512",) if level is None or level.is_wide else ()
