"""The fastest loops of a program as the passes make them, whether a certificate proves them or not.

In: a `Program`, a machine, a schedule's text.  Out: the program as it was scheduled, its loops.
"""

from __future__ import annotations

from polyopt.emit import optimize_loops
from polyopt.emit.fault_exits import exit_on_faults
from polyopt.ir.loops import LoopFunction
from polyopt.ir.program import Program
from polyopt.machine import Machine
from polyopt.pipeline import bounded_lower, choose_schedules
from polyopt.schedule.regions import settle_regions
from polyopt.targets import Options


def loops_of(program: Program, machine: Machine, schedule: str | None = None) -> LoopFunction:
    """Return the final loops of `program`."""
    settled = program if program.is_static else settle_regions(program)
    schedules = choose_schedules(settled, Options(schedule=schedule), machine)
    loops = optimize_loops(bounded_lower(schedules, settled), machine, "strict")
    return exit_on_faults(loops)
