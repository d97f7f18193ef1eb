"""What a kernel is compiled for: the machine and the options of one compilation.

In: the running machine, keyword options.  Out: `Machine` and `Options`, immutable and comparable.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, unique

from polyopt.machine import Machine

__all__ = ["FpMode", "Machine", "Options"]


@unique
class FpMode(Enum):
    """How far floating-point results may differ from the source's order of operations."""

    STRICT = "strict"  # the same operations in the same order per element
    REASSOCIATE = "reassociate"  # declared reductions may be split, vectorized, contracted to FMA
    FAST = "fast"  # reciprocals and approximate functions too


@dataclass(frozen=True, slots=True)
class Options:
    """One compilation's options.

    `threads`: None means all cores at run time; 1 emits sequential code.
    `schedule`: None chooses automatically, "source" keeps the source's order, else a schedule text.
    """

    fp: FpMode = FpMode.STRICT
    threads: int | None = None
    schedule: str | None = None
    compiler: str | None = None
