"""Reorder the loops of a band by interchanges.

In: a band, the wanted order.  Out: the steps.
"""

from __future__ import annotations

from polyopt.schedule.schedule import Transform
from polyopt.schedule.tree import Band
from polyopt.transforms import Interchange


def order_steps(label: str, band: Band, order: tuple[int, ...]) -> list[Transform]:
    """Return the interchanges that bring the loops of a band into `order`."""
    current = list(range(len(band.members)))
    steps: list[Transform] = []
    for place, wanted in enumerate(order):
        here = current.index(wanted)
        if here != place:
            steps.append(Interchange(f"{label}[{place}]", f"{label}[{here}]"))
            current[place], current[here] = current[here], current[place]
    return steps
