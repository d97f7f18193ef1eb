"""Dependences, schedule trees, and the legality check that proves or refuses a schedule.

Refusals, some steps and some modes alone use the modules named here: imported on use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.late import names_of

if TYPE_CHECKING:
    from polyopt.schedule import carried_sums as carried_sums
    from polyopt.schedule import data as data
    from polyopt.schedule import deferred_divisions as deferred_divisions
    from polyopt.schedule import definite_assignment as definite_assignment
    from polyopt.schedule import float32_functions as float32_functions
    from polyopt.schedule import forwarded_elements as forwarded_elements
    from polyopt.schedule import fusible_products as fusible_products
    from polyopt.schedule import inplace as inplace
    from polyopt.schedule import large_parts as large_parts
    from polyopt.schedule import liveness as liveness
    from polyopt.schedule import masked_terms as masked_terms
    from polyopt.schedule import powers as powers
    from polyopt.schedule import reciprocals as reciprocals
    from polyopt.schedule import reductions as reductions
    from polyopt.schedule import refusal as refusal
    from polyopt.schedule import regions as regions
    from polyopt.schedule import scales as scales
    from polyopt.schedule import speculation as speculation
    from polyopt.schedule import statement_groups as statement_groups
    from polyopt.schedule import table as table
    from polyopt.schedule.dependences import Dependence as Dependence
    from polyopt.schedule.dependences import DependenceKind as DependenceKind
    from polyopt.schedule.dependences import Dependences as Dependences
    from polyopt.schedule.dependences import compute_dependences as compute_dependences
    from polyopt.schedule.repair import Repair as Repair
    from polyopt.schedule.repair import RepairKind as RepairKind
    from polyopt.schedule.schedule import Schedule as Schedule
    from polyopt.schedule.schedule import Transform as Transform
    from polyopt.schedule.schedule import source_schedule as source_schedule
    from polyopt.schedule.witness import Witness as Witness
else:
    __getattr__ = names_of(__name__)
