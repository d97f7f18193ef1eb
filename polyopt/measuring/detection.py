"""Detect the processor: instruction sets, registers, caches.

In: what Linux lists in `/proc` and `/sys`.  Out: `Machine`; what is not listed is a usual number.
"""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

from polyopt.dataclass import dataclass, replace
from polyopt.machine import Machine
from polyopt.measuring.overrides import overridden
from polyopt.runtime.threads import available_cores
from polyopt.runtime.toolchain import processor_features

CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
MOST_INDICES = 8


@dataclass(frozen=True, slots=True)
class CacheFacts:
    """A data cache as sysfs lists it; 0 is what it does not tell."""

    size: int
    ways: int = 0
    line: int = 0


def detect_machine() -> Machine:
    """Return the running machine; POLYOPT_CORES, POLYOPT_L1 and so on override what is found.

    So does the file that POLYOPT_MACHINE names.
    """
    flags = frozenset(processor_features())
    vector, registers = vectors_of(flags)
    machine = Machine(
        cores=available_cores(),
        vector_bytes=vector,
        vector_registers=registers,
        fma=bool(flags & {"fma", "asimd"}),
    )
    return overridden(with_caches(machine, caches_in(CACHES)))


def vectors_of(flags: frozenset[str]) -> tuple[int, int]:
    """Return the bytes of one vector register and how many there are."""
    if "avx512f" in flags:
        return 64, 32
    if flags & {"avx", "avx2"}:
        return 32, 16
    if "asimd" in flags:
        return 16, 32
    return 16, 16


def with_caches(machine: Machine, caches: dict[int, CacheFacts]) -> Machine:
    """Return `machine` with what is known of its caches."""
    for level, facts in caches.items():
        changes = {f"l{level}": facts.size, f"l{level}_ways": facts.ways, "line": facts.line}
        known = {name: value for name, value in changes.items() if value and level <= 3}
        machine = replace(machine, **known)  # type: ignore[arg-type]
    return machine


def caches_in(directory: Path) -> dict[int, CacheFacts]:
    """Return level -> the data cache that sysfs lists for it."""
    found: dict[int, CacheFacts] = {}
    scale = {"K": 1 << 10, "M": 1 << 20, "": 1}
    for index in range(MOST_INDICES):
        entry = directory / f"index{index}"
        with contextlib.suppress(OSError, ValueError):
            kind = (entry / "type").read_text().strip()
            size = re.fullmatch(r"(\d+)([KM]?)", (entry / "size").read_text().strip())
            if kind != "Instruction" and size is not None:
                level = int((entry / "level").read_text())
                ways = _number(entry / "ways_of_associativity")
                line = _number(entry / "coherency_line_size")
                found[level] = CacheFacts(int(size[1]) * scale[size[2]], ways, line)
    return found


def _number(path: Path) -> int:
    """Return the number in a file, 0 where there is none."""
    with contextlib.suppress(OSError, ValueError):
        return max(0, int(path.read_text()))
    return 0
