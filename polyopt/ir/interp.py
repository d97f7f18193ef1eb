"""The slow interpreter: runs a Scop, a loop AST or a whole Program one instance at a time.

In: arrays (changed in place), sizes, symbols.  Out: the arrays; optionally a trace of instances.
Refuses: an element outside its array (PO0910), sizes outside the context (PO0912), a time map
that misses an instance (PO0913), conflicting iterations of a loop marked parallel (PO0914).
It shares nothing with the scheduler or the emitters, so that it can judge both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, TypeAlias

import islpy as isl
import numpy as np
import numpy.typing as npt

from polyopt.dataclass import dataclass
from polyopt.errors import ArgumentError, InternalError
from polyopt.ir.evaluate import Frame, compile_expr, compile_store
from polyopt.ir.integers import evaluate
from polyopt.ir.loops import For, LoopFunction
from polyopt.ir.parameters import maps_of
from polyopt.ir.program import Program
from polyopt.ir.run_loops import Failed, Setting, allocated, compile_body, raise_faults
from polyopt.ir.run_parts import noted, run_parts
from polyopt.ir.scop import Array, Role, Scop, Statement
from polyopt.ir.source import (
    ArrayArg,
    ConstArg,
    IntegerOf,
    ResultKind,
    ScalarArg,
    Signature,
    SizeOf,
)
from polyopt.ir.storage import storage
from polyopt.ir.views import without_views
from polyopt.never import assert_never

Arrays: TypeAlias = dict[str, np.ndarray[Any, Any]]
Point: TypeAlias = tuple[int, ...]
Instance: TypeAlias = tuple[str, Point]
Trace: TypeAlias = list[Instance]
Order: TypeAlias = "Callable[[Statement, Point], tuple[int, ...]] | isl.UnionMap | isl.Map"
Execute: TypeAlias = Callable[[Arrays, dict[str, int], dict[str, Any]], None]


def poison(array: Array, params: Mapping[str, int]) -> np.ndarray[Any, Any]:
    """Return new storage for `array` filled with NaN, or with a value no program writes by luck."""
    return storage(array, [evaluate(extent, params) for extent in array.shape])


def fix_params(value: isl.Set, params: Mapping[str, int]) -> isl.Set:
    """Return `value` with every parameter named in `params` set to its number."""
    for position in range(value.dim(isl.dim_type.param)):
        name = value.get_dim_name(isl.dim_type.param, position)
        value = value.fix_val(isl.dim_type.param, position, isl.Val(params[str(name)]))
    return value


def points(value: isl.Set, params: Mapping[str, int]) -> list[Point]:
    """Return the points of `value` at `params`, in lexicographic order."""
    fixed = fix_params(value, params)
    rank = fixed.dim(isl.dim_type.set)
    found: list[Point] = []

    def keep(point: isl.Point) -> None:
        found.append(
            tuple(
                int(point.get_coordinate_val(isl.dim_type.set, d).to_python()) for d in range(rank)
            )
        )

    fixed.foreach_point(keep)
    return sorted(found)


def original_time(statement: Statement, point: Point, params: Mapping[str, int]) -> tuple[int, ...]:
    """Return the instance's time in the source's order."""
    env = {**params, **dict(zip(statement.iters, point, strict=True))}
    return tuple(evaluate(part, env) for part in statement.order)


@dataclass(frozen=True, slots=True)
class Step:
    """One instance to execute, `position` being its statement's place in the text."""

    time: tuple[int, ...]
    position: int
    point: Point


def schedule_of(
    scop: Scop, params: Mapping[str, int], order: Order | None = None, ties: Random | None = None
) -> list[Step]:
    """Return every instance at `params` in execution order.

    Instances of equal time run in textual order, or in random order with `ties`.
    """
    steps: list[Step] = []
    for position, statement in enumerate(scop.statements):
        found = points(statement.domain, params)
        times = _times(statement, found, params, order)
        steps += [Step(times[point], position, point) for point in found]
    length = max((len(step.time) for step in steps), default=0)
    if ties is not None:
        ties.shuffle(steps)

    def key(step: Step) -> tuple[Any, ...]:
        padded = step.time + (0,) * (length - len(step.time))
        return padded if ties is not None else (padded, step.position, step.point)

    return sorted(steps, key=key)


