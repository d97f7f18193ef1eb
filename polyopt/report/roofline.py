"""The roofline of a machine and where a kernel's nests lie in it.

In: a summary's subject.  Out: a `Roofline` in logarithms, ready to be drawn.
"""

from __future__ import annotations

from math import log10

from polyopt.model.nests import Nest
from polyopt.report.roofs import LEAST, MOST, Mark, Roof, Roofline
from polyopt.report.summary import SHOWN, Subject


def roofline(subject: Subject) -> Roofline | None:
    """Return the roofline; None on devices, and where no nest computes on numbers of memory."""
    if not subject.is_host:
        return None
    threads = 1 if subject.is_alone else subject.machine.cores
    speeds = subject.rates.speeds(threads, subject.machine)
    peak = log10(speeds.float64)
    rates = (("L1", speeds.l1), ("L2", speeds.l2), ("L3", speeds.l3), ("memory", speeds.memory))
    roofs = [Roof("compute", (LEAST, peak), (MOST, peak))]
    for name, rate in rates:
        corner = min(peak - log10(rate), MOST)
        roofs.append(Roof(name, (LEAST, LEAST + log10(rate)), (corner, corner + log10(rate))))
    ranked = sorted(enumerate(subject.nests, start=1), key=lambda one: -one[1].seconds)
    marks = tuple(mark for n, nest in ranked[:SHOWN] if (mark := _mark(n, nest)) is not None)
    if not marks:
        return None
    heights = [mark.place[1] for mark in marks]
    return Roofline(tuple(roofs), marks, min(*heights, 8.0) - 0.5, peak + 0.5)


def _mark(number: int, nest: Nest) -> Mark | None:
    found = nest.prediction
    memory = next((limit for limit in found.limits if limit.name == "memory"), None)
    operations = found.operations.value
    if memory is None or min(operations, memory.amount.value, found.seconds) <= 0:
        return None
    intensity = log10(operations / memory.amount.value)
    inside = max(LEAST, min(MOST, intensity))
    name = f"nest {number}"
    return Mark(name, (inside, log10(operations / found.seconds)), name)
