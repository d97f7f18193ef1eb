"""Printed kernels compute what their loops say: on OpenCL and on the emulated CUDA device."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np
import pytest

from polyopt.emit.cuda import emit_cuda
from polyopt.emit.gpu.expressions import largest
from polyopt.emit.opencl import emit_opencl
from polyopt.emulator import EmulatedProvider, Rules
from polyopt.errors import KernelFault
from polyopt.ir.array import Array, Role
from polyopt.ir.integers import evaluate
from polyopt.ir.interp import run_loops
from polyopt.ir.source import DeviceSource, ScalarArg
from polyopt.ir.types import Kind
from polyopt.runtime.device.provider import Provider
from tests.gpu.printing.cases import CASES, Case
from tests.gpu.printing.launch import Arrays, launch
from tests.gpu.runtime.needs import opencl_or_skip


def arguments(case: Case) -> tuple[Arrays, dict[str, Any]]:
    """Return arrays and values for a case."""
    rng = np.random.default_rng(7)
    values: dict[str, Any] = dict(case.values)
    arrays = {}
    for array in case.fn.arrays:
        shape = tuple(evaluate(extent, values) for extent in array.shape)
        arrays[array.name] = _numbers(rng, shape, array, case)
    return arrays, values


def _numbers(rng: np.random.Generator, shape: tuple[int, ...], array: Array, case: Case) -> Any:
    dtype = array.dtype
    if array.role is Role.FAULT:
        return np.zeros(shape, dtype.numpy)
    match dtype.kind:
        case Kind.BOOL:
            return rng.random(shape) < 0.5
        case Kind.FLOAT:
            numbers = rng.random(shape).astype(dtype.numpy)
            if numbers.size > 70:
                numbers.flat[::31] = np.nan
            return numbers
        case Kind.COMPLEX:
            return (rng.standard_normal(shape) + 1j * rng.random(shape)).astype(dtype.numpy)
        case _:
            least, most = (-100 if dtype.kind is Kind.SIGNED else 0), 100
            if case.large:
                least, most = least and -largest(dtype) - 1, largest(dtype)
            numbers = rng.integers(least, most, shape, dtype.numpy)
            numbers[numbers == 0] = 3
            numbers.flat[0] = least
            return numbers


@cache
def expected(name: str) -> Arrays:
    """Return the arrays after the loops have been run one by one."""
    fn = CASES[name].fn
    arrays, values = arguments(CASES[name])
    sizes = {size: values[size] for size in fn.params}
    scalars = [a for a in fn.signature.arguments if isinstance(a, ScalarArg)]
    symbols = {a.name: a.dtype.numpy.type(values[a.name]) for a in scalars}
    with suppress(KernelFault):
        run_loops(fn, arrays, sizes, symbols)
    return arrays


def check(name: str, device: Provider, source: DeviceSource) -> None:
    case = CASES[name]
    arrays, values = arguments(case)
    launch(device, source, case.fn, arrays, values)
    for array, right in expected(name).items():
        if case.exact:
            np.testing.assert_array_equal(arrays[array], right, err_msg=array)
        else:
            rtol = 1e-12 if right.dtype in (np.float64, np.complex128) else 2e-5
            np.testing.assert_allclose(arrays[array], right, rtol=rtol, err_msg=array)


@pytest.mark.machine
@pytest.mark.parametrize("name", CASES)
def test_opencl(name: str) -> None:
    check(name, opencl_or_skip(), emit_opencl(CASES[name].fn))


@pytest.mark.toolchain
@pytest.mark.parametrize("name", CASES)
def test_emulated_cuda(name: str) -> None:
    check(name, EmulatedProvider(Rules(seed=3)), emit_cuda(CASES[name].fn))
