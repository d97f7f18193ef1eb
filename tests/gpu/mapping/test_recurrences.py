# ruff: noqa: F821, UP037
"""Recurrences along rows on a device: tiles of rows are staged, the order of the source stays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt.frontend import build
from polyopt.frontend.syntax.type_inference import infer_types
from polyopt.ir.scop import Scop
from polyopt.strategy.gpu import GpuModel, auto_schedule_gpu
from polyopt.transforms import Contract, Pack, Shift
from tests.checks import assert_computes

SMALL = GpuModel(block=4, warp=2)


def sums(x: po.f32["N,M"], out: po.f32["N,M"]):
    out[:] = np.cumsum(x, axis=1)


def filtered(a: po.f32["N,M"], x: po.f32["N,M"], out: po.f32["N,M"]):
    for i in range(x.shape[0]):
        out[i, 0] = x[i, 0]
        for j in range(1, x.shape[1]):
            out[i, j] = a[i, j] * out[i, j - 1] + x[i, j]


def column(x: po.f32["N,M"], out: po.f32["N,M"]):
    for i in range(1, x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] = out[i - 1, j] + x[i, j]


def in_order(x: po.f32["N,M"], out: po.f32["N"]):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[i] += x[i, j]


def single(x: po.f32["N"], out: po.f32["N"]):
    out[:] = np.cumsum(x)


def scop_of(function: Callable[..., Any]) -> Scop:
    return build(function, infer_types(function)).scop


def packed(function: Callable[..., Any]) -> set[str]:
    trace = auto_schedule_gpu(scop_of(function), GpuModel()).trace
    return {step.array for step in trace if isinstance(step, Pack)}


def test_what_lies_along_rows_is_staged() -> None:
    assert packed(sums) == {"x", "out", "running"}
    assert packed(filtered) == {"a", "x", "out"}
    assert packed(in_order) == {"x"}
    assert packed(column) == set()


def test_short_rows_are_not_staged() -> None:
    def program(x: po.f32["N,8"], out: po.f32["N,8"]):
        out[:] = np.cumsum(x, axis=1)

    assert packed(program) == set()


def test_what_is_reached_by_data_is_not_staged() -> None:
    def program(place: po.i64["N"], x: po.f32["N"], y: po.f32["N"]):
        for i in range(x.shape[0]):
            y[place[i]] = y[i] * x[i]

    assert packed(program) == {"place", "x"}


def test_a_running_value_is_kept_in_a_window() -> None:
    trace = auto_schedule_gpu(scop_of(sums), GpuModel()).trace
    assert Contract("running", (0, 2)) in trace


def test_tiles_begin_alike() -> None:
    trace = auto_schedule_gpu(scop_of(filtered), GpuModel()).trace
    assert [str(step) for step in trace if isinstance(step, Shift)] == ["shift(L1[1], -1)"]


@pytest.mark.parametrize("program", [filtered, in_order], ids=lambda f: f.__name__)
def test_same_results(program: Callable[..., Any]) -> None:
    scop = scop_of(program)
    assert_computes(scop, *auto_schedule_gpu(scop, SMALL).trace)


@pytest.mark.toolchain
@pytest.mark.parametrize("target", ["cuda", pytest.param("opencl", marks=pytest.mark.machine)])
def test_not_a_bit_is_another(target: str) -> None:
    device = "emulated" if target == "cuda" else None
    summed = po.kernel(target=target, device=device)(sums)
    rng = np.random.default_rng(5)
    for shape in [(1, 1), (1, 2), (3, 32), (65, 33), (70, 66)]:
        x = rng.standard_normal(shape).astype(np.float32)
        found, wanted = np.full(shape, np.nan, np.float32), np.empty(shape, np.float32)
        summed(x, found)
        sums(x, wanted)
        assert np.array_equal(found, wanted), shape


@pytest.mark.toolchain
@pytest.mark.parametrize("target", ["cuda", pytest.param("opencl", marks=pytest.mark.machine)])
def test_a_single_row_is_one_block_s(target: str) -> None:
    device = "emulated" if target == "cuda" else None
    summed = po.kernel(target=target, device=device)(single)
    rng = np.random.default_rng(5)
    for length in (1, 2, 512, 513, 514, 1100):
        x = rng.standard_normal(length).astype(np.float32)
        found = np.full(length, np.nan, np.float32)
        summed(x, found)
        assert np.array_equal(found, np.cumsum(x)), length
    lines = summed.compile(x, found).source.splitlines()
    assert sum(line.startswith("single_") for line in map(_entry, lines)) == 2  # and a copy


def _entry(line: str) -> str:
    return line.removeprefix("void ").strip()
