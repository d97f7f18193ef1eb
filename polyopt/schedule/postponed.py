"""The source's own order without its dependences, for programs too large to analyse in time.

In: a Scop.  Out: a `Schedule` that runs it as written, which needs no proof of order; dependences
are computed when a step or an explanation asks for them.
"""

from __future__ import annotations

from functools import cached_property

from polyopt.ir.scop import Scop
from polyopt.schedule.dependences import Dependence, Dependences, compute_dependences
from polyopt.schedule.schedule import Schedule
from polyopt.schedule.source import source_tree


class _Postponed(Dependences):
    """Dependences that are computed when first asked for."""

    def __init__(self, scop: Scop) -> None:
        object.__setattr__(self, "scop", scop)

    @cached_property
    def memory(self) -> tuple[Dependence, ...]:
        """Every ordered pair of instances that touch one element."""
        return compute_dependences(self.scop).memory


def written_order(scop: Scop) -> Schedule:
    """Return the order of the source; nothing is asked about dependences, nothing is private."""
    return Schedule(scop, _Postponed(scop), source_tree(scop))
