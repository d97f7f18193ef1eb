"""The stages of a compilation, in order.

In: a `Program`, options, a machine.  Out: `Compilation` with every stage's value and time.
`after_stage` sees each value as it is made, to dump it or to verify it.
An automatic schedule whose loops take too long to make gives way to the source's order.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

from polyopt.emit import emit_c, optimize_loops
from polyopt.emit.lower import lower
from polyopt.errors import BudgetError
from polyopt.ir.affine import quota
from polyopt.ir.loops import Body, For, If, LoopFunction, LoopKind, Node
from polyopt.ir.program import Program
from polyopt.ir.source import Source
from polyopt.machine import Machine
from polyopt.schedule import Schedule, source_schedule
from polyopt.strategy import auto_schedule
from polyopt.targets import Options
from polyopt.transforms import parse_schedule

LOWER_BUDGET = 10_000_000
"""isl operations that making a schedule's loops may take; a second is about three million."""

AfterStage: TypeAlias = Callable[[str, object], None]
_Value = TypeVar("_Value")


@dataclass(frozen=True, eq=False)
class Compilation:
    """What each stage made; `timings` in seconds by the stage's name."""

    program: Program
    schedule: Schedule
    loops: LoopFunction
    source: Source
    timings: dict[str, float]


def compile_program(
    program: Program, options: Options, machine: Machine, after_stage: AfterStage | None = None
) -> Compilation:
    """Schedule, lower and emit `program`."""
    target = machine_for(options, machine)
    timings: dict[str, float] = {}

    def stage(name: str, make: Callable[[], _Value]) -> _Value:
        start = time.perf_counter()
        value = make()
        timings[name] = timings.get(name, 0.0) + time.perf_counter() - start
        if after_stage is not None:
            after_stage(name, value)
        return value

    schedule = stage("schedule", lambda: choose_schedule(program, options, target))
    try:
        lowered = stage("lower", lambda: bounded_lower(schedule, program))
    except BudgetError:
        if options.schedule is not None:
            raise
        schedule = stage("schedule", lambda: source_schedule(program.scop))
        lowered = stage("lower", lambda: bounded_lower(schedule, program))
    wanted = sequential(lowered) if options.threads == 1 else lowered
    loops = stage("optimize", lambda: optimize_loops(wanted, target, options.fp.value))
    source = stage("emit", lambda: emit_c(loops))
    return Compilation(program, schedule, loops, source, timings)


def bounded_lower(schedule: Schedule, program: Program) -> LoopFunction:
    """Return the loops of `schedule`; raises `BudgetError` when making them takes too long."""
    with quota(LOWER_BUDGET):
        return lower(schedule, program)


def machine_for(options: Options, machine: Machine) -> Machine:
    """Return the machine as the options let it be used."""
    return machine if options.threads is None else replace(machine, cores=options.threads)


def choose_schedule(program: Program, options: Options, machine: Machine) -> Schedule:
    """Return the schedule the options ask for, proven."""
    match options.schedule:
        case None:
            return auto_schedule(program.scop, machine)
        case "source":
            return source_schedule(program.scop)
        case text:
            return parse_schedule(source_schedule(program.scop), text)


def sequential(function: LoopFunction) -> LoopFunction:
    """Return `function` with its parallel loops run by one thread."""
    return replace(function, body=_sequential(function.body))


def _sequential(body: Body) -> Body:
    nodes: list[Node] = []
    for node in body:
        match node:
            case For(kind=LoopKind.PARALLEL):
                inner = _sequential(node.body)
                nodes.append(replace(node, kind=LoopKind.SEQUENTIAL, body=inner, reductions=()))
            case For():
                nodes.append(replace(node, body=_sequential(node.body)))
            case If():
                then, otherwise = _sequential(node.then), _sequential(node.otherwise)
                nodes.append(replace(node, then=then, otherwise=otherwise))
            case _:
                nodes.append(node)
    return tuple(nodes)
