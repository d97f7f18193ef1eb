"""Run a random NumPy-style function as Python and through polyopt, and compare.

In: a `SourceCase`.  Out: nothing, a `Refused` with polyopt's reason, or an AssertionError.
"""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import polyopt as po
from polyopt.bounding import bounds_of
from polyopt.errors import ArgumentError, FrontendError
from polyopt.ir.interp import run_loops, run_program
from polyopt.ir.source import ArrayArg
from polyopt.numerics.compare import compare
from polyopt.numerics.results import result_arrays
from tests.properties.random_sources import SourceCase

SIZES = ({"N": 7, "M": 5}, {"N": 1, "M": 1}, {"N": 0, "M": 0}, {"N": 34, "M": 33}, {"N": 2, "M": 6})


class Refused(Exception):
    """polyopt does not accept the program."""


def load(case: SourceCase, directory: Path) -> Callable[..., Any]:
    """Return the case's function, from a module written to `directory`."""
    name = f"case{next(_NUMBERS)}"
    path = directory / f"{name}.py"
    path.write_text(case.text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f  # type: ignore[no-any-return]


_NUMBERS = itertools.count()


def arguments(case: SourceCase, sizes: dict[str, int], seed: int, layouts: bool) -> list[Any]:
    """Return seeded arguments; with `layouts` some arrays are views with odd strides."""
    rng = np.random.default_rng(seed)
    found: list[Any] = []
    for _, dtype, shape in case.arrays:
        extents = tuple(sizes[s] for s in shape)
        raw = rng.integers(-50, 50, extents)
        if dtype in ("uint8", "bool"):
            raw = np.abs(raw) % (2 if dtype == "bool" else 100)
        array = raw.astype(dtype)
        if dtype.startswith("float"):
            array = (raw / 8 + rng.random(extents)).astype(dtype)
        if layouts and rng.random() < 0.4:
            wide = np.zeros(tuple(2 * n for n in extents), dtype)
            view = wide[tuple(slice(None, None, 2) for _ in extents)]
            view[...] = array
            array = view
        elif layouts and rng.random() < 0.4:
            array = np.asfortranarray(array)
        found.append(array)
    for _, kind in case.scalars:
        found.append(3 if kind == "int" else 1.25)
    return found


def copies(args: Sequence[Any]) -> list[Any]:
    """Return the arguments with arrays copied, layouts kept."""
    return [a.copy(order="K") if isinstance(a, np.ndarray) else a for a in args]


def results(func: Callable[..., Any], args: Sequence[Any]) -> list[Any]:
    """Call `func` and return what it returned and the arrays it was given."""
    with np.errstate(all="ignore"):
        returned = func(*args)
    returned = returned if isinstance(returned, tuple) else (returned,)
    return [*returned, *(a for a in args if isinstance(a, np.ndarray))]


@dataclass
class Allowed:
    """How far each result of a call may lie from Python's; worked out when two first differ."""

    kernel: Any
    args: Sequence[Any]

    @cached_property
    def errors(self) -> list[Any]:
        """The bounds in the order of `results`; None where the same bits are due."""
        program = self.kernel.compile(*copies(self.args)).program
        signature = program.signature
        found, arrays = bounds_of(program, self.args).errors, result_arrays(program)
        many = len(signature.results) > 1
        names = [f"result{n}" if many else "result" for n in range(len(signature.results))]
        names += [a.name for a in signature.arguments if isinstance(a, ArrayArg)]
        errors = [found.get(arrays[name]) for name in names]
        return errors if signature.results else [None, *errors]

    def bound(self, number: int, want: Any) -> Any:
        """Return the bound of a result; by its digits where no bound follows."""
        found = self.errors[number]
        if found is None:
            return None
        digits = 2e-4 if want.dtype.itemsize == 4 else 1e-9
        largest = np.abs(want[np.isfinite(want)]).max(initial=0.0)
        return np.where(np.isfinite(found), found, digits * largest)


def agree(want: list[Any], got: list[Any], exact: bool, allowed: Allowed) -> None:
    """Assert that two calls had the same results, bit for bit or within derived bounds."""
    assert len(want) == len(got)
    for number, (one, two) in enumerate(zip(want, got, strict=True)):
        if one is None or two is None:
            assert one is two, f"result {number}: {one!r} and {two!r}"
            continue
        assert np.shape(one) == np.shape(two), f"result {number}: {np.shape(one)}, {np.shape(two)}"
        first, second = np.asarray(one), np.asarray(two)
        if isinstance(one, np.generic | np.ndarray):
            assert first.dtype == second.dtype, f"result {number}: {first.dtype}, {second.dtype}"
        if exact or first.dtype.kind in "iub":
            same = np.array_equal(first, second, equal_nan=first.dtype.kind == "f")
        else:
            same = np.array_equal(first, second, equal_nan=True)
            same = same or compare("", second, first, allowed.bound(number, first)).holds
        where = np.argwhere(np.asarray(first != second))[:3].tolist()
        assert same, f"result {number} differs at {where}: {first.ravel()[:8]} {second.ravel()[:8]}"


def check_source(
    case: SourceCase, directory: Path, seed: int, compiled: bool = True, schedules: bool = True
) -> None:
    """Compare polyopt with Python at several sizes, interpreted and compiled."""
    func = load(case, directory)
    kernels = [po.kernel(func)]
    if compiled and schedules and seed % 3 == 0:
        kernels.append(po.kernel(func, schedule="source"))
    strided = seed % 2 == 0
    for number, sizes in enumerate(SIZES):
        args = arguments(case, sizes, seed + number, layouts=strided and number == 3)
        plain = copies(args)
        try:
            want = results(func, plain)
        except Exception:
            continue
        if sizes["N"] < 8:
            check_interpreted(kernels[0], args, want, case.exact, seed)
        for kernel in kernels if compiled else ():
            mine = copies(args)
            try:
                got = results(kernel, mine)
            except FrontendError as refusal:
                raise Refused(str(refusal)) from None
            except ArgumentError as refusal:
                assert not any(_changed(a, b) for a, b in zip(args, mine, strict=True))
                raise Refused(f"at {sizes}: {refusal}") from None
            agree(want, got, case.exact, Allowed(kernel, args))


def _changed(one: Any, two: Any) -> bool:
    return isinstance(one, np.ndarray) and one.tobytes() != two.tobytes()


def check_interpreted(
    kernel: Any, args: list[Any], want: list[Any], exact: bool, seed: int
) -> None:
    """Compare the interpreter of the Scop, and of the scheduled loops, with Python."""
    try:
        stages = kernel.compile(*copies(args)).stages
    except FrontendError as refusal:
        raise Refused(str(refusal)) from None
    program, loops = stages.program, stages.loops

    def shuffled(arrays: Any, params: Any, symbols: Any) -> None:
        run_loops(loops, arrays, params, symbols, shuffle=Random(seed))

    for execute in (None, shuffled):
        got = results(lambda *a, e=execute: run_program(program, a, e), copies(args))
        agree(want, got, exact, Allowed(kernel, args))