def _times(
    statement: Statement, found: Sequence[Point], params: Mapping[str, int], order: Order | None
) -> dict[Point, tuple[int, ...]]:
    if order is None:
        return {p: original_time(statement, p, params) for p in found}
    if callable(order):
        return {p: tuple(order(statement, p)) for p in found}
    times = _isl_times(statement, params, order)
    for point in found:
        if point not in times:
            raise InternalError("PO0913", f"the time map misses {statement.name}{list(point)}")
    return times


def _isl_times(
    statement: Statement, params: Mapping[str, int], order: isl.UnionMap | isl.Map
) -> dict[Point, tuple[int, ...]]:
    """Return instance -> time by enumerating the graph of the time map at `params`."""
    whole = isl.UnionMap.from_map(order) if isinstance(order, isl.Map) else order
    mine = whole.intersect_domain(isl.UnionSet.from_set(statement.domain))
    result: dict[Point, tuple[int, ...]] = {}
    rank = statement.domain.dim(isl.dim_type.set)
    for piece in maps_of(mine):
        for both in points(piece.wrap().flatten(), params):
            if both[:rank] in result:
                raise InternalError("PO0913", f"{statement.name}{list(both[:rank])} has two times")
            result[both[:rank]] = both[rank:]
    return result


def check_context(scop: Scop, params: Mapping[str, int]) -> None:
    """Raise PO0912 when `params` are outside the Scop's context."""
    if fix_params(scop.context, params).is_empty():
        message = f"sizes {dict(params)} are outside the context {scop.context}"
        raise InternalError("PO0912", message)


def run_scop(
    scop: Scop,
    arrays: Arrays,
    params: dict[str, int],
    symbols: dict[str, Any] | None = None,
    order: Order | None = None,
    *,
    ties: Random | None = None,
    trace: Trace | None = None,
) -> None:
    """Execute the Scop on `arrays` in place, in the source's order or in that of `order`.

    `arrays` hold all but the TEMP arrays by their names in the Scop; a TEMP array there is used.
    """
    check_context(scop, params)
    frame = Frame(_with_temporaries(scop.arrays, arrays, params), params, dict(symbols or {}))
    rules = [_rule(statement) for statement in scop.statements]
    with np.errstate(all="ignore"):
        for step in schedule_of(scop, params, order, ties):
            rules[step.position](frame, step.point)
            if trace is not None:
                trace.append((scop.statements[step.position].name, step.point))


def _with_temporaries(declared: Sequence[Array], arrays: Arrays, params: dict[str, int]) -> Arrays:
    """Return `arrays` and poisoned storage for the TEMP arrays they lack."""
    result = dict(arrays)
    for array in declared:
        if array.name not in result and array.role in (Role.TEMP, Role.FAULT):
            result[array.name] = poison(array, params)
    return result


def _rule(statement: Statement) -> Callable[[Frame, Point], None]:
    """Return the function that executes one instance of `statement`."""
    guard = None if statement.guard is None else compile_expr(statement.guard)
    value = compile_expr(statement.value)
    store = compile_store(statement.target)

    def execute(frame: Frame, point: Point) -> None:
        frame.iters = dict(zip(statement.iters, point, strict=True))
        if guard is None or guard(frame):
            store(frame, value)

    return execute


def run_loops(
    fn: LoopFunction,
    arrays: Arrays,
    params: dict[str, int],
    symbols: dict[str, Any] | None = None,
    shuffle: Random | None = None,
    *,
    trace: Trace | None = None,
    lanes: Callable[[For], int] | None = None,
) -> None:
    """Execute the loop AST on `arrays` in place.

    With `shuffle`, iterations of PARALLEL and VECTOR loops run in random order, reductions on
    private copies, and two iterations that touch one element, one writing, raise PO0914.
    `lanes` tells how many accumulators a VECTOR loop's reductions have; else they have one.
    Raises the `KernelFault` that the kernel ends with.
    """
    later = allocated(fn.body)
    declared = [array for array in fn.arrays if array.name not in later]
    frame = Frame(_with_temporaries(declared, arrays, params), params, dict(symbols or {}))
    faults = frozenset(array.name for array in fn.arrays if array.role is Role.FAULT)
    setting = Setting(fn.signature, shuffle, trace, fn.reassociable, faults, lanes)
    failed: int | None = None
    with np.errstate(all="ignore"):
        try:
            compile_body(without_views(fn.body), setting)(frame)
        except Failed as stop:
            failed = stop.fault
    raise_faults(fn.signature, noted(frame.arrays[name] for name in faults), failed)


