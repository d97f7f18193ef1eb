"""What a race is: two iterations that no order separates, and the memory both touch.

In: nothing.  Out: plain records.
"""

from __future__ import annotations

from enum import Enum, unique

from polyopt.dataclass import dataclass


@unique
class Level(Enum):
    """Which iterations run at the same time."""

    THREADS = "threads"  # those of loops under `omp parallel for`
    LANES = "lanes"  # those of loops under `omp simd`


@unique
class RaceKind(Enum):
    """What the two accesses of a race do; who comes first is not determined."""

    WRITE_WRITE = "write-write"
    READ_WRITE = "read-write"


@dataclass(frozen=True, slots=True)
class Place:
    """A line of the C text."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Touch:
    """One access: by which iteration of the loop (from 0), where, and whether it writes."""

    iteration: int
    place: Place
    writes: bool


@dataclass(frozen=True, slots=True)
class Cell:
    """An element: of an argument or result by its subscripts, of a temporary by its position."""

    array: str
    index: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.array}[{', '.join(map(str, self.index))}]"


@dataclass(frozen=True, slots=True)
class Race:
    """Two iterations of `loop` touch `cell` and nothing orders them; one of them writes.

    `cell` is None for a variable of the function.  `times`: how often the two places met so.
    """

    kind: RaceKind
    level: Level
    loop: Place
    first: Touch
    second: Touch
    cell: Cell | None
    times: int

    def __str__(self) -> str:
        where = "a variable" if self.cell is None else str(self.cell)
        lines = [
            f"{self.kind.value} race on {where}: iterations {self.first.iteration} and "
            f"{self.second.iteration} ({self.level.value}) of the loop in line {self.loop.line}"
        ]
        for touch in (self.first, self.second):
            verb = "writes" if touch.writes else "reads"
            place = touch.place
            lines.append(f"  {touch.iteration} {verb}, line {place.line}: {place.text}")
        return "\n".join(lines)
