"""What looks at compiled cases, each independent of the others.

In: `Made`.  Out: the first thing that is wrong, in words, or None.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum, unique
from functools import cache
from typing import Any

import numpy as np

from polyopt.errors import ToolchainError
from polyopt.ir.affine import quota
from polyopt.ir.source import ArrayArg, CParamKind
from polyopt.proof import certify
from polyopt.racecheck import Checker, Level
from polyopt.racecheck.checker import Rules, asks_who_runs, has_level
from polyopt.racecheck.sanitizer import Sanitizer
from tests.mutants.case import Arrays, Made, Sizes
from tests.oracle.enumerate import enumerate_kernel
from tests.oracle.judge import judge_tree
from tests.oracle.text import read_unit, run_text


@unique
class Layer(Enum):
    """The layers, in the order of what they look at."""

    LINT = "lint"  # the compiler's own text
    ORDER = "order"  # the schedule tree, by enumeration
    PROOF = "proof"  # the loop AST: the certificate
    ENUMERATION = "enumeration"  # the loop AST, without isl
    TEXT = "text"  # the emitted C, read back and run
    RUN = "run"  # the compiled code, between guard pages
    RACES = "races"  # the compiled code, a thread for each iteration
    SANITIZERS = "sanitizers"  # the compiled code under gcc's sanitizers
    CALL = "call"  # the wrapper against the argument checks
    VERIFY = "verify"  # the program as read, run against Python
    READER = "reader"  # the program as read, against a second reading


def in_order(made: Made) -> str | None:
    """Look for dependent pairs that the schedule tree breaks."""
    for sizes in made.case.sizes:
        broken = judge_tree(made.schedule.scop, sizes, made.schedule.tree)
        if broken:
            return f"{broken[0]} at {dict(sizes)}"
    return None


def proven(made: Made) -> str | None:
    """Look for a claim of the certificate that does not hold."""
    with quota(50_000_000):
        certificate = certify(made.program, made.loops)
    return None if certificate.is_proven else str(certificate.faults[0])


def enumerated(made: Made) -> str | None:
    """Compare the loops with the program, at every size of the case."""
    for sizes in made.case.sizes:
        found = enumerate_kernel(made.program, made.loops, sizes, _numbers(made, sizes))
        if found:
            return str(found[0])
    return None


def _numbers(made: Made, sizes: Sizes) -> Arrays:
    return {name: np.ascontiguousarray(array) for name, array in made.arrays(sizes).items()}


def in_text(made: Made) -> str | None:
    """Run the emitted text and compare the arrays."""
    unit = read_unit(made.source.text)
    for sizes in made.case.sizes:
        arrays = made.arrays(sizes)
        given: list[tuple[str, Any]] = []
        wholes: dict[str, Any] = {}
        for param in made.source.params:
            match param.kind:
                case CParamKind.ARRAY:
                    wholes[param.name] = given_array(arrays[param.name])
                    given.append((param.name, wholes[param.name]))
                case CParamKind.STRIDE:
                    array = arrays[param.name]
                    given.append((param.name, array.strides[param.dim] // array.itemsize))
                case _:
                    given.append((param.name, sizes[param.name]))
        outcome = run_text(unit, made.source.entry, given)
        if outcome.trouble:
            return f"{outcome.trouble} at {dict(sizes)}"
        got = {n: seen(flat, arrays[n], wholes[n][1]) for n, flat in outcome.arrays.items()}
        wrong = differing(made.expected(sizes), got)
        if wrong:
            return f"{wrong} at {dict(sizes)}"
    return None


def given_array(array: Any) -> tuple[Any, int]:
    """Return the memory around an array, flat, and the place of its first element there."""
    if array.flags.c_contiguous:
        return array.ravel(), 0
    assert array.ndim == 1
    step = abs(array.strides[0]) // array.itemsize
    flat = np.zeros(step * max(0, array.size - 1) + 1, array.dtype)
    offset = flat.size - 1 if array.strides[0] < 0 else 0
    seen(flat, array, offset)[:] = array
    return flat, offset


def seen(flat: Any, array: Any, offset: int) -> Any:
    """Return memory as the array that it belongs to."""
    if array.flags.c_contiguous:
        return flat.reshape(array.shape)
    step = array.strides[0] // array.itemsize
    return flat[offset::step][: array.size]


def differing(want: Mapping[str, Any], got: Mapping[str, Any]) -> str | None:
    """Return the first element whose bits differ; one NaN is like another."""
    for name, array in want.items():
        other = got[name]
        same = np.equal(array, other)
        if array.dtype.kind == "f":
            same = (same & (np.signbit(array) == np.signbit(other))) | (
                np.isnan(array) & np.isnan(other)
            )
        if not np.all(same):
            place = tuple(np.argwhere(~np.asarray(same))[0])
            where = ", ".join(map(str, place))
            return f"{name}[{where}] is {other[place]}, not {array[place]}"
    return None


def arguments(made: Made, sizes: Sizes) -> tuple[Any, ...]:
    """Return a call's arguments in their order."""
    arrays = made.arrays(sizes)
    return tuple(
        arrays[a.array] if isinstance(a, ArrayArg) else sizes[a.name]
        for a in made.program.signature.arguments
    )


@cache
def _checker() -> Checker:
    return Checker()


@cache
def _sanitizer() -> Sanitizer:
    return Sanitizer()


def raced(made: Made) -> str | None:
    """Look for two iterations that meet, at the case's first size."""
    source = made.source
    is_region = "#pragma omp parallel\n" in source.text
    team = 64 if is_region or asks_who_runs(source.text) else 0
    try:
        for level in Level:
            if has_level(source.text, level) or (is_region and level is Level.THREADS):
                given = arguments(made, made.case.sizes[0])
                found = _checker().check(source, given, level, Rules(team=team))
                if found.races:
                    return str(found.races[0])
    except ToolchainError as error:
        return error.message
    return None


def sanitized(made: Made) -> str | None:
    """Run under the sanitizers, at every size of the case."""
    for sizes in made.case.sizes[:2]:
        found = _sanitizer().run(made.source, arguments(made, sizes))
        if found.reports:
            return found.reports[0]
    return None


LOOK: dict[Layer, Callable[[Made], str | None]] = {
    Layer.ORDER: in_order,
    Layer.PROOF: proven,
    Layer.ENUMERATION: enumerated,
    Layer.TEXT: in_text,
    Layer.RACES: raced,
    Layer.SANITIZERS: sanitized,
}
"""The layers that look at one case after another; what is run is built together."""
