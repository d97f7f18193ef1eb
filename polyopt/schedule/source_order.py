"""The source's own order without its dependences, for programs too large to analyse in time.

In: a Scop.  Out: a `Schedule` that runs it as written, which needs no proof of order; dependences
are computed when a step or an explanation asks for them.
"""

from __future__ import annotations

from polyopt.ir.scop import Scop
from polyopt.schedule.dependences import dependences_of
from polyopt.schedule.schedule import Schedule
from polyopt.schedule.source import source_tree


def schedule_in_source_order(scop: Scop) -> Schedule:
    """Return the order of the source; nothing is asked about dependences, nothing is private."""
    return Schedule(scop, dependences_of(scop), source_tree(scop))
