"""How much of a cache tiles may fill.

In: a `Machine`, a level.  Out: bytes, by ways: data that stays shares the cache with what streams.
As in Low, Igual, Smith and Quintana-Orti, "Analytical Modeling Is Enough for High-Performance
BLIS", 2016.
"""

from __future__ import annotations

from polyopt.dataclass import dataclass
from polyopt.machine import Machine

LAST = 3


@dataclass(frozen=True, slots=True)
class Cache:
    """A cache as one thread sees it; a way is what one line of every set holds."""

    level: int
    size: int
    ways: int
    line: int

    @property
    def way(self) -> int:
        """Bytes of a way."""
        return max(self.line, self.size // self.ways)

    @property
    def kept(self) -> int:
        """Bytes that stay: of the last cache half, for others use it, too."""
        return self.size // 2 if self.level == LAST else self.size

    def room(self, streams: int) -> int:
        """Return the bytes that stay when each of so many streams passes through a way."""
        return max(1, self.ways - streams) * self.way


def caches_of(machine: Machine) -> tuple[Cache, Cache, Cache]:
    """Return the caches from the first level on."""
    return (
        Cache(1, machine.l1, machine.l1_ways, machine.line),
        Cache(2, max(machine.l2, machine.l1), machine.l2_ways, machine.line),
        Cache(3, max(machine.l3, machine.l2), machine.l3_ways, machine.line),
    )
