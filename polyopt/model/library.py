"""How long a product takes that a BLAS library computes: the roofs of arithmetic and of memory.

In: the lengths of the product's loops, the machine's rates.  Out: `LibraryTime`.
A tuned library comes near the arithmetic roof where matrices are large (K. Goto, R. van de Geijn,
"Anatomy of high-performance matrix multiplication", 2008), and reads each matrix once otherwise.
"""

from __future__ import annotations

from polyopt.dataclass import dataclass
from polyopt.ir.types import DType
from polyopt.machine import Machine, Rates


@dataclass(frozen=True, slots=True)
class LibraryTime:
    """Seconds of a call by what binds it: `arithmetic` on all cores, `memory` for each element."""

    arithmetic: float
    memory: float

    @property
    def seconds(self) -> float:
        """The seconds that the call takes."""
        return max(self.arithmetic, self.memory)


def library_time(
    rows: int, columns: int | None, terms: int, dtype: DType, machine: Machine, rates: Rates
) -> LibraryTime:
    """Return the time of a product; `columns` is None for a matrix times a vector."""
    width = 1 if columns is None else columns
    every = rates.speeds(machine.cores, machine)
    peak = every.float32 if dtype is DType.FLOAT32 else every.float64
    elements = rows * terms + terms * width + 2 * rows * width
    return LibraryTime(2.0 * rows * width * terms / peak, elements * dtype.size / every.memory)
