"""Schedules to choose from: proven, ordered by predicted time, values for the option `schedule`."""

# ruff: noqa: F821

import numpy as np
import pytest

import polyopt as po


def product(A: po.f64["N,K"], B: po.f64["K,M"], C: po.f64["N,M"]):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


@pytest.fixture(autouse=True)
def _machine(monkeypatch):
    monkeypatch.setenv("POLYOPT_MACHINE", "x86-64-v3")
    monkeypatch.setenv("POLYOPT_CORES", "2")


@pytest.mark.machine
def test_the_fastest_comes_first_and_one_is_chosen():
    found = po.kernel(product).schedules(N=800, M=900, K=1000)
    times = [one.seconds for one in found]
    assert times == sorted(times)
    assert times[0] < 0.5 * times[-1]
    (chosen,) = [one for one in found if one.is_chosen]
    assert chosen.text == po.kernel(product).schedule().text
    assert len({one.text for one in found}) == len(found) > 2
    assert "source" in {one.text for one in found}
    assert str(chosen).startswith(f"{1e3 * chosen.seconds:.4g} ms, bound by ")
    smaller = po.kernel(product).schedules(N=80, M=90, K=100)
    assert max(one.seconds for one in smaller) < times[0]


@pytest.mark.machine
@pytest.mark.toolchain
def test_each_is_a_value_for_the_option_schedule():
    rng = np.random.default_rng(0)
    a, b = rng.random((7, 11)), rng.random((11, 13))
    for one in po.kernel(product).schedules():
        c = np.zeros((7, 13))
        po.kernel(product, schedule=one)(a, b, c)
        assert np.allclose(c, a @ b)
        assert str(po.kernel(product, schedule=one).schedule()) == one.loop_nest


@pytest.mark.machine
def test_a_kernel_with_a_schedule_of_its_own():
    arrays = (np.ones((2, 3)), np.ones((3, 4)), np.ones((2, 4)))
    found = po.kernel(product, schedule="parallelize(i)").schedules(*arrays)
    assert [one.text for one in found if one.is_chosen] == ["parallelize(i)"]
    assert {one.text for one in found} == {"parallelize(i)", "source"}


@pytest.mark.machine
def test_devices_are_not_predicted():
    for one in po.kernel(product, target="cuda").schedules():
        assert one.seconds is None
        assert str(one).startswith("not predicted")
