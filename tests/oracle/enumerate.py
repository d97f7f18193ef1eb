"""A whole compilation at known sizes: the front end's program against the loops that are printed.

In: a `Program`, its final `LoopFunction`, sizes.  Out: what differs, as findings; empty if nothing.
Both run over symbolic values (`terms.py`), so an element is right only if it was computed from the
right elements by the right operations.  isl decides and enumerates nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, unique
from typing import Any

import numpy as np

from polyopt.ir.integers import evaluate
from polyopt.ir.loops import LoopFunction
from polyopt.ir.program import Program
from polyopt.ir.scop import Array, Role
from polyopt.ir.source import ArrayArg, ScalarArg
from polyopt.ir.types import DType, Kind
from tests.oracle.run_kernel import KernelRun
from tests.oracle.run_source import SourceRun, is_open
from tests.oracle.symbolic import Local, Store, World
from tests.oracle.terms import Terms, Value, code_of, show_value


@unique
class FindingKind(Enum):
    """What is wrong with the loops."""

    VALUE = "value"  # an element is computed from other operands or by other operations
    INSTANCE = "instance"  # an instance runs too often, or never
    BOUNDS = "bounds"  # an access leaves its array
    CONFLICT = "conflict"  # two iterations that may run at once touch one element
    UNDEFINED = "undefined"  # what nothing was written to is used
    FAULT = "fault"  # another error, or none
    FORM = "form"  # a name that nothing declares, lanes that do not fit


class NotCalled(ValueError):
    """The arguments are none that the program can be run with here."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One difference, in words, at the sizes it was found at."""

    kind: FindingKind
    subject: str
    text: str
    sizes: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        at = ", ".join(f"{name}={size}" for name, size in self.sizes)
        return f"{self.kind.value} {self.subject}: {self.text} (at {at})"


def enumerate_kernel(
    program: Program,
    function: LoopFunction,
    sizes: Mapping[str, int],
    arrays: Mapping[str, np.ndarray[Any, Any]] | None = None,
    symbols: Mapping[str, Any] | None = None,
    seed: int = 0,
    again: bool = False,
) -> list[Finding]:
    """Return what differs at `sizes`, the values of the size parameters that come with a call.

    `again`: instances may be computed more than once, or not where nobody reads them.
    `arrays` and `symbols` are the numbers of the arguments, for control that depends on them;
    without them they are random.  Raises `TooLong` when a run takes too many steps.
    """
    rng = np.random.default_rng(seed)
    sizes = dict(sizes)
    for computed in program.signature.computed:
        sizes.setdefault(computed.param, evaluate(computed.value, sizes))
    given = {
        array.name: _numbers(array, sizes, rng) if arrays is None else arrays[array.name]
        for array in program.arrays
        if array.role in (Role.INPUT, Role.INOUT)
    }
    scalars = {
        a.symbol: (a.dtype, (symbols or {}).get(a.symbol, a.dtype.numpy.type(3)))
        for a in program.signature.arguments
        if isinstance(a, ScalarArg)
    }
    terms = Terms()
    source = SourceRun(program, _world(terms, program.arrays, sizes, given, scalars))
    fault = source.run()
    expected = len(terms.tainted)
    opened = frozenset(s.name for scop in program.scops for s in scop.statements if is_open(s))
    fusible = frozenset(s.name for scop in program.scops for s in scop.statements if s.fuses)
    world = _world(terms, function.arrays, sizes, given, scalars)
    kernel = KernelRun(function, world, opened, fusible)
    at = tuple(sizes.items())
    try:
        other = kernel.run()
    except (KeyError, AssertionError) as error:
        return [Finding(FindingKind.FORM, function.name, repr(error), at)]
    found = _noticed(kernel.world, terms, expected, at)
    if not again:
        found += _instances(source, kernel, fault, at, _has_results(program, source.world))
    if source.world.outside:
        text = next(iter(source.world.outside.values()))
        found.append(Finding(FindingKind.BOUNDS, "source", text, at))
    if (fault is None) != (other is None):
        text = f"the source ends with fault {fault}, the loops with {other}"
        found.append(Finding(FindingKind.FAULT, program.name, text, at))
    if fault is None and other is None:
        found += _values(program, source.world, kernel.world, at)
    return found


def _world(
    terms: Terms,
    arrays: Sequence[Array],
    sizes: Mapping[str, int],
    given: Mapping[str, np.ndarray[Any, Any]],
    scalars: Mapping[str, tuple[DType, Any]],
) -> World:
    stores: dict[str, Store] = {}
    for array in arrays:
        if array.role in (Role.INPUT, Role.INOUT):
            numbers = given[array.name]
            stores[array.name] = Store(array.name, array.dtype, numbers.shape, numbers)
        elif array.role is Role.OUTPUT:
            shape = tuple(max(0, evaluate(extent, sizes)) for extent in array.shape)
            stores[array.name] = Store(array.name, array.dtype, shape)
    locals_ = {
        name: Local(name, (terms.leaf(name, dtype, dtype.numpy.type(number)),))
        for name, (dtype, number) in scalars.items()
    }
    return World(terms, dict(sizes), stores, locals_)


