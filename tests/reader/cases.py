"""What is read twice: forms of workloads, at small sizes.

In: names.  Out: functions; the first reading that differs, or what all of them say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import workloads.registry as workloads
from polyopt.frontend import build
from polyopt.frontend.syntax.annotations import ArgType, NeedConstant
from polyopt.ir.program import Program
from polyopt.specialize import Parameters, types_of, with_constant
from polyopt.verifying.sampling import Scale, sample
from tests.reader.reading import Reading, Verdict, compare_readings

SIZES = (3, 2, 4)


def workload_forms(names: Sequence[str] = ()) -> Iterator[tuple[str, str, Callable[..., Any]]]:
    """Yield the forms of workloads."""
    for workload in workloads.all():
        if not names or workload.name in names:
            for form, function in workload.forms.items():
                yield workload.name, form, function


def program_of(
    function: Callable[..., Any], values: tuple[Any, ...]
) -> tuple[Program, tuple[ArgType, ...]]:
    """Return the Program for such arguments, with what has to be constant compiled in."""
    parameters = Parameters.of(function)
    types = types_of(parameters, values, frozenset())
    while True:
        try:
            return build(function, types), types
        except NeedConstant as need:
            types = with_constant(parameters, types, values, need.argument)


def readings(name: str, form: str, function: Callable[..., Any]) -> Reading:
    """Return how the readings of a workload's form compare."""
    del form
    workload = workloads.get(name)
    sizes = {p: max(3, workload.least.get(p, 0)) for p in workload.parameters}
    made = workload.make(sizes)
    parameters = Parameters.of(function)
    values = tuple(made.get(n, parameters.defaults.get(n)) for n in parameters.names)
    program, types = program_of(function, values)
    return read_samples(function, program, types)


def read_samples(
    function: Callable[..., Any], program: Program, types: tuple[ArgType, ...], count: int = 3
) -> Reading:
    """Compare the readings of some calls."""
    ranks = max((len(getattr(t, "ones", ())) for t in types), default=0)
    best = Reading(Verdict.UNREAD, "no arguments found")
    for number in range(count):
        size = min(SIZES[number % 3], 2 if ranks > 3 else 4)
        rng = np.random.default_rng((7, number))
        values = sample(program.signature, types, rng, Scale(size, odd=number % 4 == 3))
        if values is None:
            continue
        apart = tuple(_apart(v, rng) for v in values) if number < 2 else values
        found = compare_readings(function, program, types, apart)
        if found.text.startswith("both raise"):
            found = compare_readings(function, program, types, values)
        if found.verdict is Verdict.UNEQUAL:
            return found
        if best.verdict is not Verdict.EQUAL:
            best = found
    return best


def _apart(value: Any, rng: np.random.Generator) -> Any:
    """Return numbers that no two elements share: equal ones hide which was chosen."""
    if not isinstance(value, np.ndarray) or value.dtype.kind == "b" or not value.size:
        return value
    if value.dtype.kind in "iu":
        most = min(1000, np.iinfo(value.dtype).max)
        return (
            rng.permutation(np.arange(1, most + 1))[: value.size]
            .reshape(value.shape)
            .astype(value.dtype)
        )
    made = rng.uniform(0.5, 2.0, value.shape)
    return (
        made + 1j * rng.uniform(0.5, 2.0, value.shape) if value.dtype.kind == "c" else made
    ).astype(value.dtype)
