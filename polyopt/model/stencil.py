"""Tile sizes of time loops, solved for from a cache.

In: a `Machine`, what a time step of a stencil reads.  Out: how many steps a tile runs, how many
elements it has along each dimension of space: those with the least time for an update.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from math import prod

from polyopt.dataclass import dataclass
from polyopt.machine import Machine, assumed_rates
from polyopt.model.caches import caches_of

USUAL = 2000  # elements along a dimension of which nothing is known
USUAL_STEPS = 32
SHARE = 4  # of what a thread has of L3, tiles take one part: others use it, too
TURNS = 3  # tiles for each thread in one front
LEAST, LEAST_ROW, MOST = 4, 16, 1024  # elements along a dimension, along the contiguous one
OVERHEAD = 100e-9  # seconds to start a tile
ROW = 20e-9  # seconds to begin and end a row in vectors
OPERATIONS = 5  # of an update, where nobody has counted


@dataclass(frozen=True, slots=True)
class Stencil:
    """A time loop around loops over space, the contiguous dimension last.

    `arrays` are kept from step to step, `element` bytes each; a step reaches `reach` elements
    further in every dimension.  `whole` dimensions are not tiled.
    """

    dimensions: int
    element: int
    arrays: int = 2
    reach: int = 1
    operations: int = OPERATIONS
    whole: frozenset[int] = frozenset()
    extents: tuple[int, ...] = ()  # along each dimension; () is unknown

    def extent(self, dimension: int) -> int:
        """Return the length of a dimension, a usual one where it is unknown."""
        if self.extents:
            return self.extents[dimension]
        return max(64, int(USUAL ** (2 / self.dimensions)))


@dataclass(frozen=True, slots=True)
class TimeTile:
    """A tile: time steps, and elements along each dimension of space."""

    steps: int
    sizes: tuple[int, ...]


def working_set(stencil: Stencil, tile: TimeTile) -> int:
    """Return the bytes that one time step of a tile touches: what has to stay in a cache."""
    kept = (size + 2 * stencil.reach for size in tile.sizes)
    return stencil.arrays * stencil.element * prod(kept)


def footprint(stencil: Stencil, tile: TimeTile) -> int:
    """Return the bytes that all time steps of a skewed tile touch: what comes into the cache."""
    grown = stencil.reach * tile.steps
    return stencil.arrays * stencil.element * prod(size + grown for size in tile.sizes)


def loaded(stencil: Stencil, tile: TimeTile, room: int) -> float:
    """Return the elements that an update brings into L1 or takes out, which keeps `room` bytes.

    Each array comes in once and one of them goes out, half of the time.  Along a dimension of which
    the neighbours have left L1 before their turn, those of both sides come in once more.
    """
    kept = stencil.arrays * (stencil.reach + 1) * stencil.element
    inner = (prod(tile.sizes[n + 1 :]) for n in range(stencil.dimensions - 1))
    far = sum(kept * elements > room for elements in inner)
    return 1.5 * stencil.arrays + 2 * stencil.reach * far


def waiting(stencil: Stencil, tile: TimeTile, machine: Machine) -> float:
    """Return how much longer a wavefront of tiles takes than its work: fronts differ in length."""
    counts = [USUAL_STEPS / tile.steps]
    for dimension, size in enumerate(tile.sizes):
        if dimension not in stencil.whole:
            counts.append(max(1.0, stencil.extent(dimension) / size))
    fronts = counts[0] + (counts[1] if len(counts) > 1 else 1.0) - 1
    in_front = max(1.0, prod(counts[:2]) / max(1.0, fronts))
    return 1 + (machine.cores - 1) / in_front


def time_of_update(stencil: Stencil, tile: TimeTile, machine: Machine) -> float:
    """Return the seconds that an update of an element takes one of the threads.

    It computes from L2, after what the tile touches has come from memory, or from L3 where all of
    the arrays fit there; a vector is begun and ended in each row.  Lines come from L2 while nothing
    is computed: the times of both add up (Stengel, Treibig, Hager, Wellein, "Quantifying
    performance bottlenecks of stencil computations using the Execution-Cache-Memory model", 2015).
    """
    speeds = assumed_rates(machine).every
    lanes = max(1, machine.vector_bytes // stencil.element)
    peak = (speeds.float32 if stencil.element == 4 else speeds.float64) / machine.cores / 2
    updates = tile.steps * prod(tile.sizes)
    ragged = 1 + lanes / tile.sizes[-1]
    compute = stencil.operations / peak * ragged
    first, second, _ = caches_of(machine)
    kept = speeds.l2 if working_set(stencil, tile) <= second.room(2) else speeds.l3
    near = loaded(stencil, tile, first.room(2)) * stencil.element / (kept / machine.cores) * ragged
    total = stencil.arrays * stencil.element * prod(map(stencil.extent, range(stencil.dimensions)))
    far = speeds.l3 if 2 * total < machine.l3 else speeds.memory
    moved = 1.5 * footprint(stencil, tile) / (far / machine.cores)  # what is written comes in, too
    busy = compute + near + ROW / tile.sizes[-1] + (moved + OVERHEAD) / updates
    return busy * waiting(stencil, tile, machine)


@lru_cache(maxsize=64)
def time_tile(stencil: Stencil, machine: Machine) -> TimeTile:
    """Return the tile with the least time for an update, its steps from L2 or a part of L3."""
    _, second, third = caches_of(machine)
    room = max(second.room(2), third.room(2) // (SHARE * machine.cores))
    for least_tiles in (TURNS * machine.cores, 1):
        tiles = list(_tiles(stencil, least_tiles))
        fitting = [tile for tile in tiles if working_set(stencil, tile) <= room]
        if fitting:
            return min(fitting, key=lambda t: time_of_update(stencil, t, machine))
    return min(_tiles(stencil, 1), key=lambda tile: working_set(stencil, tile))


def _tiles(stencil: Stencil, least_tiles: int) -> Iterator[TimeTile]:
    """Yield tiles of which there are so many along the dimension that threads share."""
    lengths = [stencil.extent(dimension) for dimension in range(stencil.dimensions)]
    choices: list[list[int]] = []
    for dimension, extent in enumerate(lengths):
        least = LEAST_ROW if dimension == stencil.dimensions - 1 else LEAST
        fitting = [size for size in _grid() if least <= size < extent]
        is_whole = dimension in stencil.whole or not fitting
        choices.append([extent] if is_whole else fitting)
    for sizes in product(*choices):
        if -(-lengths[0] // sizes[0]) >= least_tiles:
            yield from (TimeTile(steps, sizes) for steps in _grid() if steps <= USUAL_STEPS)


def _grid() -> list[int]:
    """Return powers of two."""
    return [1 << k for k in range(2, MOST.bit_length())]
