"""Instruction-set levels that POLYOPT_MACHINE may name in place of the processor that runs.

In: POLYOPT_MACHINE.  Out: a `Level`, or None where the variable is unset or names a file.
Refuses: running code of a level that the processor does not have (PO0224).
"""

from __future__ import annotations

from collections.abc import Callable

from polyopt.dataclass import dataclass
from polyopt.errors import UsageError
from polyopt.settings import setting

VARIABLE = "POLYOPT_MACHINE"


@dataclass(frozen=True, slots=True)
class Level:
    """A micro-architecture level of the x86-64 psABI.

    `features` are its instruction sets as Linux names them in `/proc/cpuinfo`; `flags` are the
    compiler's arguments that allow these and no others.
    """

    name: str
    features: frozenset[str]
    flags: tuple[str, ...]


_V2 = frozenset({"cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3"})
_V3 = _V2 | {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"}
_V4 = _V3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}

LEVELS = {
    level.name: level
    for level in (
        Level("x86-64-v2", _V2, ("-march=x86-64-v2",)),
        Level("x86-64-v3", _V3, ("-march=x86-64-v3",)),
        Level("x86-64-v4", _V4, ("-march=x86-64-v4", "-mprefer-vector-width=512")),
    )
}


def chosen_level() -> Level | None:
    """Return the level that POLYOPT_MACHINE names, None where it names none."""
    return LEVELS.get(setting("machine") or "")


def require_level(features: Callable[[], tuple[str, ...]]) -> None:
    """Raise `UsageError` (PO0224) if the processor lacks what the chosen level needs.

    `features` returns the names of the processor's instruction sets; it is called for a level only.
    """
    level = chosen_level()
    if level is None:
        return
    missing = sorted(level.features.difference(features()))
    if not missing:
        return
    raise UsageError(
        "PO0224",
        f"{VARIABLE} is `{level.name}`, and this processor lacks {', '.join(missing)}",
        hint=f"unset {VARIABLE} to run kernels here; `polyopt compile` writes code for any level",
    )
