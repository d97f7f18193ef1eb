"""Compile a function with the front end, run it in the interpreter, compare it with Python."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from polyopt.bounding import analysis_of
from polyopt.errors import ArgumentError
from polyopt.frontend import build
from polyopt.frontend.syntax.annotations import (
    ANY_SIZES,
    ArgType,
    ArrayType,
    ConstType,
    NeedConstant,
    ScalarType,
)
from polyopt.ir.interp import run_program
from polyopt.ir.program import Program
from polyopt.ir.source import Layout
from polyopt.ir.types import DType, dtype_of
from polyopt.numerics.bounds import error_bounds
from polyopt.numerics.compare import compare


def type_of(value: object) -> ArgType:
    """Return the argument type of an example value, as a call would."""
    match value:
        case np.ndarray():
            return ArrayType(dtype_of(value.dtype), value.ndim, Layout.C, (False,) * value.ndim)
        case np.generic():
            return ScalarType(dtype_of(value.dtype), weak=False)
        case bool() | None | str() | tuple():
            return ConstType(value)
        case int():
            return ScalarType(DType.INT64)
        case float():
            return ScalarType(DType.FLOAT64)
        case complex():
            return ScalarType(DType.COMPLEX128)
        case _:
            raise TypeError(type(value))


def compiled(func: Callable[..., object], *args: object) -> Program:
    """Return the Program for such arguments; constants the front end asks for are given."""
    types = [type_of(value) for value in args]
    names = list(func.__code__.co_varnames)
    while True:
        try:
            program = build(func, tuple(types))
            return build(func, (*types, ANY_SIZES)) if _is_outside(program, args) else program
        except NeedConstant as need:
            position = names.index(need.argument)
            types[position] = ConstType(args[position])


def _is_outside(program: Program, args: Sequence[object]) -> bool:
    """Whether arrays end before loops: a call gets code that is for any sizes then."""

    def nothing(*_: object) -> None:
        """Run nothing: only the checks of the call are wanted."""

    try:
        run_program(program, copy.deepcopy(args), nothing)
    except ArgumentError as error:
        return error.code == "PO0170"
    return False


def agree(func: Callable[..., object], *args: object) -> Program:
    """Run both ways and compare results, dtypes and what was written into the arguments."""
    program = compiled(func, *args)
    ours, theirs = copy.deepcopy(args), copy.deepcopy(args)
    with np.errstate(all="ignore"):
        expected = func(*theirs)
        found = run_program(program, ours)
    equal_to_python(program, args, (found, ours), (expected, theirs))
    return program


Outcome: TypeAlias = tuple[object, Sequence[object]]
"""What a call returned, and its arguments afterwards."""


def equal_to_python(
    program: Program, args: Sequence[object], mine: Outcome, python: Outcome
) -> None:
    """Compare a call with `args` with Python's: bit for bit, or under derived bounds."""
    bounds = Bounded(program, tuple(args))
    same(mine[0], python[0], bounds.results)
    for position, (ours, theirs) in enumerate(zip(mine[1], python[1], strict=True)):
        if isinstance(ours, np.ndarray):
            same(ours, theirs, bounds.argument(position))


@dataclass
class Bounded:
    """How far the results of a call may lie from Python's; computed when it is first asked."""

    program: Program
    args: tuple[object, ...]

    @cached_property
    def errors(self) -> dict[str, Any]:
        """Bounds by array; an array without one is exact."""
        return error_bounds(analysis_of(self.program), self.args).errors

    def results(self, place: tuple[int, ...]) -> Any:
        """Return the bound of a returned value; `place` is empty where there is only one."""
        number = place[0] if place else 0
        return self.errors.get(self.program.signature.results[number].array)

    def argument(self, position: int) -> Callable[[tuple[int, ...]], Any]:
        """Return the bound of an argument."""
        argument = self.program.signature.arguments[position]
        return lambda place: self.errors.get(getattr(argument, "array", ""))


def same(
    found: Any,
    expected: Any,
    bound_of: Callable[[tuple[int, ...]], Any] = lambda place: None,
    place: tuple[int, ...] = (),
) -> None:
    """Compare two results: structure, shape, dtype, values; bit for bit or under their bounds."""
    if isinstance(expected, tuple | list):
        assert isinstance(found, type(expected))
        assert len(found) == len(expected)
        for number, (mine, other) in enumerate(zip(found, expected, strict=True)):
            same(mine, other, bound_of, (*place, number))
        return
    if expected is None:
        assert found is None
        return
    mine, other = np.asarray(found), np.asarray(expected)
    assert mine.shape == other.shape
    assert mine.dtype == other.dtype
    if np.array_equal(mine, other, equal_nan=mine.dtype.kind in "fc"):
        return
    bound = bound_of(place)
    if bound is not None:  # what no bound follows for is judged by its digits
        digits = {"f4": 2e-5, "c8": 2e-5}.get(other.dtype.str[1:], 1e-11)
        bound = np.where(np.isfinite(bound), bound, digits * (1.0 + np.abs(other)))
    compared = compare("result", mine, other, bound)
    assert compared.holds, compared
