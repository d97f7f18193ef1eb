"""Elements of a temporary that few iterations read are computed at the read."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.frontend import build, infer_types
from polyopt.ir.interp import run_program
from polyopt.schedule.forwarded_elements import with_forwarded_elements

# ruff: noqa: F821, UP037 - sizes are named by strings


def cross_entropy(x: po.f64["N,M"], label: po.i64["N"]):
    logs = x - np.log(np.sum(np.exp(x), axis=1, keepdims=True))
    return -np.mean(logs[np.arange(x.shape[0]), label])


def diagonal(x: po.f64["N,N"], y: po.f64["N"]):
    z = np.exp(x) * 2.0
    for i in range(x.shape[0]):
        y[i] = z[i, x.shape[0] - 1 - i]


def read_twice(x: po.f64["N,N"], y: po.f64["N"]):
    z = np.exp(x) * 2.0
    for i in range(x.shape[0]):
        y[i] = z[i, 0] + z[0, i]


def overwritten(x: po.f64["N,N"], y: po.f64["N"]):
    z = np.exp(x) * 2.0
    x[:] = 0.0
    for i in range(x.shape[0]):
        y[i] = z[i, 0]


def overwritten_in_between(x: po.f64["N,N"], y: po.f64["N"]):
    z = np.exp(x) * 2.0
    for i in range(x.shape[0]):
        y[i] = z[i, 0]
        x[0, i] = 1.0


def updated(x: po.f64["N,N"], y: po.f64["N"]):
    z = np.exp(x) * 2.0
    z[0, 0] = 3.0
    for i in range(x.shape[0]):
        y[i] = z[i, 0]


def summed(x: po.f64["N,N"], y: po.f64["N"]):
    z = x @ x
    for i in range(x.shape[0]):
        y[i] = z[i, 0]


def every_element(x: po.f64["N,N"], y: po.f64["N,N"]):
    z = np.exp(x) * 2.0
    y[:] = z.T


def arrays(function) -> set[str]:
    program = with_forwarded_elements(build(function, infer_types(function)))
    return {a.name for a in program.arrays if a.name in {s.target.array for s in
            program.scop.statements}}  # fmt: skip


@pytest.mark.parametrize(("function", "array"), [(cross_entropy, "logs"), (diagonal, "z")])
def test_is_computed_at_the_read(function, array):
    assert array in {s.target.array for s in build(function, infer_types(function)).scop.statements}
    assert array not in arrays(function)


@pytest.mark.parametrize(
    "function",
    [read_twice, overwritten, overwritten_in_between, updated, summed, every_element],
    ids=lambda f: f.__name__,
)
def test_stays(function):
    assert "z" in arrays(function)


@pytest.mark.parametrize("size", [1, 2, 7])
def test_values_are_the_same_bits(size):
    rng = np.random.default_rng(size)
    x, y = rng.normal(size=(size, size)), np.zeros(size)
    want, got = y.copy(), y.copy()
    program = build(diagonal, infer_types(diagonal))
    run_program(program, (x.copy(), want))
    run_program(with_forwarded_elements(program), (x.copy(), got))
    assert np.array_equal(got, want)
    assert got.any()


@pytest.mark.toolchain
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (2, 7), (7, 2), (70, 70)])
def test_results(fp, rows, columns):
    rng = np.random.default_rng(rows)
    x, label = rng.normal(size=(rows, columns)), rng.integers(-columns, columns, rows)
    kernel = po.kernel(cross_entropy, fp=fp)
    assert np.isclose(kernel(x, label), cross_entropy(x, label), rtol=1e-13)
    label[-1] = columns
    with pytest.raises(IndexError):
        kernel(x, label)
