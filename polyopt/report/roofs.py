"""A roofline as values: limits and marks in decades, and the places of both in a picture.

In: operations for each byte and operations a second, as logarithms.  Out: what `roofline.svg.jinja`
draws.  After Williams, Waterman and Patterson, "Roofline: An Insightful Visual Performance Model",
2009.
"""

from __future__ import annotations

from typing import Any

from polyopt.dataclass import dataclass

WIDTH, HEIGHT = 560, 320  # of the picture, in pixels
LEAST, MOST = -2.0, 3.0  # decades of operations for each byte


@dataclass(frozen=True, slots=True)
class Roof:
    """A limit: a line from `left` to `right`, in decades of operations a second."""

    name: str
    left: tuple[float, float]
    right: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Mark:
    """A nest or a program, at its operations for each byte of memory and its speed.

    `label` is written beside it, the name is shown when it is pointed at.
    """

    name: str
    place: tuple[float, float]
    label: str
    colour: str = "#d95f02"


@dataclass(frozen=True, slots=True)
class Roofline:
    """All of it; `low` and `high` are the decades that the picture has."""

    roofs: tuple[Roof, ...]
    marks: tuple[Mark, ...]
    low: float
    high: float


def drawn_roofs(found: Roofline) -> dict[str, Any]:
    """Return what `roofline.svg.jinja` draws, in pixels."""

    def place(point: tuple[float, float]) -> tuple[float, float]:
        x = (point[0] - LEAST) / (MOST - LEAST) * WIDTH
        y = HEIGHT - (point[1] - found.low) / (found.high - found.low) * HEIGHT
        return round(x, 1), round(y, 1)

    decades = range(int(found.low) + 1, int(found.high) + 1)
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "roofs": [(roof.name, *place(roof.left), *place(roof.right)) for roof in found.roofs],
        "marks": [(m.name, *place(m.place), m.colour, m.label) for m in found.marks],
        "rows": [(f"{10.0 ** (d - 9):g} GFLOP/s", place((LEAST, d))[1]) for d in decades],
        "columns": [(f"{10.0**d:g}", place((d, 0))[0]) for d in range(int(LEAST), int(MOST) + 1)],
    }
