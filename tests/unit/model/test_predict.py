"""Predictions for compiled programs whose cost is known in closed form."""

from __future__ import annotations

import json

import pytest
import sympy

from polyopt.building import compile_stages
from polyopt.cli.app import run
from polyopt.machine import Machine, Rates, Speeds
from polyopt.model.amount import Amount
from polyopt.model.predict import Prediction, predict
from polyopt.specialize import Parameters, types_of
from polyopt.targets import Options

MACHINE = Machine(cores=2, vector_bytes=32, l1=32 << 10, l2=256 << 10, l3=4 << 20)
ONE = Speeds(48e9, 96e9, 100e9, 50e9, 20e9, 10e9, 10e9)
RATES = Rates(ONE, Speeds(96e9, 192e9, 200e9, 100e9, 40e9, 15e9, 15e9), 1e-6, True)


def product(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def triangle(L, x):
    for i in range(L.shape[0]):
        for j in range(i):
            L[i, j] = L[i, j] * x[j]


def shifted(L, x):
    for i in range(L.shape[0]):
        for j in range(1, i):
            L[i, j] = L[i, j - 1] * x[j]


def chain(x, s):
    for i in range(x.shape[0]):
        s[0] += x[i]


def blurred(a, b, steps):
    for _ in range(steps):
        for i in range(1, a.shape[0] - 1):
            b[i] = 0.3 * (a[i - 1] + a[i] + a[i + 1])
        for i in range(1, a.shape[0] - 1):
            a[i] = 0.3 * (b[i - 1] + b[i] + b[i + 1])


def columns(A, y):
    for j in range(A.shape[1]):
        for i in range(A.shape[0]):
            y[j] += A[i, j]


def halves(x, n):
    while x[0] > 1.0:
        for i in range(n):
            x[i] = 0.5 * x[i]


def _predict(function, kinds, schedule: str | None, size: int, **sizes: int) -> Prediction:
    import numpy as np

    values = [np.zeros((3,) * k) if isinstance(k, int) else 3 for k in kinds]
    types = types_of(Parameters.of(function), tuple(values), frozenset())
    stages = compile_stages(function, types, Options(schedule=schedule), MACHINE)
    amounts = {p: Amount(sizes.get(p, size), sympy.Symbol(p)) for p in stages.loops.params}
    return predict(stages.loops, amounts, MACHINE, RATES)


def _amount(found: Prediction, name: str) -> Amount:
    return next(limit.amount for limit in found.limits if limit.name == name)


@pytest.mark.parametrize("schedule", ["source", None, "tile(L0, 32, 64, 16); interchange(j, k)"])
def test_operations_of_a_product_are_exact_in_any_order(schedule):
    found = _predict(product, (2, 2, 2), schedule, 960)
    n, m, k = sympy.symbols("C_0 C_1 A_1")
    assert sympy.expand(sympy.nsimplify(found.operations.formula)) == 2 * n * m * k
    assert found.operations.value == 2 * 960**3


def test_tiles_bring_less_into_the_caches():
    plain = _predict(product, (2, 2, 2), "source", 960)
    tiled = _predict(product, (2, 2, 2), "tile(L0, 64, 64, 64); interchange(j, k)", 960)
    compulsory = 8 * 4 * 960**2
    # a column of B is read in lines that the next column uses, if L2 kept them, which it does not
    assert _amount(plain, "L3").value > 960**3 * 8
    assert compulsory <= _amount(tiled, "L3").value < 960**3 * 8 / 10
    assert tiled.seconds < plain.seconds
    assert plain.binding.name in ("L2", "L3", "memory")


def test_what_fits_comes_in_once():
    small = _predict(product, (2, 2, 2), "source", 48)
    assert _amount(small, "L3").value == 8 * 48 * 48 * 4
    assert _amount(small, "memory").value == 8 * 48 * 48 * 4


def test_triangles_count_half():
    found = _predict(triangle, (2, 1), "source", 1001)
    assert found.operations.value == pytest.approx(1001 * 1000 / 2, rel=2e-3)


def test_sums_in_order_wait_for_each_other():
    found = _predict(chain, (1, 1), "source", 4000)
    assert found.binding.name == "latency"
    assert _amount(found, "latency").value == 4 * 4000
    free = _predict(columns, (2, 1), "interchange(j, i); vectorize(j)", 600)
    assert _amount(free, "latency").value == 4 * 600  # a row waits for the one before
    assert free.binding.name != "latency"


def running(x, y):
    for i in range(2, x.shape[0]):
        x[i] = x[i - 2] * y[i] + 1.0


def sweep(A):
    for k in range(1, A.shape[0]):
        for j in range(A.shape[1]):
            A[k, j] = A[k - 1, j] * 0.5 + A[k, j]


def pairs(x, y):
    for i in range(x.shape[0]):
        for _ in range(4):
            y[i] += x[i] * y[i]


@pytest.mark.parametrize(
    "function, kinds, schedule, cycles",
    [
        # a product and a sum, of every second element
        (running, (1, 1), "source", 4000 * (4 + 4) / 2),
        # a row waits for the row before
        (sweep, (2,), "vectorize(j)", 4000 * (4 + 4)),
    ],
)
def test_recurrences_wait(function, kinds, schedule, cycles):
    found = _predict(function, kinds, schedule, 4000)
    assert _amount(found, "latency").value == pytest.approx(cycles, rel=0.01)


def test_short_chains_overlap_where_they_are_independent():
    found = _predict(pairs, (1, 1), "source", 4000)
    assert _amount(found, "latency").value < 4000 * 4 * (4 + 4) / 2


def test_loops_one_after_the_other_take_their_sum():
    """One waits for its sum, the other computes: neither hides the other."""

    def both(x, y, s):
        for i in range(x.shape[0]):
            s[0] += x[i]
        for j in range(x.shape[0]):
            y[j] = x[j] / (x[j] + 1.0) / (x[j] + 2.0) / (x[j] + 3.0)

    def second(x, y, s):
        for j in range(x.shape[0]):
            y[j] = x[j] / (x[j] + 1.0) / (x[j] + 2.0) / (x[j] + 3.0)

    nested = _predict(both, (1, 1, 1), "source", 4000)
    parts = _predict(chain, (1, 1), "source", 4000), _predict(second, (1, 1, 1), "source", 4000)
    assert nested.seconds == pytest.approx(sum(part.seconds for part in parts), rel=0.05)


def test_iterations_left_over_take_as_long_as_vectors():
    whole, ragged = (
        _predict(columns, (2, 1), "interchange(j, i); vectorize(j)", 0, A_0=size, A_1=64 + left)
        for size, left in ((1000, 0), (1000, 3))
    )
    more = _amount(ragged, "arithmetic").value / _amount(whole, "arithmetic").value
    assert more == pytest.approx((16 + 3) / 16)


def test_a_triangle_is_half_of_its_box():
    found = _predict(triangle, (2, 1), "source", 4000)
    assert _amount(found, "memory").value == pytest.approx(8 * 4000**2, rel=0.01)  # in and out


def test_lines_are_brought_in_whole():
    by_column = _predict(columns, (2, 1), "source", 6000)
    by_row = _predict(columns, (2, 1), "interchange(j, i)", 6000)
    assert _amount(by_column, "L3").value > 7 * _amount(by_row, "L3").value
    assert _amount(by_column, "memory").value == pytest.approx(_amount(by_row, "memory").value)
    assert _amount(by_row, "memory").value == pytest.approx(6000 * 6000 * 8, rel=0.01)


def test_lanes_and_threads_share_the_arithmetic():
    alone = _predict(triangle, (2, 1), "source", 800)
    lanes = _predict(triangle, (2, 1), "vectorize(j)", 800)
    every = _predict(triangle, (2, 1), "parallelize(i); vectorize(j)", 800)
    times = [found.limits[0].seconds for found in (alone, lanes, every)]
    assert times[0] == times[1]  # the C compiler has the same lanes
    assert times[1] == pytest.approx(2 * times[2])
    carried = _predict(shifted, (2, 1), "source", 800).limits[0].seconds
    assert carried > 3 * times[0]
    assert every.overhead == 1e-6
    assert alone.overhead == 0


@pytest.mark.parametrize("steps", [4, 8, 16])
def test_skewed_tiles_do_the_work_of_the_program(steps):
    """Tiles on the edges of a front are smaller than those inside."""
    sizes = {"steps": 50}
    tiles = f"affine(min); tile(L0, {steps}, 32); skew(L0.tile[0], L0.tile[1], 1)"
    plain = _predict(blurred, (1, 1, "steps"), "source", 2000, **sizes)
    tiled = _predict(blurred, (1, 1, "steps"), tiles, 2000, **sizes)
    assert tiled.operations.value == pytest.approx(plain.operations.value, rel=0.2)


def test_lengths_that_data_decides_are_guessed():
    found = _predict(halves, (1, "n"), None, 1000)
    assert found.is_guess
    assert found.operations.value > 0
    assert not _predict(chain, (1, 1), "source", 10).is_guess


@pytest.mark.toolchain
def test_explain_shows_predicted_and_measured(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").write_text(
        "def scaled(a, b):\n    for i in range(a.shape[0]):\n        a[i] = 2.0 * b[i]\n"
    )
    sizes = ("--sizes", "a=1000,b=1000")
    assert run(["explain", "program.py:scaled", "--cost", *sizes]) == 0
    shown = capfd.readouterr().out
    assert "at a_0 = 1000, b_0 = 1000: 1000 floating-point operations\n      = a_0" in shown
    assert "predicted: " in shown
    assert "measured: " not in shown
    assert run(["explain", "program.py:scaled", "--measure", "--json", *sizes]) == 0
    cost = json.loads(capfd.readouterr().out)["cost"]
    assert cost["operations"] == 1000
    assert cost["formula"] == "a_0"
    assert cost["measured"] > 0
    assert {limit["name"] for limit in cost["limits"]} == {
        "arithmetic", "instructions", "L1", "latency", "branches", "L2", "L3", "memory"
    }  # fmt: skip
    assert run(["explain", "program.py:scaled"]) == 0
    assert "predicted: " not in capfd.readouterr().out