def _numbers(array: Array, sizes: Mapping[str, int], rng: np.random.Generator) -> Any:
    shape = tuple(max(0, evaluate(extent, sizes)) for extent in array.shape)
    match array.dtype.kind:
        case Kind.FLOAT | Kind.COMPLEX:
            return np.asarray(rng.uniform(0.5, 2.0, shape)).astype(array.dtype.numpy)
        case _:
            return np.asarray(rng.integers(0, 4, shape)).astype(array.dtype.numpy)


def _noticed(world: World, terms: Terms, expected: int, at: Any) -> list[Finding]:
    found = [Finding(FindingKind.BOUNDS, n, text, at) for n, text in world.outside.items()]
    for loop, one, two, name, index in world.conflicts.values():
        text = f"iterations {one} and {two} both touch {name}{list(index)} and one writes it"
        found.append(Finding(FindingKind.CONFLICT, f"{loop} loop", text, at))
    found += [Finding(FindingKind.UNDEFINED, n, text, at) for n, text in world.unsettled.items()]
    if expected == 0 and len(terms.tainted) > 0:
        found.append(Finding(FindingKind.UNDEFINED, "operand", terms.tainted[0], at))
    return found


def _has_results(program: Program, world: World) -> bool:
    """Tell whether a call writes anything; where all results are empty, no temporary is needed."""
    names = {array.name for array in program.arrays if array.role in (Role.OUTPUT, Role.INOUT)}
    return any(all(world.arrays[name].shape) for name in names if name in world.arrays)


def _instances(
    source: SourceRun, kernel: KernelRun, fault: int | None, at: Any, has_results: bool
) -> list[Finding]:
    """Compare how often which instance ran, of the statements that the loops still name."""
    found = []
    known = {name for name, _ in (*source.executed, *source.skipped)}
    for (name, point), times in sorted(kernel.executed.items()):
        want = source.executed[name, point] + source.skipped[name, point]
        if name in known and times > want:
            text = f"{list(point)} runs {times} times, not {want}"
            found.append(Finding(FindingKind.INSTANCE, name, text, at))
            break
    for (name, point), times in sorted(source.executed.items()):
        got = kernel.executed[name, point]
        if has_results and fault is None and name in kernel.named and got < times:
            text = f"{list(point)} runs {got} times, not {times}"
            found.append(Finding(FindingKind.INSTANCE, name, text, at))
            break
    return found


def _values(program: Program, want: World, got: World, at: Any) -> list[Finding]:
    found = []
    lengths = {o.array: o for o in program.signature.outputs if o.length is not None}
    for array in program.arrays:
        if array.role not in (Role.INOUT, Role.OUTPUT):
            continue
        limit: dict[int, int] = {}
        if array.name in lengths:
            output = lengths[array.name]
            cells = want.arrays[str(output.length)].cells
            limit = {output.axis: want.integer(cells.get((), 0))}
        differing = _differing(want.arrays[array.name], got.arrays[array.name], limit)
        if differing is not None:
            index, one, two = differing
            text = f"{list(index)} is {_shown(two)}, not {_shown(one)}"
            found.append(Finding(FindingKind.VALUE, array.name, text, at))
    return found


def _shown(value: Value | None) -> str:
    return "as it was" if value is None else show_value(value)


def _differing(want: Store, got: Store, limit: Mapping[int, int]) -> Any:
    if want.shape != got.shape:
        return (), want.shape, got.shape
    for index in sorted(want.cells.keys() | got.cells.keys()):  # the others nobody touched
        if not all(0 <= at < extent for at, extent in zip(index, want.shape, strict=True)):
            continue
        if any(index[axis] >= length for axis, length in limit.items()):
            continue
        one, two = _cell(want, index), _cell(got, index)
        if (one is None or two is None) and one is not two:
            return index, one, two
        if one is not None and two is not None and code_of(one) != code_of(two):
            return index, one, two
    return None


def _cell(store: Store, index: tuple[int, ...]) -> Value | None:
    """Return an element that was written or read; undefined ones count as never touched."""
    value = store.cells.get(index)
    untouched = getattr(value, "name", None) in ("undefined", f"{store.name}{list(index)}")
    return None if untouched else value


def enumerate_call(
    program: Program, function: LoopFunction, args: Sequence[object], seed: int = 0
) -> list[Finding]:
    """Return what differs in a call with `args`; raises `NotCalled` where the call is refused."""
    from polyopt.ir.interp import bind_sizes

    signature = program.signature
    sizes = bind_sizes(signature, args)
    arrays: dict[str, Any] = {}
    symbols: dict[str, Any] = {}
    shared = False
    for spec, value in zip(signature.arguments, args, strict=True):
        match spec:
            case ArrayArg():
                arrays[spec.array] = value
                shared = shared or spec.part is not None or bool(spec.before)
            case ScalarArg():
                symbols[spec.symbol] = value
            case _:
                pass
    for check in signature.checks:
        if not evaluate(check.condition, sizes):
            raise NotCalled(check.message)
    if shared or signature.starts:
        raise NotCalled("arguments share memory: give sizes")
    return enumerate_kernel(program, function, sizes, arrays, symbols, seed)
