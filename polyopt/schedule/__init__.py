"""Dependences, schedule trees, and the legality check that proves or refuses a schedule.

Refusals, some steps and some modes alone use the modules named here: imported on use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.late import names_of

if TYPE_CHECKING:
    from polyopt.schedule import (
        data,
        float32_functions,
        fusible_products,
        inplace,
        powers,
        reciprocals,
        reductions,
        refusal,
        regions,
        scales,
        source_order,
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
            "float32_functions": "",
            "fusible_products": "",
            "inplace": "",
            "powers": "",
            "reciprocals": "",
            "reductions": "",
            "refusal": "",
            "regions": "",
            "repair": "Repair RepairKind",
            "scales": "",
            "schedule": "Schedule Transform source_schedule",
            "source_order": "",
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
    "float32_functions",
    "fusible_products",
    "inplace",
    "powers",
    "reciprocals",
    "reductions",
    "refusal",
    "regions",
    "scales",
    "source_order",
    "source_schedule",
    "transfers",
]
