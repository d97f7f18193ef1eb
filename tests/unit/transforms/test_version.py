"""Version: structure, results for sizes on both sides of each bound, refusals."""

from __future__ import annotations

import numpy as np
import pytest

import polyopt as po
from polyopt.errors import ScheduleError
from polyopt.schedule import source_schedule
from polyopt.schedule.tree import bands
from polyopt.transforms import Bound, Interchange, Tile, Vectorize, Version, parse_schedule
from polyopt.transforms.amount import read_amount
from tests import scops
from tests.checks import assert_computes, assert_round_trip, story


def bound(text, most):
    return Bound(read_amount(text, {}), most)


NARROW = Version((bound("M", 1), bound("N", 8)))


def test_golden(golden):
    golden(
        "schedule/version_gemm.tree",
        story(scops.gemm(), NARROW, Interchange("L0.v0[1]", "L0.v0[2]")),
    )


@pytest.mark.parametrize("text", ["N", "M - N", "max(N - 3, 2 - M)", "2*N + M"])
@pytest.mark.parametrize("most", [-1, 0, 1, 3, 7])
def test_any_bound(text, most):
    for scop in (scops.gemm, scops.diagonal):
        found = source_schedule(scop()).attempt(Version((bound(text, most),)))
        if found is not None:
            assert_computes(scop(), *found.trace)


def test_versions_are_scheduled_on_their_own():
    steps = (
        NARROW,
        Tile("L0.v2", (4, 4)),
        Interchange("L0.v1[1]", "L0.v1[2]"),
        Vectorize("L0.v0[1]"),
    )
    assert_computes(scops.gemm(), *steps)
    assert_round_trip(*steps)
    labels = [band.label for band in bands(source_schedule(scops.gemm()).apply(NARROW).tree)]
    assert labels == ["L0.v0", "L0.v1", "L0.v2"]


def test_all_nests_of_a_program_have_versions():
    schedule = source_schedule(scops.chain()).apply(Version((bound("N", 5),)))
    labels = [band.label for band in bands(schedule.tree)]
    assert labels == [f"{label}.{v}" for v in ("v0", "v1") for label in _labels(scops.chain())]
    assert_computes(scops.chain(), Version((bound("N", 5),)))


def _labels(scop):
    return [band.label for band in bands(source_schedule(scop).tree)]


def test_a_version_without_sizes_is_left_out():
    """N <= -1 holds for no size, and is no version."""
    schedule = source_schedule(scops.gemm()).apply(Version((bound("N", -1), bound("N", 3))))
    assert [band.label for band in bands(schedule.tree)] == ["L0.v0", "L0.v1"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("version(Q <= 3)", "PO0327"),
        ("version(N <= -1)", "PO0327"),
        ("version(N)", "PO0323"),
        ("version(N < 3)", "PO0323"),
        ("version(N <= M)", "PO0323"),
        ("version()", "PO0323"),
    ],
)
def test_refusals(text, code):
    with pytest.raises(ScheduleError) as found:
        parse_schedule(source_schedule(scops.gemm()), text)
    assert found.value.code == code


@pytest.mark.toolchain
def test_the_sizes_of_a_call_choose():
    def scaled(A: po.f64[N, M], B: po.f64[N, M]):  # noqa: F821
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                B[i, j] = 2.0 * A[i, j] + i - j

    kernel = po.kernel(
        scaled, schedule="version(A_0 <= 4, A_1 <= 2); interchange(L0.v1[0], L0.v1[1])"
    )
    for n in (0, 1, 4, 5, 9):
        for m in (0, 1, 2, 3, 8):
            A = np.random.default_rng(n + m).random((n, m))
            B, expected = np.zeros((n, m)), np.zeros((n, m))
            scaled(A, expected)
            kernel(A, B)
            assert np.array_equal(B, expected)
