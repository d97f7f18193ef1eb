"""Dependences, schedule trees, and the judge that proves or refuses a schedule.

The modules that are named here serve refusals, some steps and some modes: imported on use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.late import names_of

if TYPE_CHECKING:
    from polyopt.schedule import (
        data,
        inplace,
        narrowed,
        postponed,
        powers,
        ratios,
        reductions,
        refusal,
        regions,
        scales,
        transfers,
    )
    from polyopt.schedule.dependences import (
        Dependence,
        DependenceKind,
        Dependences,
        compute_dependences,
    )
    from polyopt.schedule.repair import Repair, RepairKind
    from polyopt.schedule.schedule import Schedule, Transform, source_schedule
    from polyopt.schedule.witness import Witness
else:
    __getattr__ = names_of(
        __name__,
        {
            "data": "",
            "dependences": "Dependence DependenceKind Dependences compute_dependences",
            "inplace": "",
            "narrowed": "",
            "postponed": "",
            "powers": "",
            "ratios": "",
            "reductions": "",
            "refusal": "",
            "regions": "",
            "repair": "Repair RepairKind",
            "scales": "",
            "schedule": "Schedule Transform source_schedule",
            "transfers": "",
            "witness": "Witness",
        },
    )

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
    "data",
    "inplace",
    "narrowed",
    "postponed",
    "powers",
    "ratios",
    "reductions",
    "refusal",
    "regions",
    "scales",
    "source_schedule",
    "transfers",
]
