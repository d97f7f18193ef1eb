"""Compile a function with the front end, run it in the interpreter, compare it with Python."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from polyopt.frontend import build
from polyopt.frontend.argtypes import ArgType, ArrayType, ConstType, NeedConstant, ScalarType
from polyopt.ir.interp import run_program
from polyopt.ir.program import Program
from polyopt.ir.source import Layout
from polyopt.ir.types import DType, dtype_of


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
            return build(func, tuple(types))
        except NeedConstant as need:
            position = names.index(need.argument)
            types[position] = ConstType(args[position])


def agree(func: Callable[..., object], *args: object) -> Program:
    """Run both ways and compare results, dtypes and what was written into the arguments."""
    program = compiled(func, *args)
    ours, theirs = copy.deepcopy(args), copy.deepcopy(args)
    with np.errstate(all="ignore"):
        expected = func(*theirs)
        found = run_program(program, ours)
    same(found, expected)
    for mine, other in zip(ours, theirs, strict=True):
        if isinstance(mine, np.ndarray):
            same(mine, other)
    return program


def same(found: Any, expected: Any) -> None:
    """Compare two results: structure, shape, dtype, values."""
    if isinstance(expected, tuple | list):
        assert isinstance(found, tuple | list)
        assert len(found) == len(expected)
        for mine, other in zip(found, expected, strict=True):
            same(mine, other)
        return
    if expected is None:
        assert found is None
        return
    mine, other = np.asarray(found), np.asarray(expected)
    assert mine.shape == other.shape
    assert mine.dtype == other.dtype
    tolerance = {"f4": 2e-5, "c8": 2e-5}.get(other.dtype.str[1:], 1e-11)
    np.testing.assert_allclose(mine, other, rtol=tolerance, atol=tolerance)
