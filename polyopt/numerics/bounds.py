"""Bounds on the rounding errors of one call: how far each element may lie from the reference's.

In: a Program, its loops in the source's order, a call's arguments.  Out: `Bounds`, an array of
absolute bounds for each inexact output; exact outputs have none.
Refuses: arguments that share memory (PO0209); raises the fault that the program runs into.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from polyopt.dataclass import dataclass, replace
from polyopt.ir.interp import run_loops, run_program
from polyopt.ir.loops import LoopFunction
from polyopt.ir.program import Program
from polyopt.ir.scop import Array, Role
from polyopt.ir.source import ArrayArg, Layout, OutputArray, Result, ResultKind, Signature
from polyopt.numerics.classify import outputs_of
from polyopt.numerics.flow import flow, fusible_statements, open_statements, written_statements
from polyopt.numerics.running import Extended, with_bounds

Call: TypeAlias = Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Bounds:
    """Absolute bounds by the outputs' arrays; an array without one is exact.

    Infinite where inexact data decided what was computed, or a function amplifies without limit.
    """

    errors: dict[str, NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class Analysis:
    """A Program that computes its own bounds: `function` is called with the arguments extended.

    `inexact` are the outputs that need bounds; where there are none, nothing has to run.
    """

    program: Program
    function: LoopFunction
    extended: Extended
    inexact: tuple[str, ...]

    def arguments(self, args: Sequence[Any]) -> tuple[Any, ...]:
        """Return copies of `args`, and the arrays of bounds of those that are written."""
        own = [copy.deepcopy(value) for value in args]
        names = self.extended.names
        extra: list[NDArray[np.float64]] = []
        given = {a.array: own[n] for n, a in _arrays(self.program.signature) if n < len(own)}
        known = {array.name for array in self.function.arrays}
        for array, value in given.items():
            if names.error(array) in known:
                extra.append(np.zeros(value.shape))
                if array in self.extended.sums:
                    extra += [np.zeros(value.shape), np.abs(value).astype(np.float64)]
        return (*own, *extra)

    def collect(self, arguments: Sequence[Any], returned: Sequence[Any]) -> Bounds:
        """Return the bounds after a call with `arguments` that returned `returned`."""
        signature = self.function.signature
        found = {a.array: arguments[n] for n, a in _arrays(signature)}
        for result, value in zip(signature.results, returned, strict=True):
            found[result.array] = value
        lost = float(found[self.extended.names.lost][()])
        lengths = {o.array: o.length for o in signature.outputs if o.length is not None}
        errors = {}
        for array in self.inexact:
            bound = np.array(found[self.extended.names.error(array)], dtype=np.float64)
            length = found.get(self.extended.names.error(lengths.get(array) or ""))
            if lost > 0 or (length is not None and length > 0):
                bound = np.full_like(bound, np.inf)
            bound[np.isnan(bound)] = np.inf
            errors[array] = bound
        return Bounds(errors)


def analyse(program: Program, source_loops: LoopFunction) -> Analysis:
    """Return `source_loops`, the program in the source's order, extended by its bounds."""
    reordered = frozenset(open_statements(program))
    fusible = fusible_statements(program)
    found = flow(source_loops, reordered, written_statements(program) | fusible)
    narrow = {
        s.name: s.reduction.narrow
        for scop in program.scops
        for s in scop.statements
        if s.reduction is not None and s.reduction.narrow is not None
    }
    rounded = frozenset(
        s.name
        for scop in program.scops
        for s in scop.statements
        if s.reduction is not None and s.reduction.rounds
    )
    carried = frozenset(
        s.name
        for scop in program.scops
        for s in scop.statements
        if s.reduction is not None and s.reduction.carried
    )
    extended = with_bounds(source_loops, found, reordered, narrow, rounded, fusible, carried)
    signature = _signature(program.signature, extended)
    function = replace(extended.function, signature=signature)
    arrays = {a.name: a for a in (*program.arrays, *function.arrays) if a.role is not Role.TEMP}
    results = dict.fromkeys(array for _, array, _ in outputs_of(program.signature))
    inexact = tuple(array for array in results if found.is_inexact(array))
    extended_program = replace(program, arrays=tuple(arrays.values()), signature=signature)
    return Analysis(extended_program, function, extended, inexact)


def error_bounds(analysis: Analysis, args: Sequence[Any], call: Call | None = None) -> Bounds:
    """Return the bounds of a call with `args`, which stay untouched.

    `call` runs the extended function compiled; without it the slow interpreter does.
    """
    if not analysis.inexact:
        return Bounds({})
    arguments = analysis.arguments(args)
    with np.errstate(all="ignore"):
        if call is not None:
            returned = call(*arguments)
        else:
            returned = run_program(analysis.program, arguments, _interpreter(analysis.function))
    return analysis.collect(arguments, returned)


def _interpreter(function: LoopFunction) -> Callable[[Any, Any, Any], None]:
    return lambda arrays, params, symbols: run_loops(function, arrays, params, symbols)


def _arrays(signature: Signature) -> list[tuple[int, ArrayArg]]:
    return [
        (number, argument)
        for number, argument in enumerate(signature.arguments)
        if isinstance(argument, ArrayArg) and argument.part is None
    ]


def _signature(signature: Signature, extended: Extended) -> Signature:
    """Return the signature with the bounds of arguments as arguments, of outputs as results."""
    made = {array.name: array for array in extended.function.arrays}
    names = extended.names
    arguments = list(signature.arguments)
    for _, argument in _arrays(signature):
        companions = [names.error, names.terms, names.mass]
        for companion in (name(argument.array) for name in companions):
            if companion in made:
                arguments.append(_argument(made[companion]))
    outputs = list(signature.outputs)
    for output in signature.outputs:
        name = names.error(output.array)
        if name in made:
            outputs.append(replace(output, array=name, dtype=made[name].dtype))
    outputs.append(OutputArray(names.lost, made[names.lost].dtype, ()))
    results = tuple(Result(ResultKind.OUTPUT, output.array) for output in outputs)
    return replace(
        signature,
        arguments=tuple(arguments),
        outputs=tuple(outputs),
        results=results,
        nesting=f"({'.' * len(results)})",
        made=(),
    )


def _argument(array: Array) -> ArrayArg:
    return ArrayArg(array.name, array.name, array.dtype, array.shape, Layout.C, written=True)
