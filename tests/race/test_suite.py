"""What is emitted for the workloads has no race, no fault, no warning, and is right.

One thread for each iteration, one for each lane; automatic schedules and the source's order.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

import pytest

from polyopt.racecheck import Level
from tests.race.suite import CASES, Case, check_case, compile_case, find_clang, warnings_of, work_in

pytestmark = pytest.mark.toolchain
CLANG = find_clang()
SHORT = {
    "2mm-loops-auto",
    "linear-regression-numpy-auto",
    "lu-loops-auto",
    "lu-numpy-auto",
    "monte-carlo-pi-loops-auto",
    "monte-carlo-pi-numpy-auto",
    "nussinov-loops-auto",
    "nussinov-numpy-auto",
    "red-black-numpy-auto",
}
"""Cases whose longest parallel loop has one iteration at the sizes that they run at."""

STRIPS = {
    "arc-distance-loops-auto",
    "arc-distance-numpy-auto",
    "autocorrelation-numpy-auto",
    "black-scholes-loops-auto",
    "black-scholes-numpy-auto",
    "crc16-loops-auto",
    "ema-loops-auto",
    "ema-numpy-auto",
    "fir-loops-auto",
    "fir-numpy-auto",
    "legendre-numpy-auto",
    "lfilter-loops-auto",
    "lfilter-numpy-auto",
    "popcount-numpy-auto",
    "rolling-loops-auto",
    "rolling-numpy-auto",
    "scan-numpy-auto",
    "sieve-loops-auto",
    "sieve-numpy-auto",
    "trisolv-numpy-auto",
}
"""Cases whose parallel loop over single elements has one strip at the sizes that they run at."""


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessPoolExecutor]:
    """Return a process that works on cases: its compilers and checkers are kept between them."""
    folder = str(tmp_path_factory.mktemp("race"))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context, work_in, (folder,)) as made:
        yield made


@pytest.mark.matrix
@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_race_no_fault_no_warning(case: Case, pool: ProcessPoolExecutor) -> None:
    outcome = pool.submit(check_case, case).result()
    assert outcome.warnings == ""
    assert outcome.races == ()
    assert outcome.reports == ()
    assert outcome.error <= outcome.bound
    assert all(trips > 1 for trips in outcome.longest.values()) or str(case) in SHORT | STRIPS


@pytest.mark.machine
@pytest.mark.matrix
@pytest.mark.skipif(CLANG is None, reason="no clang")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_clang_has_nothing_to_say(case: Case) -> None:
    assert warnings_of(compile_case(case)[0].source.text, CLANG) == ""


def test_both_levels_are_looked_for(pool: ProcessPoolExecutor) -> None:
    outcome = pool.submit(check_case, Case("softmax", "numpy", "auto")).result()
    assert set(outcome.longest) == set(Level)