def run_program(program: Program, args: Sequence[object], execute: Execute | None = None) -> object:
    """Call the program as the user's function is called and return what it returns.

    `execute(arrays, params, symbols)` runs the body; without it the parts run in order.
    """
    signature = program.signature
    arrays, symbols = _bind(signature, args)
    params = bind_sizes(signature, args)
    integers = {name: int(v) for name, v in symbols.items() if isinstance(v, np.integer)}
    for check in (*signature.checks, *signature.limits):
        if not evaluate(check.condition, {**integers, **params}):
            raise ArgumentError(check.code, check.message, loc=check.loc, hint=check.hint)
    _check_shapes(signature, arrays, params)
    for array in program.arrays:
        if array.role is Role.OUTPUT:
            arrays[array.name] = poison(array, params)
        elif array.name in arrays and arrays[array.name].ndim != len(array.shape):
            arrays[array.name] = _in_rows(arrays[array.name], array, params)
    if execute is None:
        run_parts(program, arrays, params, symbols, run_scop)
    else:
        execute(arrays, params, symbols)
    for output in signature.outputs:
        if output.length is not None:
            length = int(arrays[output.length][()])
            kept = (slice(None),) * output.axis + (slice(length),)
            arrays[output.array] = arrays[output.array][kept].copy()
    results = (_result(signature, r.kind, r.array, arrays, args) for r in signature.results)
    return signature.returned(results)


def _in_rows(given: npt.NDArray[Any], array: Array, params: dict[str, int]) -> npt.NDArray[Any]:
    """Return the whole rows of a flat argument."""
    shape = tuple(max(0, evaluate(extent, params)) for extent in array.shape)
    return given[: math.prod(shape)].reshape(shape)


def _bind(signature: Signature, args: Sequence[object]) -> tuple[Arrays, dict[str, Any]]:
    if len(args) != len(signature.arguments):
        wanted = len(signature.arguments)
        raise ArgumentError("PO0201", f"{signature.name} takes {wanted} arguments, got {len(args)}")
    arrays: Arrays = {}
    symbols: dict[str, Any] = {}
    for spec, value in zip(signature.arguments, args, strict=True):
        match spec:
            case ArrayArg():
                if not isinstance(value, np.ndarray) or value.dtype != spec.dtype.numpy:
                    raise ArgumentError("PO0202", f"{spec.name} must be an array of {spec.dtype}")
                if spec.part is not None or spec.before:
                    raise ArgumentError("PO0209", f"{spec.name} shares memory: not interpreted")
                arrays[spec.array] = value
            case ScalarArg():
                symbols[spec.symbol] = spec.dtype.numpy.type(value)
            case ConstArg():
                pass
            case _:
                assert_never(spec)
    return arrays, symbols


def bind_sizes(signature: Signature, args: Sequence[object]) -> dict[str, int]:
    """Return the value of every size parameter for a call with `args`."""
    params: dict[str, int] = {}
    for size in signature.sizes:
        match size:
            case SizeOf():
                params[size.param] = int(np.asarray(args[size.argument]).shape[size.dim])
            case IntegerOf():
                params[size.param] = int(args[size.argument])  # type: ignore[call-overload]
            case _:
                assert_never(size)
    for computed in signature.computed:
        params[computed.param] = evaluate(computed.value, params)
    return params


def _check_shapes(signature: Signature, arrays: Arrays, params: dict[str, int]) -> None:
    for spec in signature.arguments:
        if not isinstance(spec, ArrayArg):
            continue
        want = tuple(evaluate(extent, params) for extent in spec.shape)
        if arrays[spec.array].shape != want:
            raise ArgumentError(
                "PO0204", f"{spec.name} has shape {arrays[spec.array].shape}, expected {want}"
            )


def _result(
    signature: Signature, kind: ResultKind, name: str, arrays: Arrays, args: Sequence[object]
) -> object:
    match kind:
        case ResultKind.OUTPUT:
            return arrays[name]
        case ResultKind.SCALAR:
            return arrays[name][()]
        case ResultKind.ARGUMENT:
            for spec, value in zip(signature.arguments, args, strict=True):
                if isinstance(spec, ArrayArg) and name in (spec.array, spec.name):
                    return value
            raise InternalError("PO0911", f"{signature.name} returns {name}, which is no argument")
        case _:
            assert_never(kind)
