"""The numbers of a machine that decide tile sizes and vector shapes.

In: nothing.  Out: `Machine`, plain data; `polyopt.targets` detects it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Machine:
    """A CPU: sizes in bytes, caches per core except `l3`, which all cores share."""

    cores: int = 1
    vector_bytes: int = 32
    vector_registers: int = 16
    l1: int = 32 * 1024
    l2: int = 512 * 1024
    l3: int = 8 * 1024 * 1024
    fma: bool = True
