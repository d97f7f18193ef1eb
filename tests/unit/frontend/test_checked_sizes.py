"""What a call checks of sizes is known to the loops, also where it holds only if loops run."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import PolyoptError
from tests.unit.proof.edits import program_of

# ruff: noqa: F821, UP037 - sizes are named by strings


def recurrence(b: po.f64["K,N"], d: po.f64["K,N"], x: po.f64["K,N"]):
    """The last row that is read exists only where there is one: `N >= 1` if `K >= 1`."""
    K, N = b.shape
    for k in range(K):
        p = np.zeros(N)
        p[0] = d[k, 0] / b[k, 0]
        for i in range(1, N):
            p[i] = (d[k, i] - p[i - 1]) / b[k, i]
        x[k, N - 1] = p[N - 1]
        for i in range(N - 2, -1, -1):
            x[k, i] = p[i] - b[k, i] * x[k, i + 1]


def basis(x: po.f64["N"], knots: po.f64["T"], c: po.f64["C"], out: po.f64["N"]):
    """`C < T` is checked only where there are points."""
    for i in range(x.shape[0]):
        b = np.zeros(knots.shape[0] - 1)
        for j in range(knots.shape[0] - 1):
            b[j] = 1.0 if knots[j] <= x[i] < knots[j + 1] else 0.5
        for k in range(1, 3):
            for j in range(knots.shape[0] - 1 - k):
                b[j] = b[j] * x[i] + b[j + 1]
        s = 0.0
        for j in range(c.shape[0]):
            s += c[j] * b[j]
        out[i] = s


def arguments(function, sizes):
    rng = np.random.default_rng(3)
    if function is recurrence:
        return [rng.uniform(2, 3, sizes), rng.uniform(-1, 1, sizes), np.zeros(sizes)]
    n, t, c = sizes
    knots = np.linspace(0, 1, t)
    return [rng.uniform(0, 1, n), knots, rng.uniform(size=c), np.zeros(n)]


@pytest.mark.usefixtures("narrow_machine")
@pytest.mark.parametrize(("function", "sizes"), [(recurrence, (40, 30)), (basis, (50, 12, 11))])
def test_each_iteration_has_an_array_of_its_own(function, sizes):
    """Nothing passes from one to the next: the loops over systems and points run in parallel."""
    text = po.kernel(function, threads=2).schedule(*arguments(function, sizes)).text
    assert "parallelize(L0.tile[0])" in text


def test_no_statement_for_sizes_that_no_call_has():
    """Without columns `p[N - 1]` would be the last but one from the end, which a call refuses."""
    statements = program_of(recurrence).scop.statements
    assert sum(s.text == "x[k, N - 1] = p[N - 1]" for s in statements) == 1


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("function", "sizes"),
    [
        *((recurrence, sizes) for sizes in [(0, 0), (0, 3), (1, 1), (3, 2), (37, 19)]),
        *((basis, sizes) for sizes in [(0, 1, 5), (1, 2, 1), (20, 9, 0), (33, 9, 8)]),
    ],
)
def test_results(function, sizes):
    want, got = arguments(function, sizes), arguments(function, sizes)
    function(*want)
    po.kernel(function, threads=2)(*got)
    np.testing.assert_array_equal(got[-1], want[-1])


@pytest.mark.toolchain
@pytest.mark.parametrize(("function", "sizes"), [(recurrence, (2, 0)), (basis, (3, 4, 4))])
def test_calls_are_checked(function, sizes):
    with pytest.raises(PolyoptError):
        po.kernel(function, threads=2)(*arguments(function, sizes))
