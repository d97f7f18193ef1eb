"""Running bounds hold for other orders and other libraries, and are tight enough to be of use."""

from __future__ import annotations

import numpy as np
import pytest

from polyopt import bounding
from polyopt.bounding import bounds_of, source_loops, work
from polyopt.numerics.bounds import analyse, error_bounds
from polyopt.numerics.compare import compare
from polyopt.schedule.reductions import reassociated
from tests.unit.frontend.harness import compiled
from tests.unit.numerics.analysed import analysed, inexact_outputs

RNG = np.random.default_rng(11)
X = RNG.normal(size=40)
M = RNG.normal(size=(12, 12))


def total(x):
    return np.sum(x)


def exactly(values):
    """Return the sum of doubles, rounded once."""
    from math import fsum

    return fsum(values)


@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e200])
def test_a_sum_in_any_order(scale):
    x = X * scale
    found = analysed(total, x)
    bound = float(found.bounds.errors["result"])
    orders = [RNG.permutation(x) for _ in range(50)]
    sums = [float(np.add.accumulate(order)[-1]) for order in orders]
    assert max(sums) - min(sums) <= bound
    assert bound <= 2.1 * len(x) * 2.0**-53 * np.abs(x).sum()


def running_sums(x):
    return np.cumsum(x)


def test_a_scan_in_any_grouping():
    x = np.concatenate([X * 1e12, -X * 1e12, [1e-3]])
    program = reassociated(compiled(running_sums, x))
    bounds = error_bounds(analyse(program, source_loops(program)), (x,))
    (bound,) = bounds.errors.values()
    least = np.arange(len(x)) * 2.0**-53 * np.cumsum(np.abs(x))
    assert np.all(bound >= 1.999 * least)
    assert np.all(bound <= 2.1 * (least + 2.0**-53 * np.abs(x)))


def test_a_sum_that_cancels():
    x = np.concatenate([X * 1e12, -X * 1e12, [1e-3]])
    found = analysed(total, x)
    assert abs(found.want["result"] - exactly(x)) <= float(found.bounds.errors["result"])


def mean_and_spread(x):
    mean = np.mean(x)
    return (x - mean) / np.sqrt(np.mean((x - mean) ** 2))


def functions(x):
    y = np.abs(x) * 0.1
    return (
        np.exp(x) + np.expm1(y),
        np.log(y + 1.5) * np.log1p(y) + np.log2(y + 3) - np.log10(y + 5),
        np.sin(np.sum(x) * x) + np.cos(np.sum(x)) * np.tan(y * np.sum(y)),
        np.arcsin(y / (1 + np.sum(y))) + np.arctan2(np.sum(x), y) + np.hypot(np.sum(x), x),
        np.sinh(y) * np.cosh(y) - np.tanh(np.sum(x) * y) + np.arctan(np.sum(x)),
        (np.sum(y) + y) ** x + np.sqrt(np.sum(y) + y) + np.cbrt(np.sum(y)),
        np.floor(np.sum(y) + y) + np.sum(y) % 0.7 + np.sum(y) // 0.3,
    )


def relu_and_clip(x):
    y = x - np.mean(x)
    return np.maximum(y, 0.0), np.where(y > 0.1, y, -y), np.clip(y, -0.5, 0.5), np.argmax(y)


@pytest.mark.parametrize("func", [mean_and_spread, functions, relu_and_clip])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_results_from_slightly_other_sums_stay_inside(func, dtype):
    """Moving the terms about inside a sum moves the results by less than the bounds."""
    x = X.astype(dtype)
    found = analysed(func, x)
    assert all(c.holds for c in found.compare(found.interpreted(found.loops)))
    back = analysed(func, x[::-1].copy())  # the same terms summed backwards
    arrays = found.bounds.errors
    for name in inexact_outputs(found):
        mine, other = np.asarray(found.want[name]), np.asarray(back.interpreted(back.loops)[name])
        if mine.ndim:
            result = compare(name, other[::-1], mine, arrays[_array(found, name)])
            assert result.holds, result


def _array(found, name):
    from polyopt.numerics.results import result_arrays

    return result_arrays(found.program)[name]


def test_bounds_are_of_the_size_of_a_few_roundings():
    found = analysed(mean_and_spread, X)
    (bound,) = found.bounds.errors.values()
    assert np.all(bound < 1e-13)
    assert np.all(bound > 2.0**-53 * np.abs(found.want["result"]))


def only_bound(func, *values):
    (bound,) = analysed(func, *values).bounds.errors.values()
    return bound


def ends_when_small(x):
    total = np.sum(x)
    steps = 0
    while total > 1e-3:
        total = total * 0.5
        steps += 1
    return steps


