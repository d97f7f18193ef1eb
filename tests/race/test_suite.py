"""What is emitted for the workloads has no race, no fault, no warning, and is right.

One thread for each iteration, one for each lane; automatic schedules and the source's order.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor

import pytest

from polyopt.racecheck import Level
from tests.race.suite import CASES, Case, Outcome, check_case, work_in

# one process works on all cases, whichever of them it runs
pytestmark = [pytest.mark.toolchain, pytest.mark.xdist_group("race suite")]
Outcomes = Mapping[Case, "Future[Outcome]"]


@pytest.fixture(scope="module")
def outcomes(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Outcomes]:
    """Work on all cases that were asked for, in two processes."""
    wanted = [
        item.callspec.params["case"]
        for item in request.session.items
        if item.path == request.path and hasattr(item, "callspec")
    ]
    pool = ProcessPoolExecutor(
        2, multiprocessing.get_context("spawn"), work_in, (str(tmp_path_factory.mktemp("race")),)
    )
    with pool:
        yield {case: pool.submit(check_case, case) for case in wanted}
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_race_no_fault_no_warning(case: Case, outcomes: Outcomes) -> None:
    outcome = outcomes[case].result()
    assert outcome.warnings == ""
    assert outcome.races == ()
    assert outcome.reports == ()
    assert outcome.error <= outcome.bound


def test_what_was_checked_ran_in_parallel(outcomes: Outcomes) -> None:
    found = [future.result() for future in outcomes.values()]
    if len(found) < len(CASES):
        pytest.skip("not all cases were asked for")
    for level, least in ((Level.THREADS, 180), (Level.LANES, 140)):
        longest = [outcome.longest[level] for outcome in found if level in outcome.longest]
        assert len(longest) >= least
        assert sum(count < 2 for count in longest) <= len(longest) // 20
