"""The numbers of a machine that decide tile sizes and vector shapes, and how fast it is.

In: nothing.  Out: `Machine`, which decides code, and `Rates`, which only foretell times.
`polyopt.measuring` detects the one and measures the other.
"""

from __future__ import annotations

from polyopt.dataclass import dataclass

USUAL_HERTZ = 3.0e9  # of a core of which nothing is known
LAST_CACHE = 16  # bytes that a core reads from L3 in a cycle: 8 to 32, whatever its vectors


MASKED = 64  # bytes of vectors of which parts are loaded and stored by one instruction


@dataclass(frozen=True, slots=True)
class Machine:
    """A CPU: sizes in bytes, caches per core except `l3`, which all cores share.

    `line` is what caches move at a time; `…_ways` are lines of a cache that share their place.
    `fma_units` is how many vectors of multiply-adds a core starts in a cycle.
    """

    cores: int = 1
    vector_bytes: int = 32
    vector_registers: int = 16
    l1: int = 32 * 1024
    l2: int = 512 * 1024
    l3: int = 8 * 1024 * 1024
    fma: bool = True
    line: int = 64
    l1_ways: int = 8
    l2_ways: int = 8
    l3_ways: int = 16
    fma_units: int = 2

    @property
    def has_masks(self) -> bool:
        """Whether one instruction loads or stores some lanes of a vector, of any element type."""
        return self.vector_bytes >= MASKED


@dataclass(frozen=True, slots=True)
class Speeds:
    """What a number of threads reach together: operations and bytes that are read, per second.

    `stream` counts the bytes of `a[i] = b[i] + s * c[i]` out of memory, three a step.
    """

    float64: float
    float32: float
    l1: float
    l2: float
    l3: float
    memory: float
    stream: float


@dataclass(frozen=True, slots=True)
class Rates:
    """Speeds of one core and of all; `region` is the seconds of an empty parallel loop.

    `hertz` are the cycles of a second.
    """

    one: Speeds
    every: Speeds
    region: float
    is_measured: bool = False
    hertz: float = USUAL_HERTZ

    def speeds(self, threads: int, machine: Machine) -> Speeds:
        """Return the speeds of that many threads: of all cores, or of one."""
        return self.one if threads <= 1 or machine.cores == 1 else self.every


def assumed_rates(machine: Machine) -> Rates:
    """Return what a usual core with these vectors and caches reaches, for want of measurements."""
    vector = USUAL_HERTZ * machine.vector_bytes
    flops = vector * (2 if machine.fma else 1) * machine.fma_units
    third = USUAL_HERTZ * LAST_CACHE
    one = Speeds(flops / 8, flops / 4, 2 * vector, vector, third, 12e9, 12e9)
    cores = machine.cores
    shared = min(cores, 4)  # more cores than a few do not get more out of memory
    every = Speeds(
        one.float64 * cores,
        one.float32 * cores,
        one.l1 * cores,
        one.l2 * cores,
        one.l3 * cores,
        one.memory * shared,
        one.stream * shared,
    )
    return Rates(one, every, 2e-6)