def scattered(x):
    y = np.zeros(x.shape[0])
    y[int(np.floor(np.mean(x)))] = 1.0
    return y


def test_decisions_are_certain_or_lose_the_bound():
    assert only_bound(ends_when_small, np.abs(X)) == 0.0
    close = np.full(7, 1e-3 / 7)  # the sum is 0.001 but for its rounding
    assert np.isinf(only_bound(ends_when_small, close))
    assert np.all(only_bound(scattered, np.full(5, 2.5)) == 0.0)
    assert np.all(np.isinf(only_bound(scattered, np.full(5, 2.0))))


def guarded(x):
    m = np.mean(x)
    best = -1.0
    for i in range(x.shape[0]):
        if x[i] * m > best:
            best = x[i] * m
    return best


def test_a_guard_that_may_go_either_way_costs_the_difference():
    found = analysed(guarded, np.array([1.0, 1.0, 0.5]))
    bound = float(next(iter(found.bounds.errors.values())))
    assert 0.0 < bound < 1e-14


def masked(x):
    y = np.where(x > 0, x, -np.inf)
    shifted = np.exp(y - np.max(y))
    return shifted / np.sum(shifted)


def test_infinities_have_no_error_and_nan_is_nan():
    found = analysed(masked, X)
    (bound,) = found.bounds.errors.values()
    assert np.all(np.isfinite(bound))
    assert np.all(bound[X <= 0] < 1e-300)
    empty = analysed(total, np.array([np.nan, 1.0]))
    assert all(c.holds for c in empty.compare(empty.interpreted(empty.loops)))


def library(a, x):  # LAPACK sums in an order of its own
    b = a * np.sum(x)
    return np.linalg.det(b), np.linalg.det(a), np.sort(x), np.sort(x * np.sum(x))


def test_library_functions_of_inexact_arrays_have_no_bound():
    found = analysed(library, np.eye(4) + 0.1, X)
    names = inexact_outputs(found)
    assert names == ["result0", "result1", "result3"]
    assert np.isinf(found.bounds.errors[_array(found, "result0")])


def complex_product(z, w):
    return z * w, z @ w, np.abs(z), z / w


def test_complex_numbers():
    z = RNG.normal(size=30) + 1j * RNG.normal(size=30)
    found = analysed(complex_product, z, z[::-1].copy())
    assert len(inexact_outputs(found)) == 4
    assert all(c.holds for c in found.compare(found.interpreted(found.loops)))


def updated(A, x):
    A[:, 0] += A @ x
    A[0, :] = A[0, :] / np.sum(A[0, :])


@pytest.mark.toolchain
@pytest.mark.parametrize("func, values", [(updated, (M, M[0])), (functions, (X,))])
def test_compiled_bounds_are_the_interpreters(func, values, monkeypatch):
    program = compiled(func, *values)
    slow = bounds_of(program, values).errors
    monkeypatch.setattr(bounding, "INTERPRETED", 0)
    fast = bounds_of(program, values).errors
    assert slow.keys() == fast.keys() != set()
    for name, bound in slow.items():
        np.testing.assert_allclose(bound, fast[name], rtol=1e-12)


def triangle(x):
    s = 0.0
    for i in range(x.shape[0]):
        for j in range(i):
            s += x[j]
    return s


def test_work_is_counted_without_running():
    program = compiled(triangle, X)
    counted = work(source_loops(program).body, {size.param: 40 for size in program.signature.sizes})
    assert 700 <= counted <= 1200


def test_comparisons():
    want = np.array([1.0, np.nan, 0.0, np.inf])
    assert compare("a", want.copy(), want, None).bitwise
    assert compare("a", np.array([1.0, -np.nan, 0.0, np.inf]), want, None).holds
    zero = compare("a", np.array([1.0, np.nan, -0.0, np.inf]), want, None)
    assert not zero.holds
    assert zero.worst is not None
    assert zero.worst.place("a") == "a[2]"
    bounds = np.array([0.0, 0.0, 1e-3, np.inf])
    near = compare("a", np.array([1.0, np.nan, 5e-4, 2.0]), want, bounds)
    assert near.holds
    assert (near.unbounded, near.used) == (1, 0.5)
    assert not compare("a", np.array([1.0, 2.0, 0.0, np.inf]), want, bounds).holds
    assert not compare("a", want[:3], want, bounds).holds
    assert not compare("n", np.array([1, 2]), np.array([1, 3]), None).holds
    assert compare("n", np.array([1, 2]), np.array([1, 3]), np.array([0.0, 1.0])).holds
