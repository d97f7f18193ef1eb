"""From proven schedules to C text.

In: schedules, loop ASTs.  Out: loop ASTs, `Source`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.late import names_of

if TYPE_CHECKING:
    from polyopt.emit import array_contraction as array_contraction
    from polyopt.emit import chosen_iterations as chosen_iterations
    from polyopt.emit import conditional_stores as conditional_stores
    from polyopt.emit import gpu as gpu
    from polyopt.emit import library_calls as library_calls
    from polyopt.emit import library_products as library_products
    from polyopt.emit import memory_plan as memory_plan
    from polyopt.emit import nontemporal_loops as nontemporal_loops
    from polyopt.emit import notes as notes
    from polyopt.emit import peaks as peaks
    from polyopt.emit import random_rows as random_rows
    from polyopt.emit import register_transpose as register_transpose
    from polyopt.emit import rerolling as rerolling
    from polyopt.emit import sharing as sharing
    from polyopt.emit import starts as starts
    from polyopt.emit import storage_scope as storage_scope
    from polyopt.emit import tidying as tidying
    from polyopt.emit import vector_loops as vector_loops
    from polyopt.emit import vector_sums as vector_sums
    from polyopt.emit.c import emit_c as emit_c
    from polyopt.emit.gpu import device_loops as device_loops
    from polyopt.emit.passes import optimize_loops as optimize_loops
    from polyopt.emit.passes.panel_views import Panel as Panel
    from polyopt.emit.passes.panel_views import through_views as through_views
else:
    __getattr__ = names_of(__name__)
