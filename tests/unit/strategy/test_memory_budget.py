"""The option `memory`: what is recomputed so that temporaries fit, and what is refused."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

import polyopt as po
from polyopt.building import compile_stages
from polyopt.emit.peaks import StorageClass, allocations
from polyopt.errors import PolyoptError, ScheduleError, UsageError
from polyopt.specialize import Parameters, types_of
from polyopt.strategy import memory_budget
from polyopt.targets import Options
from tests.machines import NARROW

SIDE = 60
MATRIX = 8 * SIDE * SIDE
X = np.random.default_rng(0).uniform(0.5, 1.5, size=(SIDE, SIDE))


def reversed_sums(x):
    t = np.exp(x)
    u = t * t
    return (t + u[::-1]) / np.sum(u)


def layers(x):
    h = np.tanh(x @ x)
    return np.tanh(h @ x) @ x


def matrix_in_every_row(x):
    """Each row needs the whole of `z`: no recomputation makes it smaller."""
    z = x / np.sum(x)
    w = np.sqrt(z * z + 1.0)
    return w / np.sum(w, axis=0) + z.T @ w


def stages(function, memory, **options):
    chosen = Options().changed({"memory": memory, "threads": 1, **options})
    types = types_of(Parameters.of(function, chosen.fixed_sizes), (X,), frozenset())
    return compile_stages(function, types, chosen, NARROW)


def taken(loops) -> int:
    """Return the bytes of all temporary arrays that a kernel on one thread has, without sharing."""
    found = [one for one in allocations(loops) if one.array.shape]
    assert all(one.storage is not StorageClass.DEVICE for one in found)
    extents = ([int(e.value) for e in one.array.shape] for one in found)
    return sum(prod(e) * one.array.dtype.size for e, one in zip(extents, found, strict=True))


@pytest.mark.parametrize("function", [reversed_sums, layers], ids=lambda f: f.__name__)
def test_values_are_recomputed_until_they_fit(function):
    natural = taken(stages(function, "1GB").loops)
    assert natural >= MATRIX
    found = stages(function, MATRIX - 1)
    assert taken(found.loops) < MATRIX
    assert "recompute" in found.schedule_text
    assert found.certificate is not None
    assert found.certificate.is_proven


def test_what_fits_is_scheduled_as_without_a_limit():
    natural = stages(reversed_sums, None, fixed_sizes=True)
    assert stages(reversed_sums, "1GB").schedule_text == natural.schedule_text


def test_the_least_peak_that_was_found_is_named():
    with pytest.raises(ScheduleError) as info:
        stages(matrix_in_every_row, 100)
    assert info.value.code == "PO0708"
    least = int(info.value.message.rpartition(" ")[2])
    assert least >= MATRIX
    assert f"memory={least}" in str(info.value.hint)
    assert info.value.loc is not None
    assert taken(stages(matrix_in_every_row, least).loops) >= least


def test_a_given_schedule_is_only_checked():
    with pytest.raises(ScheduleError) as info:
        stages(reversed_sums, 100, schedule="source")
    assert info.value.code == "PO0708"
    assert "what the proven loops take" in info.value.message


def unknown(x, n: int):
    t = np.zeros(n + 1)
    for i in range(n):
        t[i + 1] = t[i] + x[0, 0]
    return t[::-1] * 2.0


@pytest.mark.machine
def test_sizes_have_to_be_known():
    with pytest.raises(PolyoptError) as info:
        po.kernel(unknown, memory="1GB").compile(X, 5)
    assert info.value.code == "PO0709"
    assert info.value.loc is not None


@pytest.mark.parametrize(
    ("value", "bytes_"),
    [
        (0, 0),
        (4096, 4096),
        ("64", 64),
        ("64MB", 64_000_000),
        ("64 MiB", 67_108_864),
        ("1.5k", 1500),
    ],
)
def test_amounts(value, bytes_):
    options = Options().changed({"memory": value})
    assert options.memory == bytes_
    assert options.fixed_sizes


@pytest.mark.parametrize("value", [-1, "64 bananas", "MB", 1.5, True])
def test_wrong_amounts(value):
    with pytest.raises(UsageError) as info:
        Options().changed({"memory": value})
    assert info.value.code == "PO0222"


def test_the_order_of_alternatives():
    """The first schedules within the limit are taken, and each is made once."""
    made: list[int] = []

    def scheduled(sources):
        made.append(len(made))
        return (*sources, len(made))

    def peak(found):
        return 100 - 30 * len(found), ("a", "b")

    assert memory_budget.within_memory((), scheduled, peak, 70) == (1,)
    assert made == [0]


@pytest.mark.toolchain
@pytest.mark.parametrize("function", [reversed_sums, layers], ids=lambda f: f.__name__)
def test_results(function):
    assert np.allclose(po.kernel(function, memory=MATRIX - 1)(X), function(X), rtol=1e-9)
