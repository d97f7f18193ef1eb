"""Timing a compiled kernel beside other functions."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.benching import Bench, Timing

pytestmark = pytest.mark.toolchain


def scale(a, b):
    for i in range(a.shape[0]):
        a[i] = 2.0 * b[i]


def twice(a, b):
    np.multiply(b, 2.0, out=a)


def thrice(a, b):
    np.multiply(b, 3.0, out=a)


@pytest.fixture(scope="module")
def compiled():
    return po.kernel(scale).compile(np.zeros(40), np.ones(40))


def test_functions_are_timed_in_turns_on_copies(compiled):
    a, b = np.zeros(40), np.ones(40)
    found = compiled.bench(a, b, against=["python", twice, thrice], seconds=0.05)
    assert [one.name for one in found.timings] == ["scale", "python", "twice", "thrice"]
    assert [one.agrees for one in found.timings] == [None, True, True, False]
    assert not a.any(), "arguments stay untouched"
    assert all(one.calls >= 3 and one.low <= one.median <= one.high for one in found.timings)
    assert found.ratio("scale") == 1.0
    assert "results differ" in str(found).splitlines()[4]


def test_a_slow_function_is_called_once(compiled):
    calls = []

    def slow(a, b):
        calls.append(1)
        twice(a, b)
        sum(range(400_000))

    found = compiled.bench(np.zeros(40), np.ones(40), against={"slow": slow}, seconds=1e-4)
    assert found.timings[1].calls == 1
    assert len(calls) == 2, "one to compare results, one to measure"


@pytest.mark.parametrize("against", ["python", ["fortran"], [3], 3, {"x": 3}])
def test_what_cannot_be_called_is_refused(compiled, against):
    with pytest.raises(po.UsageError, match="`against`") as caught:
        compiled.bench(np.zeros(40), np.ones(40), against=against)
    assert caught.value.code == "PO0222"


def test_arguments_that_share_memory_are_refused(compiled):
    a = np.zeros(40)
    with pytest.raises(po.UsageError) as caught:
        compiled.bench(a, a)
    assert caught.value.code == "PO0227"


def test_a_busy_machine_is_told():
    calm = Timing("f", 1e-3, 0.99e-3, 1.01e-3, 10)
    busy = Timing("g", 2e-3, 1e-3, 4e-3, 10, agrees=True)
    lines = str(Bench((calm, busy))).splitlines()
    assert "noisy" not in lines[1]
    assert "noisy" in lines[2]
    assert Bench((calm, busy)).ratio("g") == 2.0
