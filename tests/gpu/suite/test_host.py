"""What the host does around kernels: loops on data, faults, library calls, results, memory."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import ArgumentError, UsageError
from polyopt.hosting import provider_for
from polyopt.hosting.kernel import Mirror
from polyopt.ir.types import DType
from tests.gpu.runtime.needs import opencl_or_skip

RANDOM = np.random.default_rng(7)


def newton(x, tol):
    y = x.copy()
    err = 1.0
    rounds = 0
    while err > tol:
        err = 0.0
        for i in range(x.shape[0]):
            d = (y[i] * y[i] - x[i]) / (2 * y[i])
            y[i] -= d
            err = max(err, abs(d))
        rounds += 1
    return y, rounds


def gather(a, where, out):
    for i in range(where.shape[0]):
        out[i] = a[where[i]]


def solve(A, b):
    x = np.linalg.solve(A + np.eye(A.shape[0]) * A.shape[0], b)
    return x * 2, x.sum()


def double_inside(A):
    A[1:-1] *= 2.0
    return A


def above(x):
    return x[x > 0.5]


def chosen(x, flag):
    m = (x > 0.3) & flag
    return np.where(m, x, -x), m


def shifted(a, b):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] = b[i, j] + 1.0


def kernel(function: Any) -> po.Kernel[Any]:
    return po.kernel(target="cuda", device="emulated")(function)


def same(one: Any, two: Any) -> bool:
    if isinstance(one, tuple):
        return len(one) == len(two) and all(map(same, one, two))
    return np.shape(one) == np.shape(two) and np.allclose(one, two)


CASES: list[tuple[Any, tuple[Any, ...]]] = [
    (newton, (RANDOM.random(70) + 0.5, 1e-9)),
    (solve, (RANDOM.random((9, 9)), RANDOM.random(9))),
    (double_inside, (RANDOM.random((40, 3))[::2],)),
    (above, (RANDOM.random(100),)),
    (chosen, (RANDOM.random(33), True)),
]


@pytest.mark.toolchain
@pytest.mark.parametrize("function,values", CASES, ids=[f.__name__ for f, _ in CASES])
def test_results_are_those_of_the_function(function: Any, values: tuple[Any, ...]) -> None:
    mine, theirs = copy.deepcopy(values), copy.deepcopy(values)
    got, want = kernel(function)(*mine), function(*theirs)
    assert same(got, want)
    assert same(mine, theirs)


@pytest.mark.toolchain
def test_a_fault_leaves_what_had_been_computed() -> None:
    a, out = np.arange(5.0), np.full(3, -1.0)
    with pytest.raises(IndexError, match="where"):
        kernel(gather)(a, np.array([1, 2, 9]), out)
    assert out[:2].tolist() == [1.0, 2.0]


@pytest.mark.toolchain
def test_arguments_that_overlap() -> None:
    mine = np.arange(144.0).reshape(12, 12)
    theirs = mine.copy()
    kernel(shifted)(mine[2:10, :8], mine[:8, 2:10])
    shifted(theirs[2:10, :8], theirs[:8, 2:10])
    assert np.array_equal(mine, theirs)


@pytest.mark.toolchain
def test_a_warm_cache_needs_no_stages() -> None:
    values = (RANDOM.random(33), True)
    first = kernel(chosen).compile(*values)
    again = kernel(chosen).compile(*values)
    assert set(again.timings) == {"cache"}
    assert again.source == first.source
    assert same(again(*values), chosen(*values))
    assert "cuda" in repr(again)


def test_options_that_are_none() -> None:
    with pytest.raises(UsageError, match="target"):
        po.kernel(target="cud")(above)
    with pytest.raises(UsageError, match="device"):
        po.kernel(target="cuda", device=-1)(above)


@pytest.mark.toolchain
def test_refused_arguments_are_untouched() -> None:
    A = np.zeros((4, 4))
    A.flags.writeable = False
    with pytest.raises(ArgumentError, match="read-only"):
        kernel(double_inside)(A)


def norms(A, B):
    B[:] = A * 2.0
    return B + 1.0, (A * A).sum()


@pytest.mark.toolchain
@pytest.mark.parametrize(
    "target, device",
    [("cuda", "emulated"), pytest.param("opencl", None, marks=pytest.mark.machine)],
)
def test_arrays_that_stay_on_the_device(target: str, device: str | None) -> None:
    if target == "opencl":
        opencl_or_skip()
    host = RANDOM.random((13, 9))
    A, B = po.to_device(host, target, device), po.to_device(np.zeros_like(host), target, device)
    call = po.kernel(target=target, device=device)(norms)
    for _ in range(2):
        more, total = call(A, B)
        assert np.array_equal(B.numpy(), host * 2.0)
        assert np.array_equal(more.numpy(), host * 2.0 + 1.0)
        assert np.isclose(total, (host * host).sum())
    again, _ = call(more, B)
    assert np.array_equal(again.numpy(), more.numpy() * 2.0 + 1.0)
    mixed, _ = call(host, B)
    assert np.array_equal(mixed.numpy(), host * 2.0 + 1.0)


@pytest.mark.toolchain
def test_a_host_kernel_takes_no_array_of_a_device() -> None:
    array = po.to_device(np.ones(3), "cuda", "emulated")
    with pytest.raises(ArgumentError) as caught:
        po.kernel(above)(array)
    assert caught.value.code == "PO0206"
    assert ".numpy()" in (caught.value.hint or "")


def test_the_host_is_no_device() -> None:
    with pytest.raises(UsageError, match="target"):
        po.to_device(np.ones(3), "c")


@pytest.mark.toolchain
def test_elements_with_gaps_between_them_are_read() -> None:
    there = po.to_device(np.arange(12.0), "cuda", "emulated")
    provider = provider_for("cuda", "emulated")
    buffer = replace(there.buffer, nbytes=48)  # what its own elements take
    rows = Mirror(provider, buffer, DType.FLOAT64, (3, 2), (4, 2))
    assert rows.host().tolist() == [[0.0, 2.0], [4.0, 6.0], [8.0, 10.0]]
    assert rows[2, 1] == 10.0
    nothing = Mirror(provider, buffer, DType.FLOAT64, (0, 2), (4, 2))
    assert nothing.host().shape == (0, 2)
    backwards = Mirror(provider, buffer, DType.FLOAT64, (3,), (-1,))
    with pytest.raises(ArgumentError, match="backwards"):
        backwards.host()
