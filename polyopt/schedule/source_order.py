"""Schedule programs that are too large to analyse in the order of the source.

In: a Scop.  Out: a `Schedule` that runs it as written, which needs no proof of order; dependences
are computed on demand, for steps and explanations.
"""

from __future__ import annotations

from polyopt.ir.scop import Scop
from polyopt.schedule.dependences import dependences_of
from polyopt.schedule.schedule import Schedule
from polyopt.schedule.source import source_tree


def schedule_in_source_order(scop: Scop) -> Schedule:
    """Return the source's order as a schedule, without dependences or privatization."""
    return Schedule(scop, dependences_of(scop), source_tree(scop))
