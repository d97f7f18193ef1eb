"""A function read twice: by the front end, and by Python on symbolic values.

In: a function, its Program, a call's arguments.  Out: `Reading`: equal, different, or unread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, unique
from typing import Any

import numpy as np

from polyopt.frontend.syntax.annotations import ArgType, ScalarType
from polyopt.ir.interp import bind_sizes
from polyopt.ir.program import Program
from polyopt.ir.scop import Role
from polyopt.ir.source import ArrayArg, ResultKind, ScalarArg
from polyopt.ir.types import DType
from polyopt.verifying.limits import TooLong as Ended
from polyopt.verifying.limits import limited
from polyopt.verifying.verify import is_of_floats
from tests.oracle.enumerate import _world
from tests.oracle.run_source import SourceRun, TooLong
from tests.oracle.symbolic import Store
from tests.oracle.terms import Term
from tests.reader.algebra import Algebra
from tests.reader.names import reading
from tests.reader.terms import FieldTerms
from tests.reader.values import WORLD, Arr, Sym, Unread, as_arr

LONGEST = 60.0  # seconds of one reading, which is slow while it is watched


@unique
class Verdict(Enum):
    """What became of one comparison."""

    EQUAL = "equal"
    UNEQUAL = "unequal"
    UNREAD = "unread"


@dataclass(frozen=True, slots=True)
class Reading:
    """The verdict, with the first element that differs, or with the construct that is not read."""

    verdict: Verdict
    text: str = ""


def compare_readings(
    function: Callable[..., Any], program: Program, types: Sequence[ArgType], values: Sequence[Any]
) -> Reading:
    """Compare the two readings of a call with `values`, which the checks of the call accept."""
    shares = [a for a in program.signature.arguments if isinstance(a, ArrayArg)]
    if program.signature.starts or any(a.part is not None or a.before for a in shares):
        return Reading(Verdict.UNREAD, "arguments that share memory")
    algebra = WORLD.algebra = Algebra()
    try:
        source, fault = _program(program, values, algebra)
    except (TooLong, ArithmeticError, np.linalg.LinAlgError) as error:
        return Reading(Verdict.UNREAD, f"the program's run: {error!r}")
    mine = _arguments(program, types, values, algebra)
    try:
        with np.errstate(all="ignore"):
            returned = limited(lambda: reading(function)(*mine), LONGEST)
    except (Unread, Ended) as error:
        return Reading(Verdict.UNREAD, str(error) or "too long")
    except (IndexError, ValueError, ZeroDivisionError, AssertionError, OverflowError) as error:
        if is_of_floats(error):
            return Reading(Verdict.UNREAD, f"Python raises for floats of its own: {error}")
        if fault is not None:
            return Reading(Verdict.EQUAL, f"both raise: {error}")
        return Reading(Verdict.UNEQUAL, f"Python raises {error!r}, the program does not")
    except (TypeError, AttributeError, RecursionError) as error:
        return Reading(Verdict.UNREAD, f"{type(error).__name__}: {error}")
    if fault is not None:
        return Reading(Verdict.UNEQUAL, f"the program ends with fault {fault}, Python does not")
    return _compared(program, source, mine, returned, algebra)


def _program(
    program: Program, values: Sequence[Any], algebra: Algebra
) -> tuple[SourceRun, int | None]:
    signature = program.signature
    sizes = bind_sizes(signature, values)
    given: dict[str, Any] = {}
    scalars: dict[str, tuple[DType, Any]] = {}
    for spec, value in zip(signature.arguments, values, strict=True):
        match spec:
            case ArrayArg():
                given[spec.array] = value
            case ScalarArg():
                scalars[spec.symbol] = (spec.dtype, spec.dtype.numpy.type(value))
            case _:
                pass
    world = _world(FieldTerms(algebra=algebra), program.arrays, sizes, given, scalars)
    run = SourceRun(program, world)
    return run, run.run()


def _arguments(
    program: Program, types: Sequence[ArgType], values: Sequence[Any], algebra: Algebra
) -> list[Any]:
    """Return the arguments as Python gets them: symbols, but for integers that are sizes."""
    found: list[Any] = []
    for spec, kind, value in zip(program.signature.arguments, types, values, strict=True):
        match spec:
            case ArrayArg():
                cells = np.empty(value.shape, object)
                for place in np.ndindex(value.shape):
                    code = algebra.leaf(f"{spec.array}{list(place)}", value.dtype)
                    cells[place] = Sym(code, value.dtype, value[place])
                found.append(Arr(cells, value.dtype))
            case ScalarArg() if spec.is_param:
                found.append(value)
            case ScalarArg():
                weak = isinstance(kind, ScalarType) and kind.weak
                dtype = spec.dtype.numpy
                number = value if weak else dtype.type(value)
                found.append(Sym(algebra.leaf(spec.symbol, dtype), dtype, number, weak))
            case _:
                found.append(value)
    return found


def _compared(  # noqa: C901  one output after another
    program: Program, source: SourceRun, mine: list[Any], returned: Any, algebra: Algebra
) -> Reading:
    signature, world = program.signature, source.world
    pairs: list[tuple[str, Store, Any]] = []
    for spec, value in zip(signature.arguments, mine, strict=True):
        if isinstance(spec, ArrayArg):
            pairs.append((spec.name, world.arrays[spec.array], value))
    listed = () if returned is None else returned if isinstance(returned, tuple) else (returned,)
    if len(listed) != len(signature.results):
        return Reading(Verdict.UNEQUAL, f"{len(signature.results)} results, not {len(listed)}")
    names = {a.name: a.array for a in signature.arguments if isinstance(a, ArrayArg)}
    for number, (result, value) in enumerate(zip(signature.results, listed, strict=True)):
        array = names.get(result.array, result.array)
        if result.kind is ResultKind.ARGUMENT and not isinstance(value, Arr):
            return Reading(Verdict.UNEQUAL, f"result {number} is an argument on one side")
        pairs.append((f"result {number}", world.arrays[array], value))
    lengths = {o.array: o for o in signature.outputs if o.length is not None}
    outputs = {a.name for a in program.arrays if a.role is Role.OUTPUT}
    for name, store, value in pairs:
        other = as_arr(value)
        shape = list(store.shape)
        if store.name in lengths:
            output = lengths[store.name]
            cells = world.arrays[str(output.length)].cells
            shape[output.axis] = world.integer(cells.get((), 0))
        if tuple(shape) != other.shape or store.dtype.numpy != other.dtype:
            text = f"{name} is {store.dtype}{shape}, not {other.dtype}{list(other.shape)}"
            return Reading(Verdict.UNEQUAL, text)
        for place in np.ndindex(other.shape):
            got = _code(store, place, algebra, store.name in outputs)
            want = other.cells[place]
            if got != _own_code(want, store.dtype):
                shown = store.cells.get(place, "as it was")
                return Reading(Verdict.UNEQUAL, f"{name}{list(place)} is {shown}, not {want}")
    return Reading(Verdict.EQUAL)


def _code(store: Store, place: tuple[int, ...], algebra: Algebra, is_output: bool) -> int:
    kind = store.dtype.numpy
    value = store.cells.get(place)
    if value is None:
        name = "undefined" if is_output else f"{store.name}{list(place)}"
        return algebra.leaf(name, kind) if kind.kind != "b" else _truth(store, place)
    if kind.kind == "b":
        return int(bool(value.number if isinstance(value, Term) else value))
    if isinstance(value, Term):
        return value.code
    return algebra.constant(value, kind)


def _truth(store: Store, place: tuple[int, ...]) -> int:
    return 0 if store.given is None else int(bool(store.given[place]))


def _own_code(value: Sym, dtype: DType) -> int:
    return int(bool(value.number)) if dtype is DType.BOOL else value.code
