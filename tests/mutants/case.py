"""A program under a schedule, compiled as the compiler stands: what the layers look at.

In: a `Case`.  Out: `Made`.  Steps that are refused are left out, so that a sound compiler makes
code of every case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from polyopt.emit import emit_c, optimize_loops
from polyopt.emit.lower import lower
from polyopt.errors import ScheduleError
from polyopt.frontend import build
from polyopt.frontend.syntax.type_inference import infer_types
from polyopt.ir.integers import evaluate
from polyopt.ir.interp import run_scop
from polyopt.ir.loops import LoopFunction
from polyopt.ir.program import Program
from polyopt.ir.scop import Role, Scop
from polyopt.ir.source import ArrayArg, Layout, Source
from polyopt.machine import Machine
from polyopt.schedule import Schedule, source_schedule
from polyopt.transforms import parse_steps
from tests.oracle.program import as_program
from tests.reading import read

MACHINE = Machine(cores=4, vector_bytes=32, l1=512, l2=2048, l3=8192)
Sizes = Mapping[str, int]
Arrays = dict[str, np.ndarray[Any, Any]]
SMALL = ({"N": 5}, {"N": 0}, {"N": 1}, {"N": 9})


@dataclass(frozen=True)
class Case:
    """A program of one part as text, or as a function with annotations; steps; sizes to look at.

    `values` gives an array's elements at sizes, None for small whole numbers.
    """

    text: str = ""
    arrays: str = ""
    steps: str = ""
    params: str = "N"
    function: Callable[..., Any] | None = None
    sizes: tuple[Sizes, ...] = SMALL
    values: Callable[[str, tuple[int, ...]], Any] | None = None
    least: int = 0
    layout: Layout = Layout.C

    def program(self) -> Program:
        """Return the program as the front end reads it."""
        if self.function is not None:
            return build(self.function, infer_types(self.function))
        scop = read(self.text, self.arrays, self.params, self.least)
        if self.layout is not Layout.C:
            arrays = tuple(replace(array, layout=self.layout) for array in scop.arrays)
            scop = replace(scop, arrays=arrays)
        program = as_program(scop)
        arguments = tuple(
            replace(a, layout=self.layout) if isinstance(a, ArrayArg) else a
            for a in program.signature.arguments
        )
        return replace(program, signature=replace(program.signature, arguments=arguments))


@dataclass(frozen=True, eq=False)
class Made:
    """What the compiler made of a case."""

    case: Case
    program: Program
    schedule: Schedule
    loops: LoopFunction
    source: Source

    def arrays(self, sizes: Sizes) -> Arrays:
        """Return the arguments' elements before the call."""
        rng = np.random.default_rng(sum(sizes.values()) + 3)
        return {
            array.name: _elements(self.case, array, sizes, rng)
            for array in self.program.scop.arrays
            if array.role not in (Role.TEMP, Role.FAULT)
        }

    def expected(self, sizes: Sizes) -> Arrays:
        """Return the arrays after the call, by the slow interpreter."""
        arrays = self.arrays(sizes)
        run_scop(self.program.scop, arrays, sizes)
        return arrays


def _elements(case: Case, array: Any, sizes: Sizes, rng: np.random.Generator) -> Any:
    shape = tuple(max(0, evaluate(extent, sizes)) for extent in array.shape)
    if case.values is not None:
        found = case.values(array.name, shape)
        if found is not None:
            return found
    low = 0 if array.dtype.kind.value == "unsigned" else -9
    raw = rng.integers(low, 10, size=shape)
    made = np.asarray(np.where(raw == 0, 4, raw)).astype(array.dtype.numpy)
    if case.layout is Layout.STRIDED and made.ndim == 1:
        return np.repeat(made, 2)[::-2]
    return made


def make(case: Case, name: str) -> Made:
    """Compile `case`; its entry is called `name`."""
    plain = case.program()
    signature = replace(plain.signature, name=name)
    program = replace(plain, name=name, signature=signature)
    schedule = scheduled(program.scop, case.steps)
    renewed = replace(program, parts=(schedule.scop,), arrays=schedule.scop.arrays)
    loops = optimize_loops(lower(schedule, renewed), MACHINE, "strict")
    return Made(case, program, schedule, loops, emit_c(loops))


def scheduled(scop: Scop, steps: str) -> Schedule:
    """Return the schedule after those of `steps` that are accepted."""
    schedule = source_schedule(scop)
    for step in parse_steps(steps):
        try:
            schedule = schedule.apply(step)
        except ScheduleError:
            continue
    return schedule
