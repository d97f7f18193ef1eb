"""By how much a schedule pads the rows of copies.

In: schedules.  Out: the elements added, by the name of the copy.
"""

from __future__ import annotations

from polyopt.schedule.schedule import Schedule
from polyopt.transforms import LayOut, Pack
from polyopt.transforms.layout import Part


def paddings(schedules: tuple[Schedule, ...]) -> dict[str, int]:
    """Return the padding of last dimensions, for arrays that have some."""
    found: dict[str, int] = {}
    for step in (step for schedule in schedules for step in schedule.trace):
        match step:
            case Pack(array=name, dimensions=(*_, last)):
                name = f"{name}_pack"
            case LayOut(array=name, dimensions=(*_, last)):
                pass
            case _:
                continue
        if last.part is Part.PADDED:
            found[name] = last.size
    return found
