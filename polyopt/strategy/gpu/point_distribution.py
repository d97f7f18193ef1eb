"""Distribute the points of a tile to a square of threads, a few rows and columns for each.

In: a band over the points of a tile.  Out: its first two loops across threads, those over a
thread's own points innermost.
"""

from __future__ import annotations

from polyopt.dataclass import dataclass
from polyopt.schedule.schedule import Schedule, Transform
from polyopt.schedule.tree import find_band
from polyopt.strategy.gpu.tiles import TileSizes
from polyopt.strategy.interchanges import order_steps
from polyopt.transforms import Deal, Strip, Threads


@dataclass(frozen=True, slots=True)
class ThreadPoints:
    """A thread's points along one loop: `own` of `size`, in groups of `wide` neighbours."""

    size: int
    own: int
    wide: int

    @property
    def lanes(self) -> int:
        """The number of threads."""
        return -(-self.size // self.own)


def thread_points(sizes: TileSizes) -> tuple[ThreadPoints, ThreadPoints]:
    """Return a thread's points along rows and along columns."""
    rows = ThreadPoints(sizes.rows, sizes.own_rows, sizes.own_rows)
    return rows, ThreadPoints(sizes.columns, sizes.own_columns, sizes.wide)


def distribute_points(
    schedule: Schedule, label: str, sides: tuple[tuple[int, ThreadPoints], ...]
) -> Schedule | None:
    """Return `schedule` with loops of the band `label`, by position, distributed; or None.

    The first of `sides` varies slowest across threads.
    """
    band = find_band(schedule.tree, label)
    first = tuple(position for position, _ in sides)
    others = tuple(p for p in range(len(band.members)) if p not in first)
    steps: list[Transform] = [*order_steps(label, band, (*first, *others))]
    lanes: list[int] = []
    own: list[int] = []
    place = 0
    for _, side in sides:
        loop = f"{label}[{place}]"
        steps.append(Strip(loop, side.wide))
        lanes.append(place)
        count = 2
        if side.wide < side.own:
            steps.append(Deal(loop, side.lanes))
            count = 3
        own += range(place + 1, place + count)
        place += count
    split = schedule.attempt(*steps)
    if split is None:
        return None
    rest = tuple(place + n for n in range(len(others)))
    moves = order_steps(label, find_band(split.tree, label), (*lanes, *rest, *own))
    threads = Threads(tuple(f"{label}[{n}]" for n in range(len(sides))))
    return split.attempt(*moves, threads)
