"""Execution of a program's parts in the source's order, for `interp.run_program`.

In: the parts, arrays (changed in place), sizes, symbols, a way to run a static control part.
Out: the arrays; raises the `KernelFault` the program runs into.
Refuses: library calls on other types than the signature says (PO0911).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import count
from typing import Any, TypeAlias

import numpy as np

from polyopt.dataclass import dataclass
from polyopt.errors import InternalError
from polyopt.ir.evaluate import Frame, compile_expr
from polyopt.ir.expr import Expr
from polyopt.ir.library import call_library
from polyopt.ir.program import Allocate, Bind, Invoke, Parts, Program, Repeat, Require, all_parts
from polyopt.ir.run_loops import Failed, raise_faults
from polyopt.ir.scop import Array, Role, Scop
from polyopt.ir.storage import storage
from polyopt.never import assert_never

Arrays: TypeAlias = dict[str, np.ndarray[Any, Any]]
RunScop: TypeAlias = Callable[[Scop, Arrays, dict[str, int], dict[str, Any]], None]


def noted(arrays: Iterable[np.ndarray[Any, Any]]) -> list[int]:
    """Return the numbers of the faults that FAULT arrays note."""
    return [int(number) for array in arrays for number in np.flatnonzero(array)]


def run_parts(
    program: Program,
    arrays: Arrays,
    params: dict[str, int],
    symbols: dict[str, Any],
    run_scop: RunScop,
) -> None:
    """Run the program's parts on `arrays`, which gets its temporaries too."""
    later = {part.array for part in all_parts(program.parts) if isinstance(part, Allocate)}
    run = _Run(program, arrays, symbols, run_scop)
    for array in program.arrays:
        if array.role in (Role.TEMP, Role.FAULT) and array.name not in later:
            arrays[array.name] = run.storage(array, params)
    faults = [array.name for array in program.arrays if array.role is Role.FAULT]
    failed: int | None = None
    with np.errstate(all="ignore"):
        try:
            run.parts(program.parts, dict(params))
        except Failed as stop:
            failed = stop.fault
    raise_faults(program.signature, noted(arrays[name] for name in faults), failed)


@dataclass(frozen=True, slots=True)
class _Run:
    program: Program
    arrays: Arrays
    symbols: dict[str, Any]
    run_scop: RunScop

    def value(self, expr: Expr, params: dict[str, int]) -> Any:  # noqa: ANN401
        return compile_expr(expr)(Frame(self.arrays, params, self.symbols))

    def storage(self, array: Array, params: dict[str, int]) -> np.ndarray[Any, Any]:
        return storage(array, [int(self.value(extent, params)) for extent in array.shape])

    def parts(self, parts: Parts, params: dict[str, int]) -> None:
        """Run a body; names it binds are gone afterwards."""
        params = dict(params)
        for part in parts:
            match part:
                case Scop():
                    self.scop(part, params)
                case Bind():
                    params[part.param] = int(self.value(part.value, params))
                case Require():
                    if not self.value(part.condition, params):
                        raise Failed(part.fault)
                case Allocate():
                    array = self.program.array(part.array)
                    self.arrays[part.array] = self.storage(array, params)
                case Repeat():
                    self.repeat(part, params)
                case Invoke():
                    self.invoke(part)
                case _:
                    assert_never(part)

    def scop(self, scop: Scop, params: dict[str, int]) -> None:
        """Run a static control part; its own temporaries start undefined every time."""
        own = {array.name for array in scop.arrays if array.role is Role.TEMP}
        arrays = {name: array for name, array in self.arrays.items() if name not in own}
        self.run_scop(scop, arrays, params, self.symbols)

    def repeat(self, part: Repeat, params: dict[str, int]) -> None:
        first = int(self.value(part.lower, params))
        steps: Iterable[int] = count(first, part.step)
        if part.upper is not None:
            steps = range(first, int(self.value(part.upper, params)), part.step)
        private = [self.program.array(name) for name in part.private]
        for step in steps:
            if part.going is not None and not self.value(part.going, params):
                break
            if part.going is not None:
                self.stop_when_noted()
            inner = params | {part.param: step}
            if part.parallel:
                self.arrays.update({a.name: self.storage(a, inner) for a in private})
            self.parts(part.body, inner)

    def stop_when_noted(self) -> None:
        """End the program when a fault was noted: what only data ends might go on for ever."""
        faults = [array.name for array in self.program.arrays if array.role is Role.FAULT]
        found = noted(self.arrays[name] for name in faults)
        if found:
            raise Failed(min(found))

    def invoke(self, part: Invoke) -> None:
        call = self.program.signature.library[part.site]
        inputs = [self.arrays[name] for name in part.inputs]
        outputs = [self.arrays[name] for name in part.outputs]
        for array, (dtype, rank) in zip(
            (*inputs, *outputs), (*call.inputs, *call.outputs), strict=True
        ):
            if array.dtype != dtype.numpy or array.ndim != rank:
                raise InternalError("PO0911", f"{call.function} is called with other arrays")
        call_library(call, inputs, outputs)
