"""Dependences, schedule trees, and the judge that proves or refuses a schedule."""

from polyopt.schedule.dependences import (
    Dependence,
    DependenceKind,
    Dependences,
    compute_dependences,
)
from polyopt.schedule.repair import Repair, RepairKind
from polyopt.schedule.schedule import Schedule, Transform, source_schedule
from polyopt.schedule.witness import Witness

__all__ = [
    "Dependence",
    "DependenceKind",
    "Dependences",
    "Repair",
    "RepairKind",
    "Schedule",
    "Transform",
    "Witness",
    "compute_dependences",
    "source_schedule",
]
