"""Which steps to take: the automatic schedules, composed of proven transformations.

Few programs have a use for the modules that are named here; they are imported with the first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.late import names_of

if TYPE_CHECKING:
    from polyopt.strategy import (
        borders,
        element_sums,
        gpu,
        lane_accesses,
        loop_privatization,
        memory_budget,
        mirrored_sums,
        online_sums,
        ranking,
        recomputation,
        row_block_fusion,
        running_rows,
        transposed_lanes,
        wavefront_vectorization,
    )
    from polyopt.strategy.auto import auto_schedule, predicted_seconds
else:
    __getattr__ = names_of(__name__)

__all__ = [
    "auto_schedule",
    "borders",
    "element_sums",
    "gpu",
    "lane_accesses",
    "loop_privatization",
    "memory_budget",
    "mirrored_sums",
    "online_sums",
    "predicted_seconds",
    "ranking",
    "recomputation",
    "row_block_fusion",
    "running_rows",
    "transposed_lanes",
    "wavefront_vectorization",
]
